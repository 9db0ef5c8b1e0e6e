// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// What is made up for at the end of a suspension starts in the simulation when the forecast says.
func TestResume(t *testing.T) {
	const until, room = ", suspendUntil: \"2026-11-23T12:30:00Z\"", ", concurrency: {policy: Allow}"
	tests := map[string]struct {
		schedule, spec string
		atEnd          int64
	}{
		"what passed is skipped":     {"0 * * * *", until, 0},
		"the latest":                 {"0 * * * *", until + ", onResume: CatchUp", 1},
		"one at the end":             {"*/30 * * * *", until + ", onResume: CatchUp", 1},
		"none passed":                {"0 13 * * *", until + ", onResume: CatchUp", 0},
		"all, up to the limit":       {"0 * * * *", until + ", onResume: CatchUp, catchUp: {policy: All, limit: 3}" + room, 3},
		"all, and one at the end":    {"*/30 * * * *", until + ", onResume: CatchUp, catchUp: {policy: All, limit: 3}" + room, 4},
		"all, fewer than the limit":  {"0 11,12 * * *", until + ", onResume: CatchUp, catchUp: {policy: All}" + room, 2},
		"none of those found late":   {"0 * * * *", until + ", onResume: CatchUp, catchUp: {policy: None}", 0},
		"too late":                   {"0 * * * *", until + ", onResume: CatchUp, startingDeadline: 30m", 0},
		"in time":                    {"0 * * * *", until + ", onResume: CatchUp, startingDeadline: 31m", 1},
		"put off beyond the end":     {"25 * * * *", until + ", onResume: CatchUp, jitter: 50m", 1},
		"all in time, one after all": {"0 * * * *", until + ", onResume: CatchUp, startingDeadline: 95m, catchUp: {policy: All}" + room, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := day(from)
			objects := read(t, simpleTimetable("a", test.schedule, test.spec))
			got := forecast.Of(objects, options).Starts
			short, err := simulation.ParseDurations("1s")
			if err != nil {
				t.Fatal(err)
			}
			want := make([]int64, len(got))
			for _, run := range simulation.Simulate(objects[0], simulation.Options{From: options.From, To: options.From.Add(options.Length),
				Model: simulation.Model{Durations: short}}).Runs {
				want[run.Started.Sub(options.From)/time.Minute]++
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%s has %d starts, and %d in the simulation", from.Add(time.Duration(i)*time.Minute), got[i], want[i])
				}
			}
			if at := got[12*60+30]; at != test.atEnd {
				t.Errorf("%d start at the end, want %d", at, test.atEnd)
			}
		})
	}
}

// Whenever nobody wants to know any more, it ends there.
func TestProgress(t *testing.T) {
	texts := []string{cronJob("a", "0 0 * * *", ""), cronJob("b", "0 0 * * *", ""), cronJob("c", "0,30 * * * *", ""), simpleTimetable("d", "0 * * * *", "")}
	asked := 0
	options := day(from)
	options.Progress = func() bool { asked++; return true }
	if forecast.Of(read(t, texts...), options) == nil || asked < 20 {
		t.Fatalf("it asked %d times", asked)
	}
	for last := range asked {
		n := 0
		options.Progress = func() bool { n++; return n <= last }
		if forecast.Of(read(t, texts...), options) != nil || n != last+1 {
			t.Errorf("asked for the %d. time it was told to end, and asked %d times", last+1, n)
		}
	}
}
