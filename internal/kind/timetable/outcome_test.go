// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/outcome"
)

// A kind that Carillon knows has its own rule, any other one that of spec.outcome.
func TestOutcomeRule(t *testing.T) {
	velero := &v1alpha1.Outcome{Succeeded: `object.status.phase == 'Completed'`, Failed: `object.status.phase == 'Failed'`}
	for sentence, c := range map[string]struct {
		apiVersion, kind string
		outcome          *v1alpha1.Outcome
		status           map[string]any // of an object that has succeeded
		says             string
	}{
		"a Job by default":   {"", "", nil, map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}, ""},
		"a Pod":              {"v1", "Pod", nil, map[string]any{"phase": "Succeeded"}, ""},
		"another kind":       {"velero.io/v1", "Backup", velero, map[string]any{"phase": "Completed"}, ""},
		"another, untold":    {"velero.io/v1", "Backup", nil, nil, "spec.outcome must be set: Carillon does not know when a Backup of velero.io/v1 has ended"},
		"a Job that is told": {"", "", velero, nil, "spec.outcome must not be set: Carillon knows when a Job of batch/v1 has ended"},
		"what cannot be read": {"velero.io/v1", "Backup", &v1alpha1.Outcome{Succeeded: "true", Failed: "status.phase == 'Failed'"}, nil,
			"spec.outcome.failed, column 1: undeclared reference to 'status'; write object.status"},
	} {
		rule, obstacle := timetable.OutcomeRule(&v1alpha1.TimetableSpec{Template: v1alpha1.RunTemplate{APIVersion: c.apiVersion, Kind: c.kind}, Outcome: c.outcome})
		if c.says != "" {
			if obstacle == nil || obstacle.Reason != timetable.InvalidOutcome || obstacle.Error() != c.says {
				t.Errorf("%s: %+v", sentence, obstacle)
			}
			continue
		}
		if obstacle != nil {
			t.Errorf("%s: %v", sentence, obstacle)
			continue
		}
		if got, err := rule.Of(map[string]any{"status": c.status}); got.Phase != outcome.Succeeded || err != nil {
			t.Errorf("%s: %v, %v", sentence, got, err)
		}
	}
}

// A child is judged by its own kind: what is known of it, or spec.outcome while the template is of that kind.
func TestChildOutcome(t *testing.T) {
	done := map[string]any{"status": map[string]any{"phase": "Completed", "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}}
	complete := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}}}
	job := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	backup := schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Backup"}
	const velero = `{template: {apiVersion: velero.io/v1, kind: Backup, spec: {}}, outcome: {succeeded: "object.status.phase == 'Completed'", failed: "false"}}`
	for sentence, c := range map[string]struct {
		spec  string
		kind  schema.GroupVersionKind
		child runtime.Object
		want  outcome.Phase
		says  string
	}{
		"a Job":                      {`template: {spec: {}}`, job, complete, outcome.Succeeded, ""},
		"one that is unstructured":   {`template: {spec: {}}`, job, &unstructured.Unstructured{Object: done}, outcome.Succeeded, ""},
		"one of before an edit":      {velero, job, complete, outcome.Succeeded, ""},
		"another kind":               {velero, backup, &unstructured.Unstructured{Object: done}, outcome.Succeeded, ""},
		"one of before an edit, too": {`template: {spec: {}}`, backup, &unstructured.Unstructured{Object: done}, outcome.Unfinished, ""},
		"by an outcome of another":   {strings.ReplaceAll(velero, "Backup", "Restore"), backup, &unstructured.Unstructured{Object: done}, outcome.Unfinished, ""},
		"by what cannot be read":     {strings.ReplaceAll(velero, "object.", ""), backup, &unstructured.Unstructured{Object: done}, outcome.Unfinished, ""},
		"by what is no bool": {strings.ReplaceAll(velero, " == 'Completed'", ""), backup, &unstructured.Unstructured{Object: done}, outcome.Unfinished,
			"outcome.succeeded is of type string and counts as false"},
		"of no kind": {velero, backup, &v1alpha1.Calendar{}, outcome.Unfinished, "a child is a *v1alpha1.Calendar, and must be a Job or unstructured"},
	} {
		owner := &timetable.Object{}
		owner.Spec = specOf(t, c.spec)
		got, err := timetable.ChildOutcome(owner, c.kind, c.child)
		if got.Phase != c.want || c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, %v", sentence, got.Phase, err)
		}
	}
}
