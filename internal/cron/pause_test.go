// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cron"
)

// playSyncs plays syncs of a general kind one after the other, and looks at the wake-up of each.
func playSyncs(t *testing.T, given []given, syncs []generalSync) *scene {
	t.Helper()
	s := fixture("G", syncs[0].now, given...)
	for i, p := range syncs {
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
	return s
}

// No scheduled time starts in a pause. Those that pass then are skipped, or made up for at its end.
func TestPause(t *testing.T) {
	suspend := generalSync{now: "12:05", given: []given{suspended}}
	three := []generalSync{{now: "12:10", want: "start @12:10"},
		{now: "12:20", given: []given{fails(tick("12:10"), "12:11")}, want: "start @12:20\n12:10 failed/run_failed"},
		{now: "12:30", given: []given{fails(tick("12:20"), "12:21")}, want: "start @12:30\n12:20 failed/run_failed"}}
	paused := append(three[:3:3], generalSync{now: "12:35", given: []given{fails(tick("12:30"), "12:35")}, want: "12:30 failed/run_failed"})
	begin := generalSync{now: "12:04"}
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
		wake  string // after the last sync; "" is none
		cause cron.PauseCause
	}{
		"TT-084 suspended": {syncs: []generalSync{begin, suspend}, cause: cron.PauseSuspended},
		"TT-085 resumed": {syncs: []generalSync{begin, suspend,
			{now: "13:05", given: []given{resumed}, want: "12:10…13:00 (6) skipped/suspended"}}, wake: "13:10"},
		"TT-086 resumed, to catch up": {given: []given{catchUpOnResume}, syncs: []generalSync{begin, suspend, {now: "12:45"},
			{now: "13:05", given: []given{resumed}, want: "start @13:00\n12:10…12:50 (5) skipped/suspended"}}, wake: "13:10"},
		"TT-087 all": {given: []given{catchUpOnResume, catchUp(cron.CatchUpAll, 3)}, syncs: []generalSync{begin, suspend,
			{now: "13:05", given: []given{resumed}, want: `start @12:40
				12:10…12:30 (3) skipped/suspended
				12:50 waits CatchUp/forbidden
				13:00 waits CatchUp/forbidden`}}, wake: "13:10"},
		"TT-088 with a deadline": {given: []given{catchUpOnResume, deadline(600)}, syncs: []generalSync{begin, suspend,
			{now: "13:05", given: []given{resumed}, want: "start @13:00\n12:10…12:50 (5) skipped/suspended"}}, wake: "13:10"},
		"TT-089 suspended while a time waits": {given: []given{active("12:10"), cursor("12:10")}, syncs: []generalSync{
			{now: "12:20", want: "12:20 waits Schedule/forbidden"},
			{now: "12:21", given: []given{suspended}, want: "12:20 skipped/suspended"}}, cause: cron.PauseSuspended},
		"TT-089 the same, to catch up": {given: []given{catchUpOnResume, active("12:10"), cursor("12:10")}, syncs: []generalSync{
			{now: "12:20", want: "12:20 waits Schedule/forbidden"},
			{now: "12:21", given: []given{suspended}, want: "12:20 waits Schedule/suspended"},
			{now: "12:25", given: []given{resumed}, want: "12:20 waits Schedule/forbidden"}}, wake: "12:30"},
		"TT-089 its deadline passes meanwhile": {given: []given{catchUpOnResume, deadline(120), active("12:10"), cursor("12:10")}, syncs: []generalSync{
			{now: "12:20", want: "12:20 waits Schedule/forbidden"},
			{now: "12:21", given: []given{suspended}, want: "12:20 waits Schedule/suspended"},
			{now: "12:25", given: []given{resumed}, want: "12:20 skipped/suspended"}}, wake: "12:30"},
		"TT-091 suspended until a time": {syncs: []generalSync{{now: "12:05", given: nil}, {now: "12:06", given: []given{suspendedUntil("12:30")}},
			{now: "12:20:10", want: "12:10…12:20 (2) skipped/suspended"}, {now: "12:30", want: "start @12:30"}}, wake: "12:40"},
		"TT-091 it wakes then": {syncs: []generalSync{begin, {now: "12:05", given: []given{suspendedUntil("12:30")}}}, wake: "12:30", cause: cron.PauseSuspendedUntil},
		"TT-091 nobody looked when it ended": {syncs: []generalSync{begin, {now: "12:05", given: []given{suspendedUntil("12:30")}},
			{now: "12:45", want: "start @12:40\n12:10…12:20 (2) skipped/suspended\n12:30 missed/outage"}}, wake: "12:50"},
		"TT-227 until an earlier time": {syncs: []generalSync{begin, {now: "12:05", given: []given{suspendedUntil("14:00")}},
			{now: "12:35", given: []given{suspendedUntil("12:25")}, want: "12:10…12:30 (3) skipped/suspended"}}, wake: "12:40"},
		"TT-092 nobody saw it": {syncs: []generalSync{begin, {now: "13:05", want: "start @13:00\n12:10…12:50 (5) missed/outage"}}, wake: "13:10"},
		"TT-094 three failures, not in a row": {given: []given{pauseAfter(3)}, syncs: append(three[:2:2],
			generalSync{now: "12:30", given: []given{ends(tick("12:20"), complete)}, want: "start @12:30\n12:20 succeeded"},
			generalSync{now: "12:40", given: []given{fails(tick("12:30"), "12:31")}, want: "start @12:40\n12:30 failed/run_failed"},
			generalSync{now: "12:50", given: []given{fails(tick("12:40"), "12:41")}, want: "start @12:50\n12:40 failed/run_failed"}), wake: "13:00"},
		"TT-095 three failures in a row": {given: []given{pauseAfter(3)}, syncs: append(paused[:4:4],
			generalSync{now: "12:55", want: "12:40…12:50 (2) skipped/paused"}), cause: cron.PauseFailures},
		"TT-097 an edit ends it": {given: []given{pauseAfter(3)}, syncs: append(paused[:4:4],
			generalSync{now: "12:55", given: []given{edited()}, want: "12:40…12:50 (2) skipped/paused"}), wake: "13:00"},
		"TT-098 a token ends it": {given: []given{pauseAfter(3), resumeToken("a")}, syncs: append(paused[:4:4],
			generalSync{now: "12:55", given: []given{resumeToken("b")}, want: "12:40…12:50 (2) skipped/paused"}), wake: "13:00"},
		"TT-098 one from before does not": {given: []given{pauseAfter(3), resumeToken("a")}, syncs: append(paused[:4:4],
			generalSync{now: "12:55", given: []given{resumeToken("a")}, want: "12:40…12:50 (2) skipped/paused"}), cause: cron.PauseFailures},
		"TT-098 a run that succeeds ends it": {given: []given{pauseAfter(1), limit(2)}, syncs: []generalSync{three[0], {now: "12:20", want: "start @12:20"},
			{now: "12:25", given: []given{fails(tick("12:10"), "12:25")}, want: "12:10 failed/run_failed"},
			{now: "12:35", given: []given{ends(tick("12:20"), complete)}, want: "12:20 succeeded\n12:30 skipped/paused"}}, wake: "12:40"},
		"5.7 without pauseAfterFailures it ends": {given: []given{pauseAfter(3)}, syncs: append(paused[:4:4],
			generalSync{now: "12:55", given: []given{edited(pauseAfter(0))}, want: "12:40…12:50 (2) skipped/paused"}), wake: "13:00"},
		"TT-234 paused again after three more": {given: []given{pauseAfter(3), resumeToken("a")}, syncs: append(paused[:4:4],
			generalSync{now: "12:40", given: []given{resumeToken("b")}, want: "start @12:40"},
			generalSync{now: "12:50", given: []given{fails(tick("12:40"), "12:41")}, want: "start @12:50\n12:40 failed/run_failed"},
			generalSync{now: "13:00", given: []given{fails(tick("12:50"), "12:51")}, want: "start @13:00\n12:50 failed/run_failed"},
			generalSync{now: "13:05", given: []given{fails(tick("13:00"), "13:01")}, want: "13:00 failed/run_failed"}), cause: cron.PauseFailures},
		"TT-100 an attempt that fails is no failure": {given: []given{pauseAfter(1), retry(2)}, syncs: []generalSync{three[0],
			{now: "12:11:10", given: []given{fails(tick("12:10"), "12:11")}, want: "start @12:10-r2"},
			{now: "12:12:20", given: []given{fails(attempt("12:10", "2"), "12:12")}, want: "start @12:10-r3"},
			{now: "12:13", given: []given{ends(attempt("12:10", "3"), complete)}, want: "12:10 succeeded"}}, wake: "12:20"},
		"TT-049 what is caught up fails": {given: []given{pauseAfter(2), cursor("12:00"), catchUp(cron.CatchUpAll, 10)}, syncs: []generalSync{
			{now: "12:45", want: "start @12:10\n12:20 waits CatchUp/forbidden\n12:30 waits CatchUp/forbidden\n12:40 waits CatchUp/forbidden"},
			{now: "12:46", given: []given{fails(tick("12:10"), "12:46")}, want: "start @12:20\n12:10 failed/run_failed\n12:30 waits CatchUp/forbidden\n12:40 waits CatchUp/forbidden"},
			{now: "12:47", given: []given{fails(tick("12:20"), "12:47")}, want: "12:20 failed/run_failed\n12:30 skipped/paused\n12:40 skipped/paused"}}, cause: cron.PauseFailures},
		"a child that an earlier sync started counts as started": {given: []given{catchUpOnResume, limit(5), cursor("12:00"), suspended, has("12:20")}, syncs: []generalSync{
			{now: "12:35", want: "12:10 skipped/suspended"}, {now: "12:45", given: []given{resumed}, want: "start @12:40\n12:30 skipped/suspended"}}, wake: "12:50"},
	} {
		t.Run(name, func(t *testing.T) {
			s := playSyncs(t, append([]given{limit(1), limits(9, 9)}, c.given...), c.syncs)
			if got := s.plan.Wake; (c.wake != "" || !got.IsZero()) && (c.wake == "" || !got.Equal(at(c.wake))) {
				t.Errorf("wakes at %v, want %q", got, c.wake)
			}
			if got := s.in.Stored.Pause().Cause; got != c.cause {
				t.Errorf("paused by %q, want %q", got, c.cause)
			}
		})
	}
}

