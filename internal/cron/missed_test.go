// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// restarted is another process.
func restarted(s *scene) { s.in.Carried = cron.Memory{} }

func quotaFull(s *scene)   { s.failCreate = quota }
func quotaRaised(s *scene) { s.failCreate = nil }

// Every scheduled time that should have started and did not is told once, with the reason, by the process that learns
// of it or by the next one; what was missed for one reason in one event (CJ-170 to CJ-176).
func TestMissSchedule(t *testing.T) {
	type moment struct {
		now   string
		given []given
		want  string // of the event, "" for none
	}
	for name, c := range map[string]struct {
		kinds   string
		given   []given
		moments []moment
	}{
		"CJ-170 an outage": {kinds: "KVT", given: []given{last("12:00")}, moments: []moment{
			{now: "12:34", want: "2 scheduled times from 2026-05-04T12:10:00Z to 2026-05-04T12:20:00Z were not started, reason outage: "},
			{now: "12:35"}, {now: "12:36", given: []given{restarted}}, {now: "12:40"},
		}},
		"CJ-170 an outage of one": {kinds: "KVT", given: []given{last("12:00")}, moments: []moment{
			{now: "12:24", want: "The scheduled time 2026-05-04T12:10:00Z was not started, reason outage: "},
		}},
		"CJ-171 the deadline": {kinds: "KVT", given: []given{last("12:10"), deadline(60)}, moments: []moment{
			{now: "12:34", want: "2 scheduled times from 2026-05-04T12:20:00Z to 2026-05-04T12:30:00Z were not started, reason deadline: "},
			{now: "12:35"}, {now: "12:36", given: []given{restarted}}, {now: "12:37", given: []given{restarted, deadline(59)}}, {now: "12:40"},
		}},
		"CJ-171 partly the deadline, in one event": {kinds: "KVT", given: []given{last("11:30"), deadline(900)}, moments: []moment{
			{now: "12:34", want: "5 scheduled times from 2026-05-04T11:40:00Z to 2026-05-04T12:20:00Z were not started, reason deadline for 4: "},
			{now: "12:35"},
		}},
		"CJ-171 a deadline that is always too short: the first at once, then collected": {kinds: "KV", given: []given{deadline(0)}, moments: []moment{
			{now: "12:10", want: "The scheduled time 2026-05-04T12:10:00Z was not started, reason deadline: "}, {now: "12:20"}, {now: "12:30"},
			{now: "12:40", want: "3 scheduled times from 2026-05-04T12:20:00Z to 2026-05-04T12:40:00Z were not started, reason deadline: "},
			{now: "12:50"},
			{now: "12:55", given: []given{restarted}, want: "The scheduled time 2026-05-04T12:50:00Z was not started, reason deadline: "},
		}},
		"CJ-172 failed starts: the first at once, the rest when something starts": {kinds: "KVT", given: []given{quotaFull}, moments: []moment{
			{now: "12:10"}, {now: "12:15"},
			{now: "12:20", want: "The scheduled time 2026-05-04T12:10:00Z was not started, reason failed: "}, {now: "12:30"}, {now: "12:40"},
			{now: "12:41", given: []given{quotaRaised}, want: "2 scheduled times from 2026-05-04T12:20:00Z to 2026-05-04T12:30:00Z were not started, reason failed: "},
			{now: "12:42", given: []given{restarted}}, {now: "12:50"},
		}},
		"CJ-172 failed starts, and a restart before all was told": {kinds: "KVT", given: []given{quotaFull}, moments: []moment{
			{now: "12:10"}, {now: "12:20", want: "The scheduled time 2026-05-04T12:10:00Z was not started, reason failed: "}, {now: "12:30"},
			{now: "12:31", given: []given{restarted}, want: "The scheduled time 2026-05-04T12:20:00Z was not started, reason outage: "}, {now: "12:32"},
		}},
		"CJ-173 the name of its Job is taken": {kinds: "KV", given: []given{onServer("12:10", ownedBy(nil))}, moments: []moment{
			{now: "12:10"}, {now: "12:20", want: "The scheduled time 2026-05-04T12:10:00Z was not started, reason foreign: "}, {now: "12:21"},
		}},
		"CJ-174 too many": {kinds: "T", given: []given{schedule("* * * * *"), made("12:00")}, moments: []moment{
			{now: "13:41", want: "100 scheduled times from 2026-05-04T12:01:00Z to 2026-05-04T13:40:00Z were not started, reason too_many: "},
			{now: "13:42"}, {now: "14:11", want: "30 scheduled times from 2026-05-04T13:41:00Z to 2026-05-04T14:10:00Z were not started, reason too_many: "},
			{now: "14:11:30", given: []given{restarted}},
		}},
		"CJ-175 an edit that cannot be dated": {kinds: "KVT", given: []given{last("12:00"), noted(`{"schedules":["5 * * * *"]}`), generation(2)}, moments: []moment{
			{now: "12:24", want: "3 scheduled times from 2026-05-04T12:05:00Z to 2026-05-04T12:20:00Z were not started, reason edit: "},
			{now: "12:25"}, {now: "12:26", given: []given{restarted}}, {now: "12:30"},
		}},
		"CJ-176 a process died between its start and its record": {kinds: "KVT", given: []given{last("12:00"), has("12:30", complete)}, moments: []moment{
			{now: "12:34", want: "2 scheduled times from 2026-05-04T12:10:00Z to 2026-05-04T12:20:00Z were not started, reason outage: "}, {now: "12:35"},
		}},
		"CJ-176 runs that nobody could record were not missed": {kinds: "KVT",
			given: []given{last("12:00"), has("12:10", complete), has("12:20", complete), has("12:30", complete)}, moments: []moment{{now: "12:34"}, {now: "12:40"}}},
		"what Forbid holds up was not missed": {kinds: "KVT", given: []given{forbid, last("12:10"), active("12:10")}, moments: []moment{
			{now: "12:20"}, {now: "12:30"}, {now: "12:31", given: []given{restarted}}, {now: "12:40"},
		}},
		"what passed while it was suspended was not missed": {kinds: "KVT", given: []given{suspended, last("12:00")}, moments: []moment{
			{now: "12:10"}, {now: "12:34", given: []given{func(s *scene) { s.in.Policy.Suspend = false }}},
		}},
		"what is deleted misses nothing": {kinds: "KVT", given: []given{deleting, last("12:00"), deadline(10)}, moments: []moment{{now: "12:34"}}},
	} {
		for _, kind := range c.kinds {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				s := fixture(string(kind), c.moments[0].now, c.given...)
				for i, m := range c.moments {
					if i > 0 {
						s.catchUp(m.now, m.given...)
						for j := range s.in.Children {
							if s.in.Policy.Room != adapter.Room("Forbid") {
								s.in.Children[j].Phase = cron.Complete
							}
						}
					}
					transcript := s.play(t)
					got := ""
					for _, n := range s.events {
						if n.Reason == "MissSchedule" {
							got += n.Message
						}
					}
					if m.want == "" && got != "" || m.want != "" && !strings.HasPrefix(got, m.want) {
						t.Errorf("at %s:\n%q, want\n%q; the sync:\n%s", m.now, got, m.want, transcript)
					}
				}
			})
		}
	}
}

