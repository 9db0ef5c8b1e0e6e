// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// createTimetable creates a Timetable that is due each minute, with fields of the spec as YAML.
func (w *world) createTimetable(name, spec string) *unstructured.Unstructured {
	w.Helper()
	obj := w.here(vectors.Timetable(w.T), name)
	fields := obj.Object["spec"].(map[string]any)
	fields["schedules"] = []any{map[string]any{"cron": "* * * * *"}}
	for field, value := range vectors.Decode(w.T, spec) {
		fields[field] = value
	}
	created, err := w.objects(timetables).Create(w.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return created
}

// readyIs checks the condition Ready.
func (w *world) readyIs(ctx context.Context, name, reason, message string) error {
	s, err := w.timetableStatus(ctx, name)
	if err != nil {
		return err
	}
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != reason || !strings.Contains(c.Message, message) {
		return fmt.Errorf("condition Ready is %+v, want %s: %s", c, reason, message)
	}
	return nil
}

// What the API server would refuse it refuses in a dry run, when the Timetable is created, and the status has its
// words; at its time it is tried all the same. What it accepts is created by no dry run (TT-208, VV-70). A field that
// it does not know is told, and refuses nothing (TT-261).
func TestTimetableTemplates(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}})

	bad, good := w.createTimetable("bad", "{template: {spec: {}}}"), w.createTimetable("good", "{}")
	w.eventually("the words of the server", func(ctx context.Context) error {
		return w.readyIs(ctx, "bad", "TemplateRejected", "spec.template.spec.containers: Required value")
	})
	w.said(bad, "TemplateRejected")
	w.eventually("the other one is accepted", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "good")
		if err != nil || s.CheckedTemplate == "" {
			return fmt.Errorf("checked %q: %w", s.CheckedTemplate, err)
		}
		return w.readyIs(ctx, "good", "Accepted", "")
	})
	if jobs, err := w.jobsLabelled(t.Context(), "good"); err != nil || len(jobs) > 0 {
		t.Errorf("a dry run has made %d Jobs, %v", len(jobs), err)
	}
	misspelt := w.createTimetable("misspelt", "{template: {spec: {backofLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, comand: [x]}]}}}}}")
	w.eventually("fields are told that the server does not know", func(ctx context.Context) error {
		return errors.Join(w.readyIs(ctx, "misspelt", "Accepted", `unknown field "spec.backofLimit"`),
			w.readyIs(ctx, "misspelt", "Accepted", `unknown field "spec.template.spec.containers[0].comand"`))
	})
	w.said(misspelt, "UnknownFields")
	w.step("it is tried at its time", func(ctx context.Context) error { return w.saidOnce(ctx, bad, "CreateFailed") })
	for _, name := range []string{"good", "misspelt"} {
		w.step("it starts: "+name, func(ctx context.Context) error {
			if jobs, err := w.jobsLabelled(ctx, name); err != nil || len(jobs) != 1 {
				return fmt.Errorf("%d Jobs: %w", len(jobs), err)
			}
			return nil
		})
	}
	patch := []byte(`[{"op": "replace", "path": "/spec/template/spec", "value": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}]`)
	if _, err := w.objects(timetables).Patch(t.Context(), "bad", "application/json-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is mended", func(ctx context.Context) error { return w.readyIs(ctx, "bad", "Accepted", "") })
	w.step("it starts", func(ctx context.Context) error {
		if jobs, err := w.jobsLabelled(ctx, "bad"); err != nil || len(jobs) == 0 {
			return fmt.Errorf("no Job: %w", err)
		}
		return nil
	})
	if err := w.saidOnce(t.Context(), good, "TemplateRejected"); err == nil {
		t.Error("the good one is said to be rejected")
	}
}

// removesOwners has owner references taken off the Jobs of the namespace.
func (w *world) removesOwners() (mend func()) {
	w.Helper()
	name := "removes-owners-" + w.namespace
	policies, bindings := w.client.AdmissionregistrationV1().MutatingAdmissionPolicies(), w.client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	fail, never := admissionv1.Fail, admissionv1.NeverReinvocationPolicy
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicySpec{
		FailurePolicy: &fail, ReinvocationPolicy: never,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}}}}}},
		MatchConditions: []admissionv1.MatchCondition{{Name: "here", Expression: fmt.Sprintf("object.metadata.namespace == %q && has(object.metadata.ownerReferences)", w.namespace)}},
		Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
			Expression: `[JSONPatch{op: "remove", path: "/metadata/ownerReferences"}]`}}},
	}}
	if _, err := policies.Create(w.Context(), policy, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}
	if _, err := bindings.Create(w.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	until := func(ctx context.Context, want bool) error {
		owned := make.Job(w.namespace, "probe").New()
		owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "none", UID: "none"}}
		answer, err := w.client.BatchV1().Jobs(w.namespace).Create(ctx, owned, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || (len(answer.OwnerReferences) == 0) != want {
			return fmt.Errorf("owner references %v: %w", answer.OwnerReferences, err)
		}
		return nil
	}
	w.eventually("owner references are removed", func(ctx context.Context) error { return until(ctx, true) })
	return func() {
		w.Helper()
		if err := bindings.Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		if err := policies.Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.eventually("owner references stay", func(ctx context.Context) error { return until(ctx, false) })
	}
}

// An admission policy takes owner references off Jobs. A Timetable that meets it at a create deletes the Job, once, and
// starts nothing more until it is changed; one that is new then is told by the dry run (TT-197).
func TestTimetableOwnerRemoved(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}})

	older := w.createTimetable("older", "{}")
	w.eventually("it is accepted", func(ctx context.Context) error { return w.readyIs(ctx, "older", "Accepted", "") })
	mend := w.removesOwners()
	w.createTimetable("newer", "{}")
	w.eventually("the dry run tells it", func(ctx context.Context) error { return w.readyIs(ctx, "newer", "OwnerRemoved", "webhook") })
	w.step("the create tells it", func(ctx context.Context) error { return w.readyIs(ctx, "older", "OwnerRemoved", "webhook") })
	w.said(older, "OwnerRemoved")
	w.step("later times wait", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "older")
		if err != nil {
			return err
		}
		if s.Counts.Missed == 0 || len(s.Ledger) == 0 || s.WaitingCount != 1 || s.Waiting[0].Reason != "NotReady" {
			return fmt.Errorf("counts %+v, waiting %+v", s.Counts, s.Waiting)
		}
		if last := s.Ledger[len(s.Ledger)-1]; last.Result != v1alpha1.ResultMissed || last.Reason != "CreateFailed" {
			t.Fatalf("ledger %+v", s.Ledger)
		}
		return nil
	})
	w.eventually("no Job is left", func(ctx context.Context) error {
		for _, name := range []string{"older", "newer"} {
			if jobs, err := w.jobsLabelled(ctx, name); err != nil || len(jobs) > 0 {
				return fmt.Errorf("%s has %d Jobs: %w", name, len(jobs), err)
			}
		}
		return nil
	})
	mend()
	for _, name := range []string{"older", "newer"} {
		if _, err := w.objects(timetables).Patch(t.Context(), name, "application/merge-patch+json", []byte(`{"spec": {"lateAfter": "5m"}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.step("both start", func(ctx context.Context) error {
		for _, name := range []string{"older", "newer"} {
			if jobs, err := w.jobsLabelled(ctx, name); err != nil || len(jobs) != 1 || len(jobs[0].OwnerReferences) != 1 {
				return fmt.Errorf("%s has %d Jobs: %w", name, len(jobs), err)
			}
		}
		return nil
	})
}
