// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package statistics_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// All tries of one scheduled time count once, and what is to be tried again has not failed.
func TestTries(t *testing.T) {
	of := func(retry int, outcome run.Outcome) run.Run {
		return run.Run{Owner: run.Owner{Kind: "Timetable", Name: "x"}, ScheduledTime: start, Created: start.Add(time.Duration(retry) * time.Minute), Retry: retry, Outcome: outcome}
	}
	marked := of(1, run.Failed)
	marked.Retrying = true
	told := func(r *run.Run) bool { return r.Retry == 1 && r.ScheduledTime.Equal(start) }
	tests := map[string]struct {
		runs     []run.Run
		retrying func(*run.Run) bool
		want     string
	}{
		"the second succeeds":          {[]run.Run{of(1, run.Failed), of(2, run.Succeeded)}, nil, "1 run, 1 succeeded, 0 failed, 0 active, 1 retries"},
		"newest first":                 {[]run.Run{of(3, run.Failed), of(2, run.Failed), of(1, run.Failed)}, nil, "1 run, 0 succeeded, 1 failed, 0 active, 2 retries"},
		"the second runs":              {[]run.Run{of(1, run.Failed), of(2, run.Active)}, told, "1 run, 0 succeeded, 0 failed, 1 active, 1 retries"},
		"marked, to be tried again":    {[]run.Run{marked}, nil, "1 run, 0 succeeded, 0 failed, 1 active, 0 retries"},
		"to be tried again":            {[]run.Run{of(1, run.Failed)}, told, "1 run, 0 succeeded, 0 failed, 1 active, 0 retries"},
		"was marked, and was it":       {[]run.Run{marked, of(2, run.Failed)}, told, "1 run, 0 succeeded, 1 failed, 0 active, 1 retries"},
		"nobody tells that it will be": {[]run.Run{of(1, run.Failed)}, nil, "1 run, 0 succeeded, 1 failed, 0 active, 0 retries"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := add(statistics.Query{Bounds: days(t, "Europe/Berlin", 3), Owners: true, Retrying: test.retrying}, test.runs, nil)
			var all statistics.Span
			for n := range got.Spans {
				all.Add(&got.Spans[n])
			}
			o := got.Owners[0]
			if text := fmt.Sprintf("%d run, %d succeeded, %d failed, %d active, %d retries", o.Runs, all.Succeeded, all.Failed, all.Active, o.Retries); text != test.want || all.Runs() != o.Runs || all.Failed != o.Failed || all.Succeeded != o.Succeeded {
				t.Errorf("got %s: %+v", text, all)
			}
		})
	}
}
