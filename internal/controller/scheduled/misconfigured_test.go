// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import "testing"

// The metric names a CronJob that has to be mended for as long as it is there, whatever its UID, and no other one.
func TestMisconfiguredMetric(t *testing.T) {
	series := func() int { return len(read(t, "carillon_cronjob_misconfigured")) }
	a := serve(t, "K")
	broken := a.cronJob("tick", set("schedule", "61 * * * *"))
	a.put(broken)
	a.put(a.cronJob("other", nil))
	a.until("12:20:00")
	if n := series(); n != 1 {
		t.Errorf("%d series, want 1", n)
	}

	another := a.cronJob("tick", set("schedule", "61 * * * *")) // deleted, and made again
	another["metadata"].(map[string]any)["uid"] = "another"
	a.put(another)
	a.until("12:21:00")
	if n := series(); n != 1 {
		t.Errorf("%d series, want the one of that name", n)
	}
	mended := a.cronJob("tick", nil)
	mended["metadata"].(map[string]any)["uid"] = "a third"
	a.put(mended)
	a.until("12:22:00")
	if n := series(); n != 0 {
		t.Errorf("%d series of what was mended by being made again", n)
	}

	a.put(broken)
	a.until("12:23:00")
	if n := series(); n != 1 {
		t.Errorf("%d series, want 1", n)
	}
	a.forget(tickKey)
	if n := series(); n != 0 {
		t.Errorf("%d series of what was deleted", n)
	}
}

// What was missed is told by the process that finds it, once; another process does not tell it again, although it
// remembers nothing but what the server has. For every kind, with nothing that starts meanwhile.
func TestMissIsNotToldAgainAfterARestart(t *testing.T) {
	for _, letter := range []string{"K", "V", "T"} {
		t.Run(letter, func(t *testing.T) {
			a := serve(t, letter)
			a.time.SetTime(at("12:34:00"))
			a.put(a.cronJob("tick", set("startingDeadlineSeconds", int64(60))))
			a.once()
			misses := func(a *api) (n int) {
				events, _ := a.events("tick")
				for _, reason := range events {
					if reason == "MissSchedule" {
						n++
					}
				}
				return n
			}
			if n := misses(a); n != 1 {
				t.Errorf("told %d times, want 1", n)
			}
			next := serve(t, letter)
			next.time.SetTime(at("12:35:00"))
			next.put(a.cronJobs["tick"])
			next.until("12:39:00")
			if n := misses(next); n != 0 {
				t.Errorf("told %d times by the next process", n)
			}
			next.until("12:41:00")
			if n := next.calls["create tick"]; n != 1 {
				t.Errorf("%d runs, want 1", n)
			}
		})
	}
}
