// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// All tries of one scheduled time have a bar each, and count once, as the last one ended.
func TestTriesCountOnce(t *testing.T) {
	try := func(n int, outcome run.Outcome) run.Run {
		at := uitest.Now.Add(-time.Hour).Truncate(time.Hour)
		begun := at.Add(time.Duration(n) * 5 * time.Minute)
		return run.Run{Owner: run.Owner{Kind: "Timetable", Name: "second", UID: "u"}, Retry: n, ScheduledTime: at, Created: begun, Started: begun, Ended: begun.Add(time.Minute), Outcome: outcome}
	}
	pending := try(1, run.Failed)
	pending.Retrying = true
	for name, test := range map[string]struct {
		runs []run.Run
		want Counts
	}{
		"the second succeeded": {[]run.Run{try(2, run.Succeeded), try(1, run.Failed)}, Counts{Succeeded: 1}},
		"all failed":           {[]run.Run{try(1, run.Failed), try(2, run.Failed), try(3, run.Failed)}, Counts{Failed: 1}},
		"to be tried again":    {[]run.Run{pending}, Counts{Active: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := following(&Zooms[standard], uitest.Now, time.UTC)
			k := &Known{Row: &Row{Kind: "Timetable", Name: "second"}, Runs: test.runs}
			d := Draw(k, w, uitest.Now)
			if d.Total != test.want || len(d.Bars) != len(test.runs) {
				t.Errorf("%d bars, %+v", len(d.Bars), d.Total)
			}
			var cells Counts
			for _, c := range cellsOf(k, barsOf(k, w, uitest.Now), nil, &future{}, w) {
				cells.add(&c.Counts)
			}
			if cells != test.want {
				t.Errorf("in cells %+v", cells)
			}
		})
	}
}
