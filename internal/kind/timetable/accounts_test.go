// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// An outcome is counted under the words of timetable.md 4.3, and under no others: what somebody wrote into a status
// makes no series.
func TestOutcomeWords(t *testing.T) {
	for name, c := range map[string]struct {
		outcome cron.RunOutcome
		want    adapter.OutcomeWords
		none    bool
	}{
		"success":               {outcome: cron.RunOutcome{Result: cron.Succeeded}, want: adapter.OutcomeWords{Result: "Succeeded"}},
		"failure":               {outcome: cron.RunOutcome{Result: cron.RunFailed, Reason: cron.RunTimeout}, want: adapter.OutcomeWords{Result: "Failed", Reason: "Timeout"}},
		"miss":                  {outcome: cron.RunOutcome{Result: cron.Missed, Reason: cron.NotStartedForeign}, want: adapter.OutcomeWords{Result: "Missed", Reason: "NameTaken"}},
		"made up":               {outcome: cron.RunOutcome{Result: cron.Cancelled, Reason: "BecauseISaySo"}, want: adapter.OutcomeWords{Result: "Cancelled"}},
		"of another result":     {outcome: cron.RunOutcome{Result: cron.Missed, Reason: cron.NotStartedSuspended}, want: adapter.OutcomeWords{Result: "Missed"}},
		"a start is no outcome": {outcome: cron.RunOutcome{Result: cron.Started}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, listed := (timetable.Kind{}).OutcomeWords(&c.outcome); listed == c.none || listed && got != c.want {
				t.Errorf("%+v, %v; want %+v", got, listed, c.want)
			}
		})
	}
}

// Both forms of a Timetable count alike, and what is made up counts as nothing.
func TestStatusCounts(t *testing.T) {
	tt := &timetable.Object{}
	tt.Name = "tick"
	tt.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}, {Type: "Healthy", Status: "Unknown"}, {Type: "Theirs", Status: "True"}, {Type: "Late", Status: "Perhaps"}}
	tt.Status.Active = []v1alpha1.ActiveRun{{Name: "a"}, {Name: "b"}}
	tt.Status.Waiting = []v1alpha1.WaitingTime{{Reason: "Overlap"}, {Reason: "Theirs"}}
	kind := timetable.Kind{}
	compact := kind.Compact(tt)
	if compact == adapter.Object(tt) {
		t.Fatal("it has no other form")
	}
	want := kind.NewStatusCounts()
	*want.Active, want.Waiting["Overlap"] = 2, 1
	want.Conditions[adapter.ConditionWords{Type: "Ready", Status: "True"}] = 1
	want.Conditions[adapter.ConditionWords{Type: "Healthy", Status: "Unknown"}] = 1
	for name, obj := range map[string]adapter.Object{"as the server has it": tt, "as the cache has it": compact} {
		t.Run(name, func(t *testing.T) {
			got := kind.NewStatusCounts()
			kind.AddStatus(obj, got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
