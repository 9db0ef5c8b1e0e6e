// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"testing"

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
			"spec.outcome.failed, column 1: undeclared reference to 'status' (in container ''); write object.status"},
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
