// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cron"
)

func retry(n int) given {
	return func(s *scene) {
		s.in.Policy.Retry = cron.Retry{Limit: n, Delay: 10 * time.Second, MaxDelay: 10 * time.Minute}
	}
}

func timeout(after time.Duration) given {
	return func(s *scene) { s.in.Policy.Timeout = after }
}

// fails is a child that fails at that time.
func fails(name, text string) given { return ends(name, failed, finished(text)) }

// attempt is the name of a later attempt of a scheduled time.
func attempt(scheduled, n string) string { return tick(scheduled) + "-r" + n }

func recordPending(is bool) given { return func(s *scene) { s.in.RecordPending = is } }

// waitsForStop is a scheduled time of which the status says that it waits for runs to be stopped.
func waitsForStop(text string) given {
	return func(s *scene) {
		s.in.Stored.Waiting = []cron.WaitingTime{{Time: at(text), Trigger: cron.TriggerSchedule, Reason: cron.NotStartedStopping}}
	}
}

// An attempt that failed is followed by another one, as often as the policy says; in between the run is active.
func TestAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
	}{
		"TT-131 three attempts fail": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"},
				{now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}}, {now: "12:11:09"},
				{now: "12:11:10", want: "start @12:10-r2"}, {now: "12:11:11"},
				{now: "12:12", given: []given{fails(attempt("12:10", "2"), "12:12:00")}}, {now: "12:12:19"},
				{now: "12:12:20", want: "start @12:10-r3"},
				{now: "12:13", given: []given{fails(attempt("12:10", "3"), "12:13:00")}, want: "12:10 failed/run_failed"}, {now: "12:14"}},
		},
		"TT-132 the second attempt succeeds": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11:10", given: []given{fails(tick("12:10"), "12:11:00")}, want: "start @12:10-r2"},
				{now: "12:12", given: []given{ends(attempt("12:10", "2"), complete)}, want: "12:10 succeeded"}},
		},
		"TT-133 a crash after the create of the second attempt": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:11:10", given: []given{recordFails(broken)}, want: "start @12:10-r2\nfail"},
				{now: "12:11:11", given: []given{recordFails(nil), crashed}},
				{now: "12:12", given: []given{ends(attempt("12:10", "2"), complete)}, want: "12:10 succeeded"}},
		},
		"TT-133 the same, and it has ended meanwhile": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:11:10", given: []given{recordFails(broken)}, want: "start @12:10-r2\nfail"},
				{now: "12:12", given: []given{recordFails(nil), crashed, ends(attempt("12:10", "2"), complete)}, want: "12:10 succeeded"}},
		},
		"TT-133 the second attempt is not recorded, and retries are not asked for any more": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"},
				{now: "12:11:10", given: []given{fails(tick("12:10"), "12:11:00"), recordFails(broken)}, want: "start @12:10-r2\nfail"},
				{now: "12:11:11", given: []given{recordFails(nil), retry(0)}},
				{now: "12:12", given: []given{ends(attempt("12:10", "2"), complete)}, want: "12:10 succeeded"}},
		},
		"TT-133 the second attempt is not recorded, and the child of the first is gone": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"},
				{now: "12:11:10", given: []given{fails(tick("12:10"), "12:11:00"), recordFails(broken)}, want: "start @12:10-r2\nfail"},
				{now: "12:11:11", given: []given{recordFails(nil), crashed, gone("12:10")}},
				{now: "12:12", given: []given{ends(attempt("12:10", "2"), complete)}, want: "12:10 succeeded"}},
		},
		"TT-244 the second attempt is not recorded, and Replace waits for the end of the run": {
			given: []given{replacing(1), cursor("12:00"), timeout(5 * time.Minute), retry(1)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:15", want: "stop @12:10"},
				{now: "12:19", given: []given{gone("12:10"), recordFails(broken)}, want: "fail"}, {now: "12:19:10", want: "start @12:10-r2\nfail"},
				{now: "12:20", given: []given{recordFails(nil), cursor("12:20"), waitsForStop("12:20")}, want: "stop @12:10-r2\n12:20 waits Schedule/stopping"},
				{now: "12:21", given: []given{ends(attempt("12:10", "2"), failed, finished("12:21"))}, want: "start @12:20\n12:10 cancelled/replaced"}},
		},
		"TT-189 a run that was given a result has no other attempt while the record of that is on its way": {
			given: []given{replacing(1), cursor("12:00"), retry(1), func(s *scene) { s.in.Policy.Retry.Delay = time.Hour }},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:20", given: []given{recordFails(broken)}, want: "start @12:20\nfail\n12:10 cancelled/replaced"},
				{now: "13:11", given: []given{ends(tick("12:20"), complete), suspended, recordPending(true)}, want: "fail\n12:20 succeeded\n12:30…13:10 (5) skipped/suspended"},
				{now: "13:11:01", want: "fail\n12:20 succeeded\n12:30…13:10 (5) skipped/suspended"},
				{now: "13:11:02", given: []given{recordFails(nil), recordPending(false)}, want: "start @12:10-r2\n12:20 succeeded\n12:30…13:10 (5) skipped/suspended"}},
		},
		"TT-189 an attempt that could not be recorded is gone, and how it ended is known": {
			given: []given{limit(1), cursor("12:00"), retry(1), recordFails(broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}, want: "fail"},
				{now: "12:11:10", want: "start @12:10-r2\nfail"},
				{now: "12:12", given: []given{ends(attempt("12:10", "2"), failed, finished("12:12"))}, want: "fail\n12:10 failed/run_failed"},
				{now: "12:13", given: []given{ends(attempt("12:10", "2"), func(c *cron.Child) { c.Gone, c.Deleting = true, true })}, want: "fail\n12:10 failed/run_failed"}},
		},
		"TT-134 the child of the first attempt is gone": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:11:10", given: []given{gone("12:10")}, want: "start @12:10-r2"}},
		},
		"TT-135 nothing is repeated of what is being deleted": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:11:10", given: []given{deleting}}},
		},
		"TT-136 a child that is deleted by hand is not repeated": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{gone("12:10")}, want: "12:10 cancelled/deleted"}},
		},
		"TT-137 a quota refuses the second attempt": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"},
				{now: "12:11:10", given: []given{fails(tick("12:10"), "12:11:00"), createFails(quota)}, want: "start @12:10-r2\nfail"},
				{now: "12:11:11", given: []given{createFails(nil)}, want: "start @12:10-r2"}},
		},
		"TT-066 Replace ends a run that waits for its next attempt at once": {
			given: []given{replacing(1), cursor("12:00"), retry(2), func(s *scene) { s.in.Policy.Retry.Delay = time.Hour }},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:20", want: "start @12:20\n12:10 cancelled/replaced"}, {now: "13:15", want: "stop @12:20\n12:30…13:00 (4) missed/outage\n13:10 waits CatchUp/stopping"}},
		},
		"TT-073 a run between two attempts keeps its place": {
			given: []given{limit(1), cursor("12:00"), retry(2), func(s *scene) { s.in.Policy.Retry.Delay = 14 * time.Minute }},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:20", want: "12:20 waits Schedule/forbidden"}, {now: "12:25", want: "start @12:10-r2\n12:20 waits Schedule/forbidden"}},
		},
		"TT-090 a run that has begun is finished while suspended": {
			given: []given{limit(1), cursor("12:00"), retry(2)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11:10", given: []given{suspended, fails(tick("12:10"), "12:11:00")}, want: "start @12:10-r2"}},
		},
		"TT-250 no attempt is pruned before the result": {
			given: []given{limit(1), cursor("12:00"), retry(1), history(0, 0)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:12", given: []given{fails(tick("12:10"), "12:11:55")}},
				{now: "12:12:05", want: "start @12:10-r2"}, {now: "12:13:04"},
				{now: "12:14", given: []given{fails(attempt("12:10", "2"), "12:13:30")}, want: "prune @12:10\nprune @12:10-r2\n12:10 failed/run_failed"}},
		},
		"5.7 a smaller limit ends a run that waits for its next attempt": {
			given: []given{limit(1), cursor("12:00"), retry(1)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}},
				{now: "12:11:05", given: []given{retry(0)}, want: "12:10 failed/run_failed"}},
		},
		"TT-140 a child that has not ended in time is stopped, and its run fails": {
			given: []given{limit(1), cursor("12:00"), timeout(5 * time.Minute)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:14:59"}, {now: "12:15", want: "stop @12:10"},
				{now: "12:15:30", given: []given{onServer("12:10"), has("12:10"), goingAway("12:10")}},
				{now: "12:16", given: []given{gone("12:10")}, want: "12:10 failed/timeout"}, {now: "12:20", want: "start @12:20"}},
		},
		"TT-140 and it is repeated if there is another attempt": {
			given: []given{limit(1), cursor("12:00"), timeout(5 * time.Minute), retry(1)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:15", want: "stop @12:10"}, {now: "12:16", given: []given{gone("12:10")}},
				{now: "12:16:10", want: "start @12:10-r2"}, {now: "12:21:10", want: "stop @12:10-r2\n12:20 waits CatchUp/forbidden"},
				{now: "12:21:11", want: "start @12:20\n12:10 failed/timeout"}},
		},
		"TT-141 a stop that is refused is tried again": {
			given: []given{limit(1), cursor("12:00"), timeout(5 * time.Minute), deleteFails(tick("12:10"), broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:15", want: "stop @12:10\nfail"},
				{now: "12:20", want: "stop @12:10\nfail\n12:20 waits Schedule/forbidden"}},
		},
		"TT-244 a child that is stopped for its timeout, and Replace": {
			given: []given{replacing(1), cursor("12:00"), timeout(5 * time.Minute), retry(1)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:15", want: "stop @12:10"},
				{now: "12:20", given: []given{has("12:10"), goingAway("12:10")}, want: "12:20 waits Schedule/stopping"},
				{now: "12:21", given: []given{gone("12:10")}, want: "start @12:20\n12:10 failed/timeout"}},
		},
		"a create of an attempt that got no answer is found": {
			given: []given{limit(1), cursor("12:00"), retry(1)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"},
				{now: "12:11:10", given: []given{fails(tick("12:10"), "12:11:00"), answerLost(broken)}, want: "start @12:10-r2"},
				{now: "12:12", given: []given{answerLost(nil), ends(attempt("12:10", "2"), complete)}, want: "12:10 succeeded"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fixture("G", c.syncs[0].now, c.given...)
			for i, p := range c.syncs {
				if i > 0 {
					s.catchUp(p.now, p.given...)
				}
				if diff := cmp.Diff(lines(p.want), s.playGeneral(t)); diff != "" {
					t.Errorf("sync %d at %s (-want +got):\n%s", i+1, p.now, diff)
				}
				if at := s.plan.Wake; !at.IsZero() && !at.After(s.in.Now) {
					t.Errorf("sync %d at %s wakes at %v", i+1, p.now, at)
				}
			}
		})
	}
}

// The sync that starts a child asks for one when that has to have ended: until then there may be no other one, since a child
// that hangs changes nothing (TT-140, found by TestSimulationOfTimetables: one was stopped when the next time came).
func TestTimeoutWakes(t *testing.T) {
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
		want  string
	}{
		"first child": {
			given: []given{limit(1), cursor("12:00"), timeout(5 * time.Minute)},
			syncs: []generalSync{{now: "12:10"}},
			want:  "12:15",
		},
		"later attempt": {
			given: []given{limit(1), cursor("12:00"), timeout(5 * time.Minute), retry(1)},
			syncs: []generalSync{{now: "12:10"}, {now: "12:11", given: []given{fails(tick("12:10"), "12:11:00")}}, {now: "12:11:10"}},
			want:  "12:16:10",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fixture("G", c.syncs[0].now, c.given...)
			s.playGeneral(t)
			for _, p := range c.syncs[1:] {
				s.catchUp(p.now, p.given...)
				s.playGeneral(t)
			}
			if got := s.plan.Wake; !got.Equal(at(c.want)) {
				t.Errorf("wakes at %v, want %s", got, c.want)
			}
		})
	}
}
