// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// "@every" has no grid of its own: it counts from the last scheduled time that is recorded, and before the first from
// the creation (D01, D02). Over 20 restarts, at odd moments, with time in between in which nothing runs and with records
// that were lost, it neither drifts nor begins anew: each run is for its multiple of 90 minutes, once, at that instant if
// a process is there and else as soon as one is, and none is told as missed (guarantees 1, 3 and 8).
func TestEveryKeepsItsRhythmOverRestarts(t *testing.T) {
	const period = 90 * time.Minute
	// One death in each two periods: when after their begin, and how long after it the next process comes. The first of
	// the two scheduled times in it is at their begin, the second one at 90 minutes.
	deaths := []struct{ at, gone time.Duration }{
		{time.Second, 0}, {17*time.Minute + 3*time.Second, 0}, {44*time.Minute + 59*time.Second, 2 * time.Second},
		{45 * time.Minute, 50 * time.Minute}, {period - time.Second, 2 * time.Second}, {period - time.Millisecond, time.Millisecond},
		{period, 0}, {period + time.Millisecond, time.Millisecond}, {period + 5*time.Second, 84 * time.Minute}, {period, period},
		{0, period - time.Second}, {0, period}, {0, period + time.Second}, {10 * time.Minute, 169*time.Minute + 59*time.Second},
		{91 * time.Minute, 88*time.Minute + 59*time.Second}, {60 * time.Minute, 30*time.Minute + 7*time.Second},
		{30 * time.Minute, 61 * time.Minute}, {120 * time.Minute, 0}, {2*period - time.Second, 0}, {time.Minute, 178 * time.Minute},
	}
	for _, letter := range []string{"K", "V", "T"} {
		for _, history := range []int64{3, 0} { // with 0 nothing but the status tells of former runs
			t.Run(fmt.Sprintf("%s, history %d", letter, history), func(t *testing.T) {
				a := serve(t, letter)
				starts := map[string][]time.Duration{} // since the creation, by name
				a.refuse = func(child map[string]any) error {
					name := child["metadata"].(map[string]any)["name"].(string)
					starts[name] = append(starts[name], a.time.Now().Sub(created))
					return nil
				}
				// Runs end within seven minutes.
				pass := func(until time.Time) {
					for again := true; again; again = a.time.Now().Before(until) {
						a.pass(slices.MinFunc([]time.Time{a.time.Now().Add(7 * time.Minute), until}, time.Time.Compare))
						for _, name := range a.jobsOf("tick") {
							if status, _ := a.jobs[name]["status"].(map[string]any); status["completionTime"] == nil {
								a.finishAt(name, true, a.time.Now())
							}
						}
					}
				}
				a.put(a.cronJob("tick", func(spec map[string]any) {
					spec["schedule"], spec["successfulJobsHistoryLimit"] = "@every 90m", history
				}))

				var down [][2]time.Duration
				for i, death := range deaths {
					begin := time.Duration(2*i) * period
					if before := created.Add(begin - time.Millisecond); a.time.Now().Before(before) {
						pass(before)
					}
					if i%2 == 1 { // it dies before it can record what it starts
						a.fail = map[string]error{"status tick": broken}
					}
					pass(created.Add(begin + death.at))
					down = append(down, [2]time.Duration{begin + death.at, begin + death.at + death.gone})
					a.time.SetTime(created.Add(begin + death.at + death.gone))
					a = a.restart()
				}
				const ticks = 41
				pass(created.Add(ticks*period + time.Second))

				want := map[string][]time.Duration{}
				for n := 1; n <= ticks; n++ {
					due := time.Duration(n) * period
					name := fmt.Sprintf("tick-%d", created.Add(due).Unix()/int64(a.info.Traits.NameUnit/time.Second))
					for _, d := range down {
						if d[0] < due && due < d[1] {
							due = d[1]
						}
					}
					want[name] = []time.Duration{due}
				}
				if diff := cmp.Diff(want, starts); diff != "" {
					t.Errorf("starts since the creation (-want +got):\n%s", diff)
				}
				if reasons, messages := a.events("tick"); slices.Contains(reasons, "MissSchedule") {
					t.Errorf("told as missed: %v", messages[slices.Index(reasons, "MissSchedule")])
				}
			})
		}
	}
}
