// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cron"
)

// What a Timetable may ask for (timetable.md 3.5, 3.6).
func limit(n int) given {
	return func(s *scene) { s.in.Policy.Room = cron.Room{Limit: n, WaitLimit: 1} }
}
func queue(n, places int) given {
	return func(s *scene) { s.in.Policy.Room = cron.Room{Limit: n, WaitLimit: places, Queues: true} }
}
func replacing(n int) given {
	return func(s *scene) { s.in.Policy.Room = cron.Room{Limit: n, WaitLimit: 1, Stops: true} }
}
func catchUp(policy cron.CatchUpPolicy, n int) given {
	return func(s *scene) { s.in.Policy.CatchUp = cron.CatchUp{Policy: policy, Limit: n} }
}
func history(n int32, age time.Duration) given {
	keep := cron.Retention{Limit: &n, MaxAge: age}
	return func(s *scene) {
		s.in.Policy.Succeeded, s.in.Policy.Failed, s.in.Policy.KeepAtLeast = keep, keep, time.Minute
	}
}

// kept is a finished child, whose end is known.
func kept(scheduled string) given { return has(scheduled, complete, finished(scheduled)) }

func cursor(text string) given { return func(s *scene) { s.in.Stored.Cursor = new(at(text)) } }
func crashed(s *scene)         { s.in.Carried = cron.Memory{} }

// tick is the name of the child of a scheduled time.
func tick(scheduled string) string { return fmt.Sprintf("tick-%d", at(scheduled).Unix()) }

// gone is a child that is on the server no more.
func gone(scheduled string) given {
	return func(s *scene) {
		delete(s.live, tick(scheduled))
		uncached(scheduled)(s)
	}
}

// uncached is a child that the cache does not show yet.
func uncached(scheduled string) given {
	return func(s *scene) {
		s.in.Children = slices.DeleteFunc(s.in.Children, func(c cron.Child) bool { return c.Name == tick(scheduled) })
	}
}

// goingAway is a child whose deletion takes its time.
func goingAway(scheduled string) given {
	return ends(tick(scheduled), func(c *cron.Child) { c.Deleting = true })
}

// general syncs are told by what starts and stops, what became of which scheduled times, and what waits.
type generalSync struct {
	now   string
	given []given
	want  string
}

func (s *scene) playGeneral(t testing.TB) string {
	t.Helper()
	var told []string
	for line := range strings.Lines(s.play(t)) {
		line = strings.TrimSpace(line)
		switch verb, _, _ := strings.Cut(line, " "); verb {
		case "start", "stop", "prune":
			fields := strings.Fields(line)
			told = append(told, verb+" "+clock(fields[1]))
		case "fail":
			told = append(told, line)
		}
	}
	for _, o := range s.outcomes {
		if o.Result == cron.Started {
			continue
		}
		times := o.First.Format("15:04")
		if o.Count > 1 {
			times += fmt.Sprintf("…%s (%d)", o.Last.Format("15:04"), o.Count)
		}
		told = append(told, strings.TrimSuffix(fmt.Sprintf("%s %s/%s", times, o.Result, o.Reason), "/"))
	}
	for _, w := range s.plan.Carried.Waiting {
		told = append(told, fmt.Sprintf("%s waits %s/%s", w.Time.Format("15:04"), w.Trigger, w.Reason))
	}
	return strings.Join(told, "\n")
}

// clock is the scheduled time of a child by its name.
func clock(name string) string {
	var n int64
	if _, err := fmt.Sscanf(name, "tick-%d", &n); err != nil {
		return name
	}
	_, attempt, _ := strings.Cut(strings.TrimPrefix(name, "tick-"), "-")
	return strings.TrimSuffix("@"+time.Unix(n, 0).UTC().Format("15:04")+"-"+attempt, "-")
}

