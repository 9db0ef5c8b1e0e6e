// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

func TestSteadiness(t *testing.T) {
	const hour = time.Hour
	type look struct{ wall, elapsed, want time.Duration }
	for scenario, looks := range map[string][]look{
		"steady":            {{0, 0, 0}, {hour, hour, hour}, {3 * hour, 3 * hour, 3 * hour}},
		"set forward":       {{0, 0, 0}, {hour, hour, hour}, {1000 * hour, 2 * hour, 0}, {1001 * hour, 3 * hour, hour}},
		"set back":          {{0, 0, 0}, {hour, hour, hour}, {0, 2 * hour, 0}, {hour, 3 * hour, hour}},
		"drifts":            {{0, 0, 0}, {hour + 30*time.Second, hour, hour}, {2*hour + time.Minute, 2 * hour, 2 * hour}},
		"opened after long": {{0, 5 * hour, 0}, {hour, 6 * hour, hour}},
	} {
		t.Run(scenario, func(t *testing.T) {
			var s steadiness
			for i, l := range looks {
				if got := s.look(at(0).Add(l.wall), l.elapsed); got != l.want {
					t.Errorf("look %d: %s instead of %s", i, got, l.want)
				}
			}
		})
	}
}

// A clock that is ahead takes nothing away before it has been so for a day, and then says what goes; a few runs that
// are too old go at once.
func TestClockThatIsAhead(t *testing.T) {
	const runsInAll = 40
	year := 365 * 24 * time.Hour
	for scenario, c := range map[string]struct {
		ahead, steady time.Duration
		set           time.Duration // by how much the clock is set in the end
		left          int
		warned        bool
	}{
		"it is right":                 {ahead: 0, left: runsInAll},
		"a few are old":               {ahead: 4 * time.Minute, left: runsInAll - 3},
		"a year ahead":                {ahead: year, left: runsInAll, warned: true},
		"a year ahead, for a day":     {ahead: year, steady: steadyTime, warned: true},
		"set a year ahead in the end": {steady: steadyTime, set: year, left: runsInAll, warned: true},
	} {
		t.Run(scenario, func(t *testing.T) {
			dir := tempDir(t)
			j := open(t, dir, Options{limits: quiet()})
			var all []run.Run
			for n := 1; n <= runsInAll; n++ {
				r := aRun(n, run.Succeeded)
				r.Ended = at(n)
				all = append(all, r)
			}
			record(t, j, all...)
			j.Close()
			var clock clock
			var elapsed time.Duration
			clock.advance(c.ahead)
			var told warnings
			l := quiet()
			l.elapsed = func() time.Duration { return elapsed }
			w, err := newWriter(dir, Options{KeepLogs: -1, KeepRuns: year, Now: func() time.Time { return clock.Now().Add(year) }, Warn: told.add}, *l)
			if err != nil {
				t.Fatal(err)
			}
			round := func() {
				for w.beginTidying(); w.tidying; {
					w.tidy()
				}
			}
			round()
			if c.steady > 0 {
				elapsed += c.steady
				clock.advance(c.steady + c.set)
				round()
			}
			if err := w.close(); err != nil {
				t.Error(err)
			}
			if got := runs(t, read(t, dir), Query{}); len(got) != c.left {
				t.Errorf("%d runs are left instead of %d", len(got), c.left)
			}
			if got := strings.Count(told.String(), "steady for a day"); (got == 1) != c.warned || got > 1 {
				t.Error(told.String())
			}
		})
	}
}