// What was told is recorded, with a write only if no other one tells as much.
func TestMissIsRecordedOnce(t *testing.T) {
	for _, kind := range []string{"K", "V", "T"} {
		s := fixture(kind, "12:34:00", last("12:10"), deadline(60))
		for i, want := range []string{`
			record timetable {"schedules":["*/10 * * * *"],"missed":"2026-05-04T12:30:00Z"}
			say Warning MissSchedule
			rq 6m0s`, `rq 5m0s`} {
			s.catchUp(fmt.Sprintf("12:3%d:00", 4+i))
			if got := s.play(t); got != lines(want) {
				t.Errorf("%s, sync %d:\n%s\nwant:\n%s", kind, i+1, got, lines(want))
			}
		}
	}
}

// A record that fails is repeated, and what it was to record is not told again by this process.
func TestMissWhoseRecordFails(t *testing.T) {
	s := fixture("K", "12:34:00", last("12:10"), deadline(60), recordFails(broken))
	for i, want := range []string{`
		record timetable {"schedules":["*/10 * * * *"],"missed":"2026-05-04T12:30:00Z"}
		say Warning MissSchedule
		fail
		rq 6m0s`, `
		record timetable {"schedules":["*/10 * * * *"],"missed":"2026-05-04T12:30:00Z"}
		rq 5m0s`, `rq 4m0s`} {
		s.catchUp(fmt.Sprintf("12:3%d:00", 4+i))
		if i > 0 {
			s.failRecord = nil
		}
		if got := s.play(t); got != lines(want) {
			t.Errorf("sync %d:\n%s\nwant:\n%s", i+1, got, lines(want))
		}
	}
}