// What is wrong with an object makes scheduled times wait until it is mended; what keeps children from being made makes
// attempts of runs wait, too.
func TestNotReady(t *testing.T) {
	wrong := &cron.Obstacle{Check: cron.CheckChildKind}
	begin := generalSync{now: "12:04"}
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
	}{
		"TT-052 the schedule cannot be read for an hour": {syncs: []generalSync{{now: "12:04"}, {now: "12:05", given: []given{unreadable}},
			{now: "13:05", given: []given{readable}, want: "start @13:00\n12:10…12:50 (5) missed/not_ready"}}},
		"TT-052 and each time that is known comes while it cannot": {syncs: []generalSync{begin, {now: "12:05", given: []given{unreadable}},
			{now: "12:10", want: "12:10 waits Schedule/not_ready"}, {now: "12:20", want: "12:10 missed/not_ready\n12:20 waits Schedule/not_ready"},
			{now: "12:25", given: []given{readable}, want: "start @12:20"}}},
		"TT-236 mended within seconds": {given: []given{deadline(3600)}, syncs: []generalSync{begin, {now: "12:05", given: []given{unreadable}},
			{now: "12:10", want: "12:10 waits Schedule/not_ready"}, {now: "12:10:05", given: []given{readable}, want: "start @12:10"}}},
		"4.1 a deadline passes meanwhile": {given: []given{deadline(60)}, syncs: []generalSync{begin, {now: "12:05", given: []given{unreadable}},
			{now: "12:10", want: "12:10 waits Schedule/not_ready"}, {now: "12:11", want: "12:10 missed/deadline"}}},
		"4.1 a queue keeps the oldest": {given: []given{queue(1, 2)}, syncs: []generalSync{begin, {now: "12:05", given: []given{childObstacle(wrong)}},
			{now: "12:35", want: "12:30 missed/not_ready\n12:10 waits CatchUp/not_ready\n12:20 waits CatchUp/not_ready"},
			{now: "12:36", given: []given{childObstacle(nil)}, want: "start @12:10\n12:20 waits CatchUp/forbidden"}}},
		"4.1 one waits although nothing waits for room": {given: []given{limit(100)}, syncs: []generalSync{begin, {now: "12:05", given: []given{childObstacle(wrong)}},
			{now: "12:35", want: "12:10…12:20 (2) missed/not_ready\n12:30 waits CatchUp/not_ready"},
			{now: "12:36", given: []given{childObstacle(nil)}, want: "start @12:30"}}},
		"TT-254 an attempt waits for the mend": {given: []given{retry(1)}, syncs: []generalSync{{now: "12:10", want: "start @12:10"},
			{now: "12:11:10", given: []given{fails(tick("12:10"), "12:11"), childObstacle(wrong)}},
			{now: "12:15", given: []given{childObstacle(nil)}, want: "start @12:10-r2"}}},
		"4.1 an attempt does not wait for the schedule": {given: []given{retry(1)}, syncs: []generalSync{{now: "12:10", want: "start @12:10"},
			{now: "12:11:10", given: []given{fails(tick("12:10"), "12:11"), unreadable}, want: "start @12:10-r2"}}},
		"TT-208 a template that was rejected is tried all the same": {given: []given{childObstacle(&cron.Obstacle{})}, syncs: []generalSync{
			{now: "12:10", want: "start @12:10"}}},
		"5.2 a pause comes first": {syncs: []generalSync{begin, {now: "12:05", given: []given{suspended, childObstacle(wrong)}},
			{now: "12:15", want: "12:10 skipped/suspended"}, {now: "12:25", given: []given{resumed}, want: "12:20 skipped/suspended"},
			{now: "12:30", want: "12:30 waits Schedule/not_ready"}}},
	} {
		t.Run(name, func(t *testing.T) { playSyncs(t, append([]given{limit(1)}, c.given...), c.syncs) })
	}
}