// A Policy that no CronJob can ask for: several runs at once, queues, what becomes of each time after an outage. The
// cache shows everything by the time of the next sync.
func TestGeneral(t *testing.T) {
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
	}{
		"TT-001 TT-002 TT-003 the first sync decides nothing old, and each time starts once": {
			given: []given{limit(1)},
			syncs: []generalSync{{now: "12:07"}, {now: "12:10", want: "start @12:10"}, {now: "12:10:30"}},
		},
		"TT-007 the creation itself is no scheduled time": {
			given: []given{limit(1), made("12:10")},
			syncs: []generalSync{{now: "12:10"}, {now: "12:20", want: "start @12:20"}},
		},
		"TT-013 an erased status starts nothing for the past, and what runs takes room": {
			given: []given{limit(1), made("11:00"), has("12:10")},
			syncs: []generalSync{{now: "12:15"}, {now: "12:20", want: "12:20 waits Schedule/forbidden"}},
		},
		"TT-021 a child with a name of its own takes room": {
			given: []given{limit(1), cursor("12:10"), has("12:05", manual)},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"}},
		},
		"TT-031 exactly at the deadline is too late": {
			given: []given{limit(1), cursor("12:00"), deadline(30)},
			syncs: []generalSync{{now: "12:10:30", want: "12:10 missed/deadline"}},
		},
		"TT-037 a time that waits is missed at its deadline": {
			given: []given{limit(1), cursor("12:10"), deadline(60), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"}, {now: "12:21", want: "12:20 missed/deadline"}},
		},
		"TT-038 after an outage the latest starts": {
			given: []given{limit(1), cursor("12:00")},
			syncs: []generalSync{{now: "13:05", want: "start @13:00\n12:10…12:50 (5) missed/outage"}},
		},
		"TT-039 TT-041 None starts what is found in time": {
			given: []given{limit(1), cursor("12:00"), catchUp(cron.CatchUpNone, 0)},
			syncs: []generalSync{{now: "13:01", want: "start @13:00\n12:10…12:50 (5) missed/outage"}},
		},
		"TT-040 None starts nothing that is found late": {
			given: []given{limit(1), cursor("12:00"), catchUp(cron.CatchUpNone, 0)},
			syncs: []generalSync{{now: "13:05", want: "12:10…13:00 (6) missed/outage"}},
		},
		"TT-042 All starts one after the other": {
			given: []given{limit(1), cursor("12:00"), catchUp(cron.CatchUpAll, 10)},
			syncs: []generalSync{{now: "13:05", want: `start @12:10
				12:20 waits CatchUp/forbidden
				12:30 waits CatchUp/forbidden
				12:40 waits CatchUp/forbidden
				12:50 waits CatchUp/forbidden
				13:00 waits CatchUp/forbidden`},
				{now: "13:06", given: []given{ends(tick("12:10"), complete)}, want: `start @12:20
				12:10 succeeded
				12:30 waits CatchUp/forbidden
				12:40 waits CatchUp/forbidden
				12:50 waits CatchUp/forbidden
				13:00 waits CatchUp/forbidden`}},
		},
		"TT-266 All after an outage of seconds": {
			given: []given{limit(1), schedule("* * * * *"), cursor("12:59"), catchUp(cron.CatchUpAll, 10)},
			syncs: []generalSync{{now: "13:01:00", want: "start @13:00\n13:01 waits Schedule/forbidden"},
				{now: "13:01:30", given: []given{ends(tick("13:00"), complete)}, want: "start @13:01\n13:00 succeeded"}},
		},
		"TT-266 All with a limit, after an outage of seconds": {
			given: []given{limit(1), schedule("* * * * *"), cursor("12:58"), catchUp(cron.CatchUpAll, 1)},
			syncs: []generalSync{{now: "13:01:00", want: "start @13:00\n12:59 missed/catch_up_limit\n13:01 waits Schedule/forbidden"}},
		},
		"TT-043 All with a limit": {
			given: []given{limit(1), cursor("12:00"), catchUp(cron.CatchUpAll, 2)},
			syncs: []generalSync{{now: "13:05", want: "start @12:50\n12:10…12:40 (4) missed/catch_up_limit\n13:00 waits CatchUp/forbidden"}},
		},
		"TT-044 All with a deadline": {
			given: []given{limit(1), cursor("12:00"), catchUp(cron.CatchUpAll, 10), deadline(1800)},
			syncs: []generalSync{{now: "13:05", want: `start @12:40
				12:10…12:30 (3) missed/deadline
				12:50 waits CatchUp/forbidden
				13:00 waits CatchUp/forbidden`}},
		},
		"TT-045 All and room for all": {
			given: []given{limit(100), cursor("12:00"), catchUp(cron.CatchUpAll, 10)},
			syncs: []generalSync{{now: "13:05", want: "start @12:10\nstart @12:20\nstart @12:30\nstart @12:40\nstart @12:50\nstart @13:00"}},
		},
		"TT-046 All and a queue for two at once": {
			given: []given{queue(2, 10), cursor("12:20"), catchUp(cron.CatchUpAll, 10)},
			syncs: []generalSync{{now: "13:05", want: "start @12:30\nstart @12:40\n12:50 waits CatchUp/forbidden\n13:00 waits CatchUp/forbidden"},
				{now: "13:10", want: "12:50 waits CatchUp/forbidden\n13:00 waits CatchUp/forbidden\n13:10 waits Schedule/forbidden"}},
		},
		"TT-047 what is caught up waits beside the others": {
			given: []given{limit(1), cursor("12:40"), catchUp(cron.CatchUpAll, 10)},
			syncs: []generalSync{{now: "13:05", want: "start @12:50\n13:00 waits CatchUp/forbidden"},
				{now: "13:10", want: "13:00 waits CatchUp/forbidden\n13:10 waits Schedule/forbidden"},
				{now: "13:20", want: "13:10 skipped/superseded\n13:00 waits CatchUp/forbidden\n13:20 waits Schedule/forbidden"}},
		},
		"TT-050 a crash after the first of several starts": {
			given: []given{limit(100), cursor("12:30"), catchUp(cron.CatchUpAll, 10), has("12:40"), crashed},
			syncs: []generalSync{{now: "13:05", want: "start @12:50\nstart @13:00"}},
		},
		"TT-053 TT-054 a time waits for room and starts late": {
			given: []given{limit(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"},
				{now: "12:23", given: []given{ends(tick("12:10"), complete)}, want: "start @12:20\n12:10 succeeded"}},
		},
		"TT-055 a newer time takes the place of an older one": {
			given: []given{limit(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"},
				{now: "12:30", want: "12:20 skipped/superseded\n12:30 waits Schedule/forbidden"}},
		},
		"TT-057 TT-058 a queue, and the one that finds it full": {
			given: []given{queue(1, 2), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"},
				{now: "12:30", want: "12:20 waits Schedule/forbidden\n12:30 waits Schedule/forbidden"},
				{now: "12:40", want: "12:40 skipped/queue_full\n12:20 waits Schedule/forbidden\n12:30 waits Schedule/forbidden"},
				{now: "12:45", given: []given{ends(tick("12:10"), complete)}, want: "start @12:20\n12:10 succeeded\n12:30 waits Schedule/forbidden"}},
		},
		"TT-060 TT-061 TT-062 Replace stops, waits until it is gone, and starts": {
			given: []given{replacing(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "stop @12:10\n12:20 waits Schedule/stopping"},
				{now: "12:20:01", given: []given{has("12:10"), goingAway("12:10")}, want: "12:20 waits Schedule/stopping"},
				{now: "12:20:45", given: []given{gone("12:10")}, want: "start @12:20\n12:10 cancelled/replaced"}},
		},
		"TT-063 a successor takes the newcomer's place and stops nothing more": {
			given: []given{replacing(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "stop @12:10\n12:20 waits Schedule/stopping"},
				{now: "12:30", given: []given{has("12:10"), goingAway("12:10")}, want: "12:20 skipped/superseded\n12:30 waits Schedule/stopping"}},
		},
		"TT-064 Replace stops no more than it must, and the oldest": {
			given: []given{replacing(2), cursor("12:20"), active("12:10"), active("12:20")},
			syncs: []generalSync{{now: "12:30", want: "stop @12:10\n12:30 waits Schedule/stopping"}},
		},
		"TT-065 Replace stops nothing if that makes no room": {
			given: []given{replacing(1), cursor("12:10"), has("12:15", manual)},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"}},
		},
		"TT-068 the ceiling": {
			given: []given{limit(2), cursor("12:20"), active("12:10"), active("12:20")},
			syncs: []generalSync{{now: "12:30", want: "12:30 waits Schedule/forbidden"}},
		},
		"TT-069 an unfinished child in no status is adopted first": {
			given: []given{limit(1), cursor("12:00"), has("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"}},
		},
		"TT-072 a suspended child is unfinished": {
			given: []given{limit(1), cursor("12:10"), active("12:10", asleep)},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"}},
		},
		"TT-004 a run that succeeds": {
			given: []given{limit(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:12:30", given: nil}, {now: "12:12:31", given: []given{ends(tick("12:10"), complete)}, want: "12:10 succeeded"}, {now: "12:12:32"}},
		},
		"TT-005 a run that fails": {
			given: []given{limit(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:12"}, {now: "12:13", given: []given{ends(tick("12:10"), failed)}, want: "12:10 failed/run_failed"}},
		},
		"TT-071 a running child that is deleted by hand is not run again": {
			given: []given{limit(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:12"}, {now: "12:15", given: []given{gone("12:10")}, want: "12:10 cancelled/deleted"}, {now: "12:20", want: "start @12:20"}},
		},
		"TT-146 TT-147 a child that ended while nobody looked": {
			given: []given{limit(1), cursor("12:00"), has("12:10", complete)},
			syncs: []generalSync{{now: "12:15", want: "12:10 succeeded"}},
		},
		"TT-186 what cannot be counted as started has no result either": {
			given: []given{limit(1), cursor("12:10"), listed("12:10"), getFails(tick("12:10"), broken), has("12:20", complete)},
			syncs: []generalSync{{now: "12:25", want: "fail"},
				{now: "12:26", given: []given{getFails(tick("12:10"), nil)}, want: "12:10 cancelled/deleted\n12:20 succeeded"}},
		},
		"TT-186 a run that vanished before it could be recorded has ended": {
			given: []given{limit(1), cursor("12:00"), recordFails(broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail"},
				{now: "12:12", given: []given{gone("12:10"), recordFails(nil)}, want: "12:10 cancelled/deleted"}},
		},
		"TT-063 the successor that could not be recorded is not stopped for the one whose place it took": {
			given: []given{replacing(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "stop @12:10\n12:20 waits Schedule/stopping"},
				{now: "12:30", given: []given{gone("12:10"), recordFails(broken)}, want: "start @12:30\nfail\n12:10 cancelled/replaced\n12:20 skipped/superseded"},
				{now: "12:31", given: []given{recordFails(nil)}, want: "12:10 cancelled/replaced\n12:20 skipped/superseded"}},
		},
		"TT-115 an edit that could not be recorded, and is undone": {
			given: []given{limit(100), cursor("12:00")},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"},
				{now: "12:19", given: []given{recordFails(broken), edited(schedule("5-59/10 * * * *"))}, want: "fail\n12:15 skipped/edited"},
				{now: "12:24", given: []given{recordFails(nil), edited(schedule("*/10 * * * *"))}, want: "12:20 skipped/edited"},
				{now: "12:30", want: "start @12:30"}},
		},
		"TT-115 the same while the Timetable cannot be read": {
			given: []given{limit(100), cursor("12:00")},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"},
				{now: "12:19", given: []given{ownerFails(broken), has("12:15"), edited(schedule("5-59/10 * * * *"))}, want: "fail"},
				{now: "12:24", given: []given{ownerFails(nil), edited(schedule("*/10 * * * *"))}, want: "12:20 skipped/edited"}},
		},
		"TT-186 nothing is adopted by what is being deleted": {
			given: []given{limit(1), cursor("12:00"), has("12:10", complete), deleting},
			syncs: []generalSync{{now: "12:15"}},
		},
		"TT-243 what had succeeded before it could be stopped has its own result": {
			given: []given{replacing(1), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "stop @12:10\n12:20 waits Schedule/stopping"},
				{now: "12:20:01", given: []given{has("12:10", complete)}, want: "start @12:20\n12:10 succeeded"}},
		},
		"TT-074 more room starts what waits": {
			given: []given{queue(1, 10), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"},
				{now: "12:30", want: "12:20 waits Schedule/forbidden\n12:30 waits Schedule/forbidden"},
				{now: "12:31", given: []given{queue(3, 10)}, want: "start @12:20\nstart @12:30"}},
		},
		"TT-177 the oldest beyond the limit are pruned": {
			given: []given{limit(1), cursor("12:30"), history(1, 0), kept("12:10"), kept("12:20"), kept("12:30")},
			syncs: []generalSync{{now: "12:35", want: "prune @12:10\nprune @12:20"}},
		},
		"TT-178 nothing is pruned in its first minute": {
			given: []given{limit(1), cursor("12:10"), history(0, 0), kept("12:10")},
			syncs: []generalSync{{now: "12:10:59"}, {now: "12:11", want: "prune @12:10"}},
		},
		"TT-179 what has ended long ago is pruned": {
			given: []given{limit(1), cursor("13:00"), history(3, time.Hour), kept("12:10"), kept("12:20"), kept("13:00")},
			syncs: []generalSync{{now: "13:05"}, {now: "13:10", want: "start @13:10\nprune @12:10"}, {now: "13:20", want: "prune @12:20\n13:20 waits Schedule/forbidden"}},
		},
		"TT-180 one that cannot be deleted does not keep the others": {
			given: []given{limit(1), cursor("12:30"), history(0, 0), kept("12:10"), kept("12:20"), deleteFails(tick("12:10"), broken)},
			syncs: []generalSync{{now: "12:35", want: "prune @12:10\nprune @12:20"}, {now: "12:36", want: "prune @12:10"}},
		},
		"TT-181 a full quota keeps nothing from being pruned": {
			given: []given{limit(1), cursor("12:10"), history(0, 0), kept("12:10"), createFails(quota)},
			syncs: []generalSync{{now: "12:20", want: "start @12:20\nprune @12:10\nfail\n12:20 waits Schedule/failed"}},
		},
		"TT-193 a child of a time that lies ahead of a clock that was set back is kept": {
			given: []given{limit(1), cursor("12:30"), history(0, 0), kept("12:30")},
			syncs: []generalSync{{now: "11:35"}, {now: "12:40", want: "start @12:40\nprune @12:30"}},
		},
		"TT-182 a status that cannot be written delays no start": {
			given: []given{limit(100), cursor("12:00"), recordFails(broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail"}, {now: "12:20", want: "start @12:20\nfail"},
				{now: "12:20:01", given: []given{recordFails(nil)}}},
		},
		"TT-189 a time that was given a result does not start while the record of that is on its way": {
			given: []given{limit(1), cursor("12:00"), recordFails(broken), func(s *scene) { s.in.Policy.Deadline = new(int64(300)) }},
			syncs: []generalSync{{now: "12:16", want: "fail\n12:10 missed/deadline"},
				{now: "12:16:01", given: []given{func(s *scene) { s.in.Policy.Deadline, s.in.RecordPending = nil, true }}, want: "fail\n12:10 waits CatchUp/failed"},
				{now: "12:16:02", want: "fail\n12:10 waits CatchUp/failed"},
				{now: "12:16:03", given: []given{recordFails(nil), func(s *scene) { s.in.RecordPending = false }}, want: "start @12:10"}},
		},
		"TT-189 nor when the record of that was told to have failed, and has arrived": {
			given: []given{limit(1), cursor("12:00"), recordFails(broken), func(s *scene) { s.in.Policy.Deadline = new(int64(300)) }},
			syncs: []generalSync{{now: "12:16", want: "fail\n12:10 missed/deadline"},
				{now: "12:16:01", given: []given{func(s *scene) { s.in.Policy.Deadline, s.in.RecordPending = nil, true }}, want: "fail\n12:10 waits CatchUp/failed"},
				{now: "12:16:02", given: []given{recordFails(nil), func(s *scene) { s.in.RecordPending = false }, liveState(cursor("12:10"))}}},
		},
		"TT-189 nor while it is unclear as well whether another one was created": {
			given: []given{limit(2), catchUp(cron.CatchUpAll, 2), cursor("12:00"), recordFails(broken), func(s *scene) { s.in.Policy.Deadline = new(int64(300)) }},
			syncs: []generalSync{{now: "12:16", want: "fail\n12:10 missed/deadline"},
				{now: "12:20", given: []given{func(s *scene) { s.in.Policy.Deadline, s.in.RecordPending = nil, true }, answerLost(broken), getFails(tick("12:20"), broken)},
					want: "start @12:20\nfail\n12:10 waits CatchUp/failed\n12:20 waits Schedule/failed"},
				{now: "12:20:01", want: "fail\n12:10 waits CatchUp/failed"},
				{now: "12:20:02", given: []given{getFails(tick("12:20"), nil)}, want: "fail\n12:10 waits CatchUp/failed"}},
		},
		"TT-188 what waits and is later than the cursor is not recorded before that moves": {
			given: []given{limit(3), cursor("12:10"), active("12:10"), recordFails(broken)},
			syncs: []generalSync{{now: "12:20", want: "start @12:20\nfail"},
				{now: "12:30", given: []given{answerLost(broken), getFails(tick("12:30"), broken)}, want: "start @12:30\nfail\n12:30 waits Schedule/failed"},
				{now: "12:35", given: []given{uncached("12:30"), gone("12:20"), getFails(tick("12:20"), broken), ends(tick("12:10"), complete), recordFails(nil)}, want: "fail\n12:10 succeeded\n12:30 waits Schedule/failed"},
				{now: "12:36", given: []given{func(s *scene) {
					if w := s.in.Stored.Waiting; len(w) > 0 {
						t.Errorf("%v wait and are not decided", w)
					}
				}}, want: "fail"}},
		},
		"TT-187 a create that got no answer is found": {
			given: []given{limit(1), cursor("12:00"), answerLost(broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10"}, {now: "12:20", want: "12:20 waits Schedule/forbidden"}},
		},
		"TT-188 nothing that needs room starts while nobody can tell": {
			given: []given{limit(1), cursor("12:00"), answerLost(broken), getFails(tick("12:10"), broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail\n12:10 waits Schedule/failed"},
				{now: "12:20", given: []given{stays}, want: "fail\n12:10 waits Schedule/failed\n12:20 waits Schedule/failed"},
				{now: "12:30", given: []given{stays}, want: "fail\n12:20 missed/failed\n12:10 waits Schedule/failed\n12:30 waits Schedule/failed"},
				{now: "12:31", given: []given{stays, getFails(tick("12:10"), nil)}, want: "12:30 waits Schedule/forbidden"}},
		},
		"TT-188 what turns out not to have been created makes room": {
			given: []given{limit(1), cursor("12:00"), createFails(broken), getFails(tick("12:10"), broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail\n12:10 waits Schedule/failed"},
				{now: "12:20", given: []given{createFails(nil)}, want: "fail\n12:10 waits Schedule/failed\n12:20 waits Schedule/failed"},
				{now: "12:21", given: []given{getFails(tick("12:10"), nil)}, want: "start @12:20\n12:10 missed/failed"}},
		},
		"TT-188 while nobody can tell, no deadline, pause or edit gives it a result": {
			given: []given{queue(1, 0), cursor("12:00"), deadline(60), answerLost(broken), getFails(tick("12:10"), broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail\n12:10 waits Schedule/failed"},
				{now: "12:11", given: []given{stays}, want: "fail\n12:10 waits Schedule/failed"},
				{now: "12:12", given: []given{stays, suspended}, want: "fail\n12:10 waits Schedule/failed"},
				{now: "12:13", given: []given{stays, schedule("5 * * * *")}, want: "fail\n12:10 waits Schedule/failed"},
				{now: "12:14", given: []given{stays, getFails(tick("12:10"), nil)}}},
		},
		"TT-188 nor does it get one while the status cannot be written": {
			given: []given{limit(1), cursor("12:00"), answerLost(broken), getFails(tick("12:10"), broken), recordFails(broken)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail\n12:10 waits Schedule/failed"},
				{now: "12:20", given: []given{stays, recordFails(nil)}, want: "fail\n12:10 waits Schedule/failed\n12:20 waits Schedule/failed"},
				{now: "12:21", given: []given{stays, getFails(tick("12:10"), nil)}, want: "12:20 waits Schedule/forbidden"}},
		},
		"TT-195 a name that is taken makes the time wait, until a newer one comes": {
			given: []given{limit(1), cursor("12:00"), onServer("12:10", ownedBy(nil))},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\n12:10 waits Schedule/foreign"},
				{now: "12:20", given: []given{stays}, want: "start @12:20\n12:10 missed/foreign"}},
		},
		"TT-235 times that a crash left out start all the same": {
			given: []given{limit(100), cursor("12:30"), catchUp(cron.CatchUpAll, 10), has("13:00")},
			syncs: []generalSync{{now: "13:05", want: "start @12:40\nstart @12:50"}},
		},
		"TT-235 with Latest what was started is the choice": {
			given: []given{limit(100), cursor("12:30"), has("13:00")},
			syncs: []generalSync{{now: "13:05", want: "12:40…12:50 (2) missed/outage"}},
		},
		"TT-239 no more of them wait than the limit, of whichever outage": {
			given: []given{limit(1), cursor("12:00"), catchUp(cron.CatchUpAll, 2), active("12:00")},
			syncs: []generalSync{{now: "12:25", want: "12:10 waits CatchUp/forbidden\n12:20 waits CatchUp/forbidden"},
				{now: "12:45", want: "12:10 missed/catch_up_limit\n12:20 missed/catch_up_limit\n12:30 waits CatchUp/forbidden\n12:40 waits CatchUp/forbidden"}},
		},
		"TT-241 less room stops nothing": {
			given: []given{limit(1), cursor("12:20"), active("12:10"), active("12:20")},
			syncs: []generalSync{{now: "12:30", want: "12:30 waits Schedule/forbidden"},
				{now: "12:31", given: []given{ends(tick("12:10"), complete)}, want: "12:10 succeeded\n12:30 waits Schedule/forbidden"},
				{now: "12:32", given: []given{ends(tick("12:20"), complete)}, want: "start @12:30\n12:20 succeeded"}},
		},
		"TT-247 what waits for anything but room takes a place in the queue": {
			given: []given{queue(5, 0), cursor("12:00"), createFails(quota)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail\n12:10 waits Schedule/failed"}},
		},
		"TT-246 a time whose create is refused gives way to the next one": {
			given: []given{queue(1, 10), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 waits Schedule/forbidden"},
				{now: "12:30", want: "12:20 waits Schedule/forbidden\n12:30 waits Schedule/forbidden"},
				{now: "12:31", given: []given{ends(tick("12:10"), complete), createOfFails(tick("12:20"), quota)},
					want: "start @12:20\nstart @12:30\nfail\n12:10 succeeded\n12:20 waits Schedule/failed"},
				{now: "12:32", given: []given{ends(tick("12:30"), complete)}, want: "start @12:20\n12:30 succeeded"}},
		},
		"TT-247 a queue of what cannot be created": {
			given: []given{queue(1, 2), cursor("12:00"), createFails(quota)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail\n12:10 waits Schedule/failed"},
				{now: "12:20", want: "start @12:10\nstart @12:20\nfail\n12:10 waits Schedule/failed\n12:20 waits Schedule/failed"},
				{now: "12:30", want: "start @12:10\nstart @12:20\nstart @12:30\nfail\n12:30 missed/failed\n12:10 waits Schedule/failed\n12:20 waits Schedule/failed"},
				{now: "12:31", given: []given{createFails(nil)}, want: "start @12:10\n12:20 waits Schedule/forbidden"}},
		},
		"TT-247 room for several, and no create succeeds": {
			given: []given{limit(3), cursor("12:00"), createFails(quota)},
			syncs: []generalSync{{now: "12:10", want: "start @12:10\nfail\n12:10 waits Schedule/failed"},
				{now: "12:20", want: "start @12:20\nfail\n12:10 missed/failed\n12:20 waits Schedule/failed"}},
		},
		"TT-255 a queue without places": {
			given: []given{queue(1, 0), cursor("12:10"), active("12:10")},
			syncs: []generalSync{{now: "12:20", want: "12:20 skipped/queue_full"},
				{now: "12:30", given: []given{ends(tick("12:10"), complete)}, want: "start @12:30\n12:10 succeeded"}},
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
			}
		})
	}
}

// Each scheduled time is counted once, whatever happens (TG5): started, skipped and missed ones and those that wait are
// those that have passed since the first cursor. Never are more runs active than the limit, but those that were when it
// was narrowed (TG2); no time starts twice (TG1), none before its turn in the line.
func TestGeneralProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policies := []given{limit(1), limit(3), queue(1, 2), queue(2, 0), replacing(1), replacing(2), limit(100)}
		catchUps := []given{catchUp(cron.CatchUpLatest, 0), catchUp(cron.CatchUpNone, 0), catchUp(cron.CatchUpAll, 2)}
		s := fixture("G", "12:07", rapid.SampledFrom(policies).Draw(rt, "policy"), rapid.SampledFrom(catchUps).Draw(rt, "catch up"))
		retry(rapid.IntRange(0, 2).Draw(rt, "retries"))(s)
		if rapid.Bool().Draw(rt, "with a deadline") {
			s.in.Policy.Deadline = new(int64(1500))
		}
		s.in.Policy.CatchUpOnResume, s.in.Policy.PauseAfterFailures = rapid.Bool().Draw(rt, "on resume"), rapid.IntRange(0, 3).Draw(rt, "pause after failures")
		jitter(time.Duration(rapid.SampledFrom([]int{0, 5, 60}).Draw(rt, "jitter")) * time.Minute)(s)
		excluded(rapid.SampledFrom([]string{"", "2026-05-04T13:00/2026-05-04T14:00"}).Draw(rt, "excluded"))(s)
		first, counted, ever := at("12:06"), 0, map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "syncs") {
			before := maps.Clone(s.live)
			transcript := s.playGeneral(t)
			for _, o := range s.outcomes {
				if o.Result == cron.Started || o.Result == cron.Skipped || o.Result == cron.Missed {
					counted += o.Count
				}
			}
			var c cron.Counts
			if r := s.in.Stored.Results; r != nil {
				c = r.Counts
			}
			if c.Started+c.Skipped+c.Missed != int64(counted) || c.Started != c.Succeeded+c.Failed+c.Cancelled+int64(len(s.in.Stored.Active)) {
				rt.Fatalf("%d were named, and counted were %+v, with %d active:\n%s", counted, c, len(s.in.Stored.Active), transcript)
			}
			for name := range s.live {
				if _, was := before[name]; !was && ever[name] {
					rt.Fatalf("%s starts again:\n%s", clock(name), transcript)
				}
				ever[name] = true
			}
			active := 0
			for _, c := range s.live {
				if c.Phase == cron.Unfinished {
					active++
				}
			}
			if active > s.in.Policy.Room.Limit && len(s.live) > len(before) {
				rt.Fatalf("%d are active, and %d may be:\n%s", active, s.in.Policy.Room.Limit, transcript)
			}
			if cursor := s.in.Stored.Cursor; cursor.After(s.in.Now) {
				rt.Fatalf("the cursor is at %v:\n%s", cursor, transcript)
			}
			passed := s.in.Policy.Timing.Times.Count(first, *s.in.Stored.Cursor) + s.in.Policy.Timing.Excluded.Count(first, *s.in.Stored.Cursor)
			if waiting := len(s.plan.Carried.Waiting); counted+waiting != passed {
				rt.Fatalf("at %v %d times have passed, %d have an outcome and %d wait:\n%s", s.in.Now, passed, counted, waiting, transcript)
			}
			forEver := s.in.Stored.Pause().Cause != "" && s.in.Stored.Pause().Until == nil
			if at := s.plan.Wake; !at.After(s.in.Now) && (!at.IsZero() || !forEver) {
				rt.Fatalf("wakes at %v", at)
			}
			for name, c := range s.live {
				if _, was := before[name]; !was && c.Attempt <= 1 && (s.in.Stored.Pause().Cause != "" || s.in.ChildObstacle != nil) {
					rt.Fatalf("%s starts although it is paused, or something is wrong:\n%s", clock(name), transcript)
				}
			}
			s.catchUp(s.in.Now.Add(time.Duration(rapid.SampledFrom([]int{1, 60, 240, 600, 1300, 5000}).Draw(rt, "later")) * time.Second).Format(time.RFC3339Nano))
			for _, name := range slices.Sorted(maps.Keys(s.live)) {
				c := s.live[name]
				switch rapid.IntRange(0, 4).Draw(rt, "what becomes of "+name) {
				case 0:
					ends(name, complete)(s)
				case 1:
					if c.Phase == cron.Unfinished {
						ends(name, failed)(s)
					}
				case 2:
					if c.Phase != cron.Unfinished {
						delete(s.live, name)
					}
				}
			}
			s.catchUp(s.in.Now.Format(time.RFC3339Nano))
			s.in.Policy.Suspend = rapid.IntRange(0, 3).Draw(rt, "suspended") == 0
			s.in.Policy.SuspendUntil = nil
			if !s.in.Policy.Suspend && rapid.IntRange(0, 4).Draw(rt, "suspended until a time") == 0 {
				s.in.Policy.SuspendUntil = new(s.in.Now.Add(time.Duration(rapid.IntRange(-1000, 3000).Draw(rt, "until")) * time.Second))
			}
			s.in.ChildObstacle = nil
			if rapid.IntRange(0, 5).Draw(rt, "something is wrong") == 0 {
				s.in.ChildObstacle = &cron.Obstacle{Check: cron.CheckChildKind}
			}
			s.failCreate = rapid.SampledFrom([]error{nil, nil, nil, quota}).Draw(rt, "creates")
			if rapid.IntRange(0, 5).Draw(rt, "crash") == 0 {
				crashed(s)
			}
		}
	})
}

// The ledger has an entry for each run that has ended, and one for all times that passed one after the other without a
// run and for one reason; it is cut where the policy says.
func TestLedger(t *testing.T) {
	s := fixture("G", "12:15", limit(1), cursor("11:00"), func(s *scene) { s.in.Policy.Ledger = 3 })
	for _, p := range []generalSync{
		{want: "start @12:10\n11:10…12:00 (6) missed/outage"},
		{now: "13:05", given: []given{ends(tick("12:10"), failed, finished("12:40"))}, want: "start @13:00\n12:10 failed/run_failed\n12:20…12:50 (4) missed/outage"},
		{now: "13:35", given: []given{ends(tick("13:00"), complete)}, want: "start @13:30\n13:00 succeeded\n13:10…13:20 (2) missed/outage"},
		{now: "14:05", given: []given{suspended}, want: "13:40…14:00 (3) skipped/suspended"},
		{now: "14:10", given: []given{resumed, queue(1, 0)}, want: "14:10 skipped/queue_full"},
	} {
		if p.now != "" {
			s.catchUp(p.now, p.given...)
		}
		if diff := cmp.Diff(lines(p.want), s.playGeneral(t)); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", p.now, diff)
		}
	}
	var got []string
	for _, e := range s.in.Stored.Results.Ledger {
		got = append(got, fmt.Sprintf("%s %s %d", e.First.Format("15:04"), e.Result, e.Count))
	}
	if diff := cmp.Diff([]string{"14:10 skipped 1", "13:40 skipped 3", "13:10 missed 2"}, got); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if want := (cron.Counts{Started: 3, Succeeded: 1, Failed: 1, Skipped: 4, Missed: 12}); s.in.Stored.Results.Counts != want {
		t.Errorf("counted %+v, want %+v", s.in.Stored.Results.Counts, want)
	}
}
