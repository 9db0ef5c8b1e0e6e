// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/outcome"
)

// OutcomeRule gives the rule by which the end of what the template starts is told: that of its kind, or else
// spec.outcome. The obstacle is InvalidOutcome.
func OutcomeRule(spec *v1alpha1.TimetableSpec) (*outcome.Rule, *Obstacle) {
	apiVersion, kind := templateKind(&spec.Template)
	known := outcome.Known(apiVersion, kind)
	switch {
	case known != nil && spec.Outcome != nil:
		return nil, &Obstacle{InvalidOutcome, fmt.Sprintf("spec.outcome must not be set: Carillon knows when a %s of %s has ended", kind, apiVersion)}
	case known != nil:
		return known, nil
	case spec.Outcome == nil:
		return nil, &Obstacle{InvalidOutcome, fmt.Sprintf("spec.outcome must be set: Carillon does not know when a %s of %s has ended", kind, apiVersion)}
	}
	rule, err := outcome.Compile(spec.Outcome.Succeeded, spec.Outcome.Failed)
	if err != nil {
		return nil, &Obstacle{InvalidOutcome, "spec." + err.Error()}
	}
	return rule, nil
}

// childOutcome tells whether a child of this kind has ended, and how. own gives the rule of the spec for children of
// the kind, nil if there is none; it is asked for kinds that are not known. child is a Job of batch/v1, or
// unstructured; the error says that it is neither, or which expression could not be evaluated, beside an outcome that
// is valid: the latter is told once for a generation (OutcomeError).
func childOutcome(kind schema.GroupVersionKind, child runtime.Object, own func() *outcome.Rule) (outcome.Outcome, error) {
	switch child := child.(type) {
	case *batchv1.Job:
		return outcome.OfJob(child), nil
	case *unstructured.Unstructured:
		rule := outcome.Known(kind.GroupVersion().String(), kind.Kind)
		if rule == nil {
			rule = own()
		}
		if rule == nil {
			return outcome.Outcome{}, nil
		}
		return rule.Of(child.Object)
	}
	return outcome.Outcome{}, fmt.Errorf("a child is a %T, and must be a Job or unstructured", child)
}

// ruleFor is the rule of a Timetable for children of this kind, nil if it has none, or nobody knows the Timetable.
// spec.outcome is not about a kind that the template had before an edit.
func (k Kind) ruleFor(owner adapter.Object, kind schema.GroupVersionKind) *outcome.Rule {
	if !slices.Contains(k.ChildKinds(owner), kind) {
		return nil
	}
	tt, ok := k.object(owner)
	if !ok || kind != schema.FromAPIVersionAndKind(templateKind(&tt.Spec.Template)) {
		return nil
	}
	rule, _ := tt.compilation().rule() // an obstacle is told by the condition Ready
	return rule
}
