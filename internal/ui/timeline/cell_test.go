// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
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
			w := following(&zooms[standard], uitest.Now, time.UTC)
			k := &Known{Row: &Row{Kind: "Timetable", Name: "second"}, Runs: test.runs}
			d := draw(k, w, uitest.Now)
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

// So it is in cells that are drawn from sums, where a time that is to be tried again is no failure either.
func TestRetryingInSums(t *testing.T) {
	w := following(&zooms[standard], uitest.Now, time.UTC)
	failed := func(cell, n int) journal.Tally { return journal.Tally{Cell: cell, Outcome: run.Failed, Count: n} }
	in := func(cell int) time.Time { return w.From.Add(time.Duration(cell)*w.Zoom.cell + time.Minute) }
	for name, test := range map[string]struct {
		counts   []journal.Tally
		retrying []time.Time
		want     Counts
	}{
		"none is tried again":         {[]journal.Tally{failed(3, 2)}, nil, Counts{Failed: 2}},
		"one is tried again":          {[]journal.Tally{failed(3, 2)}, []time.Time{in(3)}, Counts{Failed: 1, Active: 1}},
		"one of another cell":         {[]journal.Tally{failed(3, 2)}, []time.Time{in(4)}, Counts{Failed: 2}},
		"one before the window":       {[]journal.Tally{failed(0, 2)}, []time.Time{w.From.Add(-time.Minute)}, Counts{Failed: 2}},
		"it is not in the sums (yet)": {[]journal.Tally{}, []time.Time{in(3)}, Counts{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := draw(&Known{Row: &Row{Kind: "Timetable", Name: "second"}, Counts: test.counts, Retrying: test.retrying}, w, uitest.Now)
			if d.Total != test.want {
				t.Errorf("got %+v", d.Total)
			}
		})
	}
}

// What had not ended when Carillon stopped is drawn until its last sign, and not as if it went on.
func TestLeft(t *testing.T) {
	begun := uitest.Now.Add(-2 * time.Hour)
	active := run.Run{UID: "active", Owner: run.Owner{Kind: "CronJob", Name: "report", UID: "u"}, ScheduledTime: begun, Created: begun, Started: begun, Outcome: run.Active}
	left := active
	left.Left = true
	w := following(&zooms[standard], uitest.Now, time.UTC)
	for name, test := range map[string]struct {
		known Known
		// until is how far its bar goes, open that it goes on.
		until time.Time
		open  bool
		want  Counts
	}{
		"it runs":                   {Known{Runs: []run.Run{active}}, uitest.Now, true, Counts{Active: 1}},
		"the last sign is known":    {Known{Runs: []run.Run{left}, Stopped: true, LastSign: begun.Add(time.Hour)}, begun.Add(time.Hour), false, Counts{Left: 1}},
		"the last sign is too old":  {Known{Runs: []run.Run{left}, Stopped: true, LastSign: begun.Add(-time.Hour)}, begun, false, Counts{Left: 1}},
		"the last sign is unknown":  {Known{Runs: []run.Run{left}, Stopped: true}, begun, false, Counts{Left: 1}},
		"they are counted":          {Known{Counts: []journal.Tally{{Outcome: run.Active, Count: 7}}}, time.Time{}, false, Counts{Active: 7}},
		"they are counted, stopped": {Known{Counts: []journal.Tally{{Outcome: run.Active, Count: 7}, {Outcome: run.Failed, Count: 2}}, Stopped: true}, time.Time{}, false, Counts{Failed: 2, Left: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			k := test.known
			k.Row = &Row{Kind: "CronJob", Name: "report"}
			d := draw(&k, w, uitest.Now)
			if d.Total != test.want {
				t.Errorf("it counts %+v", d.Total)
			}
			if len(k.Runs) > 0 && (len(d.Bars) != 1 || d.Bars[0].Open != test.open || !d.Bars[0].until.Equal(test.until)) {
				t.Errorf("it is drawn as %+v", d.Bars)
			}
		})
	}
}
