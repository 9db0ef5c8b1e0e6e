// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// told writes outcomes as "2 missed/outage, 1 started".
func told(outcomes []cron.RunOutcome) string {
	var parts []string
	for _, o := range outcomes {
		text := fmt.Sprintf("%d %s", o.Count, o.Result)
		if o.Reason != "" {
			text += "/" + string(o.Reason)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Each scheduled time has one outcome, named by the sync that knows it for good.
func TestOutcomes(t *testing.T) {
	type moment struct {
		now   string
		given []given
		want  string
	}
	blocked := []given{forbid, last("12:10"), active("12:10")}
	for name, c := range map[string]struct {
		kinds   string
		given   []given
		moments []moment
	}{
		"a start, however often it is looked at": {kinds: "KVT", moments: []moment{
			{now: "12:07"}, {now: "12:10", want: "1 started"}, {now: "12:10:30"}, {now: "12:20", want: "1 started"}, {now: "12:20"},
		}},
		"an outage before the start of the process": {kinds: "KVT", given: []given{last("11:00")}, moments: []moment{
			{now: "12:34", want: "8 missed/outage, 1 started"}, {now: "12:35"},
		}},
		"an outage while it runs: the machine slept": {kinds: "KVT", moments: []moment{
			{now: "12:10", want: "1 started"}, {now: "12:45", want: "2 missed/outage, 1 started"},
		}},
		"an outage beyond the deadline": {kinds: "KVT", given: []given{deadline(60), last("12:10")}, moments: []moment{
			{now: "12:34", want: "2 missed/deadline"}, {now: "12:35"}, {now: "12:40", want: "1 started"},
		}},
		"an outage partly beyond the deadline": {kinds: "KVT", given: []given{deadline(900), last("11:00")}, moments: []moment{
			{now: "12:34", want: "7 missed/deadline, 1 missed/outage, 1 started"},
		}},
		"a deadline of zero": {kinds: "KV", given: []given{deadline(0)}, moments: []moment{
			{now: "12:10", want: "1 missed/deadline"}, {now: "12:10:01"}, {now: "12:20", want: "1 missed/deadline"},
		}},
		"Forbid, and the blocker outlasts the time": {kinds: "KVT", given: blocked, moments: []moment{
			{now: "12:20"}, {now: "12:21"}, {now: "12:30", want: "1 skipped/forbidden"}, {now: "12:30:01"}, {now: "12:40", want: "1 skipped/forbidden"},
		}},
		"Forbid, and a late start": {kinds: "KV", given: blocked, moments: []moment{
			{now: "12:20"}, {now: "12:25", given: []given{ends("tick-29631610", complete)}, want: "1 started"}, {now: "12:26"},
		}},
		"Forbid until the deadline is over": {kinds: "KVT", given: append([]given{deadline(60)}, blocked...), moments: []moment{
			{now: "12:20"}, {now: "12:23", want: "1 skipped/forbidden"}, {now: "12:24"},
		}},
		"a new process finds a run held up, and counts only what it sees": {kinds: "KVT", given: blocked, moments: []moment{
			{now: "13:05"}, {now: "13:10", want: "1 skipped/forbidden"},
		}},
		"a failing create, and a late success": {kinds: "KVT", given: []given{createFails(quota)}, moments: []moment{
			{now: "12:10"}, {now: "12:11"}, {now: "12:12", given: []given{createFails(nil)}, want: "1 started"},
		}},
		"a failing create until the next time": {kinds: "KVT", given: []given{createFails(quota)}, moments: []moment{
			{now: "12:10"}, {now: "12:19"}, {now: "12:20", given: []given{createFails(nil)}, want: "1 missed/failed, 1 started"},
		}},
		"a create whose answer got lost": {kinds: "KV", given: []given{answerLost(broken)}, moments: []moment{
			{now: "12:10", want: "1 started"}, {now: "12:11"},
		}},
		"a create whose answer got lost and whose child could not be read": {kinds: "KVT",
			given: []given{answerLost(broken), getFails("tick-29631610", broken), getFails("tick-1777896600", broken)}, moments: []moment{
				{now: "12:10"}, {now: "12:11", want: "1 started"}, {now: "12:12"},
			}},
		"a child that another process started": {kinds: "KVT", given: []given{has("12:10")}, moments: []moment{
			{now: "12:10:05"}, {now: "12:11"}, {now: "12:20", want: "1 started"},
		}},
		"a name that is taken by someone else": {kinds: "KV", given: []given{onServer("12:10", ownedBy(nil))}, moments: []moment{
			{now: "12:10"}, {now: "12:15"}, {now: "12:20", want: "1 missed/foreign, 1 started"},
		}},
		"suspended and resumed": {kinds: "KVT", given: []given{last("12:00"), suspended}, moments: []moment{
			{now: "12:10"}, {now: "12:25"},
			{now: "12:34", given: []given{func(s *scene) { s.in.Policy.Suspend = false }}, want: "2 skipped/suspended, 1 started"}, {now: "12:35"},
		}},
		"B2 times before an edit are nothing": {kinds: "KVT", given: []given{served("0 3 * * *", ""), last("12:00")}, moments: []moment{
			{now: "12:34"}, {now: "12:40", want: "1 started"},
		}},
		"B2 an edit takes a time that is held up with it": {kinds: "KV", given: blocked, moments: []moment{
			{now: "12:20"}, {now: "12:25", given: []given{schedule("*/15 * * * *")}, want: "1 skipped/forbidden"}, {now: "12:30"},
			{now: "12:45", want: "1 skipped/forbidden"},
		}},
		"B7 two times with one name": {kinds: "KV", given: []given{schedule("@every 20s"), made("12:00:00")}, moments: []moment{
			{now: "12:00:20", want: "1 started"}, {now: "12:00:40", want: "1 skipped/shared_name"}, {now: "12:00:41"}, {now: "12:01:00", want: "1 started"},
		}},
		"a clock that steps back": {kinds: "KVT", moments: []moment{
			{now: "12:10", want: "1 started"}, {now: "12:20", want: "1 started"}, {now: "12:08"}, {now: "12:20"}, {now: "12:30", want: "1 started"},
		}},
		"CJ-131 more missed than the tutorial starts after": {kinds: "T", given: []given{schedule("* * * * *"), made("12:00")}, moments: []moment{
			{now: "13:41", want: "100 missed/too_many"}, {now: "13:42", want: "1 missed/too_many"},
		}},
		"a schedule that cannot be read": {kinds: "KVT", given: []given{schedule("nonsense")}, moments: []moment{{now: "12:10"}, {now: "12:20"}}},
	} {
		for _, kind := range c.kinds {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				s := fixture(string(kind), c.moments[0].now, c.given...)
				for i, m := range c.moments {
					if i > 0 {
						s.catchUp(m.now, m.given...)
					}
					transcript := s.play(t)
					if got := told(s.outcomes); got != m.want {
						t.Errorf("at %s: %q, want %q; the sync:\n%s", m.now, got, m.want, transcript)
					}
				}
			})
		}
	}
}

// Whatever happens, every scheduled time that has passed is counted once or still held up, and "started" counts the
// children that were created.
func TestOutcomesCountEachTimeOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]string{"K", "V", "T"}).Draw(rt, "kind")
		s := fixture(kind, "12:03:20")
		s.in.Policy.Deadline = rapid.SampledFrom([]*int64{nil, nil, new(int64(0)), new(int64(90)), new(int64(1500))}).Draw(rt, "deadline")
		s.in.Policy.Room = adapter.Room(rapid.SampledFrom([]batchv1.ConcurrencyPolicy{"Allow", "Forbid", "Replace"}).Draw(rt, "policy"))
		named, startedTimes, failedTimes, creates := 0, 0, 0, map[string]bool{}
		var log []string
		s.play(t) // this process has seen the CronJob from the beginning
		for range rapid.IntRange(1, 40).Draw(rt, "syncs") {
			s.in.Now = s.in.Now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 240, 600, 1300, 9000}).Draw(rt, "later")) * time.Second)
			s.in.Policy.Suspend = rapid.IntRange(0, 9).Draw(rt, "suspended") == 0
			s.failCreate = rapid.SampledFrom([]error{nil, nil, nil, quota}).Draw(rt, "create")
			s.loseAnswer = rapid.SampledFrom([]error{nil, nil, nil, errors.New("connection reset")}).Draw(rt, "answer")
			clear(s.failGet)
			if rapid.IntRange(0, 4).Draw(rt, "reads") == 0 {
				for n := s.in.Now.Add(-3 * time.Hour).Truncate(time.Minute); !n.After(s.in.Now); n = n.Add(time.Minute) {
					s.failGet[fmt.Sprintf("tick-%d", n.Unix()/int64(s.in.Traits.NameUnit/time.Second))] = broken
				}
			}
			for name, c := range s.live {
				if rapid.Bool().Draw(rt, "ends") {
					c.Phase = cron.Complete
					s.live[name] = c
				}
			}
			if rapid.Bool().Draw(rt, "the cache catches up") {
				s.catchUp(s.in.Now.Format(time.RFC3339))
			}
			s.in.Policy.Succeeded, s.in.Policy.Failed = cron.Retention{}, cron.Retention{}
			transcript := s.play(t)
			for name := range s.live {
				creates[name] = true
			}
			log = append(log, s.in.Now.Format(time.TimeOnly)+" "+strings.ReplaceAll(transcript, "\n", "; ")+" => "+told(s.outcomes))
			for _, o := range s.outcomes {
				if o.Count < 1 {
					rt.Fatalf("an outcome of %d times", o.Count)
				}
				named += o.Count
				if o.Result == cron.Started {
					startedTimes += o.Count
				}
				if o.Reason == cron.NotStartedFailed {
					failedTimes += o.Count
				}
			}
			open := 0
			if s.in.Carried.HasPendingTime() {
				open = 1
			}
			passed := int(s.in.Now.Sub(at("12:00")) / (10 * time.Minute))
			if !s.in.Policy.Suspend && named+open != passed {
				rt.Fatalf("%d outcomes and %d held up for %d scheduled times\n%s", named, open, passed, strings.Join(log, "\n"))
			}
			// A create whose answer got lost, and whose child stays unseen until the next time starts, counts as
			// failed.
			if startedTimes > len(creates) || startedTimes+failedTimes+open < len(creates) {
				rt.Fatalf("%d started and %d failed of %d children, %d held up\n%s", startedTimes, failedTimes, len(creates), open, strings.Join(log, "\n"))
			}
		}
	})
}