// An edit of the timing starts nothing that the timing before did not name too.
func TestGeneralEdits(t *testing.T) {
	first := generalSync{now: "12:10", want: "start @12:10"}
	done := ends(tick("12:10"), complete)
	waiting := []generalSync{first, {now: "12:20", want: "12:20 waits Schedule/forbidden"},
		{now: "12:30", want: "12:20 waits Schedule/forbidden\n12:30 waits Schedule/forbidden"}}
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
	}{
		"TT-102 a minute later": {given: []given{schedule("33 16 * * *")}, syncs: []generalSync{{now: "16:33", want: "start @16:33"},
			{now: "16:34:08", given: []given{ends(tick("16:33"), complete), edited(schedule("34 16 * * *"))}, want: "16:33 succeeded\n16:34 skipped/edited"}}},
		"TT-104 edited while nobody looked": {syncs: []generalSync{first, {now: "12:12", given: []given{done}, want: "12:10 succeeded"},
			{now: "12:35", given: []given{crashed, edited(schedule("*/5 * * * *"))}, want: "start @12:30\n12:15…12:35 (3) skipped/edited\n12:20 missed/outage"}}},
		"TT-104 to other times": {syncs: []generalSync{first, {now: "12:12", given: []given{done}, want: "12:10 succeeded"},
			{now: "12:35", given: []given{crashed, edited(schedule("5-59/10 * * * *"))}, want: "12:15…12:35 (5) skipped/edited"}}},
		"TT-106 what waits is still named": {given: []given{queue(1, 10)}, syncs: append(waiting[:3:3], generalSync{now: "12:31",
			given: []given{edited(schedule("0,10,20,30,31,40,50 * * * *"))}, want: "12:31 skipped/edited\n12:20 waits Schedule/forbidden\n12:30 waits Schedule/forbidden"})},
		"TT-107 today is excluded": {given: []given{queue(1, 10)}, syncs: append(waiting[:3:3], generalSync{now: "12:31",
			given: []given{edited(excluded("2026-05-04"))}, want: "12:20…12:30 (2) skipped/edited"})},
		"TT-108 today is excluded no more": {given: []given{excluded("2026-05-04")}, syncs: []generalSync{{now: "12:04"},
			{now: "12:25", given: []given{edited(excluded(""))}, want: "12:10…12:20 (2) skipped/edited"}, {now: "12:30", want: "start @12:30"}}},
		"TT-109 today is excluded, and a run goes on": {syncs: []generalSync{first, {now: "12:15", given: []given{edited(excluded("2026-05-04"))}},
			{now: "12:45", given: []given{done}, want: "12:10 succeeded\n12:20…12:40 (3) skipped/excluded"}}},
		"TT-117 excluded times": {given: []given{excluded("2026-05-04")}, syncs: []generalSync{{now: "12:04"}, {now: "12:35", want: "12:10…12:30 (3) skipped/excluded"},
			{now: "12:45", want: "12:40 skipped/excluded"}}},
		"the write of the edit fails, and the process": {syncs: []generalSync{{now: "12:04"},
			{now: "12:12", given: []given{recordFails(broken), edited(schedule("*/4 * * * *"))}, want: "fail\n12:04…12:12 (4) skipped/edited"},
			{now: "12:13", given: []given{recordFails(nil), crashed}, want: "12:04…12:12 (4) skipped/edited"}, {now: "12:16", want: "start @12:16"}}},
	} {
		t.Run(name, func(t *testing.T) { playSyncs(t, append([]given{limit(1)}, c.given...), c.syncs) })
	}
}

