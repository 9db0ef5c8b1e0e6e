// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// templateHappenings are what may happen to what a template makes.
var templateHappenings = map[string]func(*history){
	"owner references removed": func(h *history) { h.strip = true },
	"owner references stay":    func(h *history) { h.strip = false },
	"another spec":             edited("{lateAfter: 7m}").happens,
	"another template":         edited("{template: {metadata: {labels: {x: z}}}}").happens,
	"dry runs fail":            func(h *history) { h.failDryRun = invalid },
	"dry runs tell nothing":    func(h *history) { h.failDryRun = quota },
	"dry runs work":            func(h *history) { h.failDryRun = nil },
}

// Whatever happens to owner references and templates: no name is made twice, nothing is created while the status says
// that owner references are removed, and each time is counted once (TG1, TG5; TT-197, TT-208).
func TestAnyTemplates(t *testing.T) {
	others, ours := slices.Sorted(maps.Keys(happenings)), slices.Sorted(maps.Keys(templateHappenings))
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(t, rt, drawnSpec(rt))
		h.created = func(name string) {
			h.checkMade(name)
			tt := h.stored()
			c := meta.FindStatusCondition(tt.Status.Conditions, v1alpha1.ConditionReady)
			if c != nil && c.Reason == "OwnerRemoved" && c.ObservedGeneration == tt.Generation {
				h.fail("%s is made, although %s", name, c.Message)
			}
		}
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			if rapid.IntRange(0, 2).Draw(rt, "of what") == 0 {
				templateHappenings[rapid.SampledFrom(ours).Draw(rt, "to the template")](h)
			}
			h.step(rapid.SampledFrom(others).Draw(rt, "happening"))
		}
	})
}
