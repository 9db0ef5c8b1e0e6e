// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"fmt"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/outcome"
)

// OutcomeRule gives the rule by which the end of what the template starts is told: that of its kind, or else
// spec.outcome. Compile it once for a generation of the spec. The obstacle is InvalidOutcome.
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