// A scheduled time starts at its planned start, and is decided no earlier.
func TestPlannedStart(t *testing.T) {
	begin := generalSync{now: "12:04"}
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
	}{
		"TT-027 forty seconds later": {given: []given{jitter(5 * time.Minute)}, syncs: []generalSync{begin, {now: "12:10"}, {now: "12:10:39"},
			{now: "12:10:40", want: "start @12:10"}, {now: "12:20:40", want: "12:20 waits Schedule/forbidden"}}},
		"TT-029 before the next one":           {given: []given{jitter(time.Hour)}, syncs: []generalSync{begin, {now: "12:19:58"}, {now: "12:19:59", want: "start @12:10"}}},
		"TT-030 the deadline counts from then": {given: []given{jitter(5 * time.Minute), deadline(30)}, syncs: []generalSync{begin, {now: "12:10:40", want: "start @12:10"}}},
		"TT-031 too late":                      {given: []given{jitter(5 * time.Minute), deadline(30)}, syncs: []generalSync{begin, {now: "12:11:10", want: "12:10 missed/deadline"}}},
		"TT-032 just in time":                  {given: []given{jitter(5 * time.Minute), deadline(30)}, syncs: []generalSync{begin, {now: "2026-05-04T12:11:09.9Z", want: "start @12:10"}}},
		"TT-034 the jitter is removed": {given: []given{jitter(5 * time.Minute)}, syncs: []generalSync{begin, {now: "12:10"},
			{now: "12:10:20", given: []given{edited(jitter(0))}, want: "start @12:10"}}},
		"TT-035 TT-238 an edit, and it is still named": {given: []given{jitter(5 * time.Minute)}, syncs: []generalSync{begin, {now: "12:10:10"},
			{now: "12:10:20", given: []given{edited(schedule("*/10 12 * * *"))}}, {now: "12:10:40", want: "start @12:10"}}},
		"TT-036 an edit, and it is named no more": {given: []given{jitter(5 * time.Minute), made("12:03:20")}, syncs: []generalSync{{now: "12:04"},
			{now: "12:10:20", given: []given{edited(schedule("5 * * * *"))}, want: "12:05…12:10 (2) skipped/edited"}, {now: "12:10:40"}}},
		"TT-041 punctual counts from then": {given: []given{jitter(5 * time.Minute), catchUp(cron.CatchUpNone, 0)}, syncs: []generalSync{begin,
			{now: "13:01:40", want: "start @13:00\n12:10…12:50 (5) missed/outage"}}},
		"the last one is yet to come": {given: []given{jitter(5 * time.Minute)}, syncs: []generalSync{begin,
			{now: "12:30:20", want: "start @12:20\n12:10 missed/outage"}, {now: "12:30:40", want: "12:30 waits Schedule/forbidden"}}},
		"TT-091 it passes at its planned start": {given: []given{jitter(5 * time.Minute)}, syncs: []generalSync{begin, {now: "12:05", given: []given{suspendedUntil("12:30:20")}},
			{now: "12:30:20", want: "12:10…12:20 (2) skipped/suspended"}, {now: "12:30:40", want: "start @12:30"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := playSyncs(t, append([]given{limit(1)}, c.given...), c.syncs)
			if s.plan.Wake.IsZero() {
				t.Error("it does not wake")
			}
		})
	}
}

