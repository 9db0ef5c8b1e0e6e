// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// An outcome is counted under the words of timetable.md 4.3, and under no others: what somebody wrote into a status makes
// no series.
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