// A clock that was set back starts nothing again; what was decided more than a day ahead of it is not believed.
func TestClockWentBack(t *testing.T) {
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
		wake  string
	}{
		"TT-193 an hour": {given: []given{cursor("12:30")}, syncs: []generalSync{{now: "11:35"}}, wake: "12:40"},
		"TT-194 three days": {given: []given{func(s *scene) { s.in.Stored.Cursor = new(at("2026-05-07T12:30:00Z")) }}, syncs: []generalSync{
			{now: "12:35"}, {now: "12:40", want: "start @12:40"}}, wake: "12:50"},
	} {
		t.Run(name, func(t *testing.T) {
			s := playSyncs(t, append([]given{limit(1)}, c.given...), c.syncs)
			if !s.plan.Wake.Equal(at(c.wake)) {
				t.Errorf("wakes at %v, want %s", s.plan.Wake, c.wake)
			}
		})
	}
}

// A pause after failures, the end of a pause, and a clock that is far behind are told once.
func TestGateEvents(t *testing.T) {
	reason := func(word string) cron.EventReason { return cron.EventReason{Type: "Normal", Reason: word} }
	told := *general
	told.Events = cron.EventReasons{PausedAfterFailures: reason("Paused"), Resumed: reason("Resumed"), ClockWentBack: reason("ClockWentBack")}
	telling := func(s *scene) { s.in.Traits = &told }
	for name, c := range map[string]struct {
		given []given
		syncs []generalSync
		want  []string // what each sync tells
	}{
		"TT-095 TT-098 paused and resumed": {given: []given{pauseAfter(1)}, want: []string{"", "Paused", "", "Resumed", ""}, syncs: []generalSync{{now: "12:10"},
			{now: "12:15", given: []given{fails(tick("12:10"), "12:11")}}, {now: "12:25"}, {now: "12:26", given: []given{resumeToken("a")}}, {now: "12:27"}}},
		"TT-085 suspended and resumed": {want: []string{"", "", "Resumed", ""}, syncs: []generalSync{{now: "12:04"}, {now: "12:05", given: []given{suspended}},
			{now: "12:15", given: []given{resumed}}, {now: "12:16"}}},
		"TT-194 a clock that is days behind": {given: []given{func(s *scene) { s.in.Stored.Cursor = new(at("2026-05-07T12:30:00Z")) }},
			want: []string{"ClockWentBack", ""}, syncs: []generalSync{{now: "12:35"}, {now: "12:36"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fixture("G", c.syncs[0].now, append([]given{limit(1), limits(9, 9)}, c.given...)...)
			telling(s)
			for i, p := range c.syncs {
				if i > 0 {
					s.catchUp(p.now, p.given...)
				}
				s.playGeneral(t)
				got := ""
				for _, e := range s.events {
					got += e.Reason
				}
				if got != c.want[i] {
					t.Errorf("sync %d at %s tells %q, want %q", i+1, p.now, got, c.want[i])
				}
			}
		})
	}
}
