// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cron"
)

// scenario is one line of cronjob.md section 7. Its key is the id, the kinds that it holds for, and a sentence. Where
// a decision of section 6.5 overrides the line, the sentence says so.
//
// Times until the wake-up are 0.1 s shorter than in the contract's text: we wake at the scheduled time (B5).
type scenario struct {
	given []given
	now   string
	want  string
}

func run(t *testing.T, table map[string]scenario) {
	t.Helper()
	for key, c := range table {
		words := strings.SplitN(key, " ", 3)
		for _, kind := range strings.Split(words[1], ",") {
			t.Run(words[0]+" "+kind+" "+words[2], func(t *testing.T) {
				got := fixture(kind, c.now, c.given...).play(t)
				if diff := cmp.Diff(lines(c.want), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A CronJob starts one child for the scheduled time that is due, and sleeps until the next.
func TestStartAndWake(t *testing.T) {
	run(t, map[string]scenario{
		"CJ-001 K,V nothing is due yet": {
			now:  "12:07:00",
			want: `rq 3m0s`,
		},
		"CJ-002 K,V the due time is started and recorded": {
			now: "12:10:00.1",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-003 K,V a time is due at that very instant": {
			now: "12:10:00",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				rq 10m0s`,
		},
		"CJ-004 K,V a started time is not started again": {
			given: []given{last("12:10"), active("12:10")},
			now:   "12:10:30",
			want:  `rq 9m30s`,
		},
		"CJ-005 K,V after an outage only the latest time is made up": {
			given: []given{last("12:10")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"CJ-006 K,V after a long outage too, with a warning": {
			given: []given{last("2026-05-03T00:00:00Z")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Warning MissSchedule
				say Warning TooManyMissedTimes
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"CJ-007 K,V the instant of creation is not due": {
			given: []given{made("12:10")},
			now:   "12:10:00",
			want:  `rq 10m0s`,
		},
		"CJ-008 K,V a last time in the future is waited for": {
			given: []given{last("12:40")},
			now:   "12:34:00",
			want:  `rq 16m0s`,
		},
		"CJ-009 K the stamp is in the time zone of the spec": {
			given: []given{zone("Europe/Rome")},
			now:   "12:10:00.1",
			want: `
				start tick-29631610 for 2026-05-04T14:10:00+02:00
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-010 K,V without one it is in UTC, whatever the process thinks": {
			given: []given{processZone("America/New_York")},
			now:   "12:10:00",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				rq 10m0s`,
		},
		"CJ-013 V name and stamp of a zoned schedule": {
			given: []given{zone("Asia/Shanghai"), schedule("30 18 * * *"), made("2025-01-14T00:00:00Z")},
			now:   "2025-01-15T10:30:00.1Z",
			want: `
				start tick-28948950 for 2025-01-15T18:30:00+08:00
				record active [tick-28948950], last scheduled 2025-01-15T10:30:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 23h59m59.9s`,
		},
	})
}

// A deadline bounds how late a start may be; a schedule or zone that cannot be used starts nothing and says so.
func TestDeadlineAndScheduleErrors(t *testing.T) {
	start := func(rq string) string {
		return `
			start tick-29631610 for 2026-05-04T12:10:00Z
			record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
			say Normal SuccessfulCreate
			rq ` + rq
	}
	missed := func(rq string) string {
		return `
			record timetable {"schedules":["*/10 * * * *"],"missed":"2026-05-04T12:10:00Z"}
			say Warning MissSchedule
			rq ` + rq
	}
	run(t, map[string]scenario{
		"CJ-020 K,V inside the deadline":         {given: []given{deadline(30)}, now: "12:10:29.9", want: start("9m30.1s")},
		"CJ-021 K,V exactly at the deadline":     {given: []given{deadline(30)}, now: "12:10:30", want: missed("9m30s")},
		"CJ-022 K,V deadline 0 on the tick":      {given: []given{deadline(0)}, now: "12:10:00", want: missed("10m0s")},
		"CJ-022 K,V deadline 0 after the tick":   {given: []given{deadline(0)}, now: "12:10:00.1", want: missed("9m59.9s")},
		"CJ-025 K,V a deadline beyond all times": {given: []given{deadline(9223372037)}, now: "12:10:05", want: start("9m55s")},
		"CJ-023 K,V a deadline keeps the missed times few": {
			given: []given{last("2026-05-03T00:00:00Z"), deadline(900)},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"CJ-024 K,V @every with a shorter deadline is never due": {
			given: []given{schedule("@every 2h"), last("10:00"), made("10:00"), deadline(300)},
			now:   "12:00:00.1",
			want: `
				record timetable {"schedules":["@every 2h"],"missed":"2026-05-04T12:00:00Z"}
				say Warning MissSchedule
				rq 1h59m59.9s`,
		},
		"CJ-026 K a date that does not exist": {
			given: []given{schedule("0 0 30 2 *")},
			now:   "12:10:00",
			want: `
				say Warning InvalidSchedule
				rq 30m0s`,
		},
		"CJ-027 V a date that does not exist is retried": {
			given: []given{schedule("0 0 30 2 *")},
			now:   "12:10:00",
			want: `
				say Warning InvalidSchedule
				fail
				rq 30m0s`,
		},
		"CJ-028 K a schedule that cannot be read; history is still pruned": {
			given: []given{schedule("nonsense"), last("12:10"), limits(0, 1), has("12:00", complete)},
			now:   "12:10:00",
			want: `
				prune tick-29631600
				say Warning UnparseableSchedule
				say Normal SuccessfulDelete
				rq 30m0s`,
		},
		"CJ-029 V a schedule that cannot be read is retried, and ours: said": {
			given: []given{schedule("nonsense")},
			now:   "12:10:00",
			want: `
				say Warning UnParseableCronJobSchedule
				fail
				rq 30m0s`,
		},
		"CJ-030 K a zone prefix without a schedule": {
			given: []given{schedule("TZ=UTC")},
			now:   "12:10:00",
			want: `
				say Warning UnsupportedSchedule
				say Warning UnparseableSchedule
				rq 30m0s`,
		},
		"CJ-031 K an unknown zone; finished Jobs are still processed": {
			given: []given{zone("Mars/Olympus"), last("12:00"), active("12:00", complete, finished("12:05"))},
			now:   "12:10:00.1",
			want: `
				record active [], last scheduled 2026-05-04T12:00:00Z, last successful 2026-05-04T12:05:00Z
				say Normal SawCompletedJob
				say Warning UnknownTimeZone
				rq 30m0s`,
		},
		"CJ-032 V an unknown zone is retried": {
			given: []given{zone("Mars/Olympus")},
			now:   "12:10:00.1",
			want: `
				say Warning InvalidTimeZone
				fail
				rq 30m0s`,
		},
		"CJ-033 K a bad zone is reported while suspended": {
			given: []given{zone("Mars/Olympus"), suspended},
			now:   "12:10:00.1",
			want: `
				say Warning UnknownTimeZone
				rq 30m0s`,
		},
		"CJ-033 V a bad zone is no matter while suspended": {
			given: []given{zone("Mars/Olympus"), suspended},
			now:   "12:10:00.1",
			want:  `done`,
		},
		"CJ-034 K,V a zone inside the schedule beats the field, except in the stamp": {
			given: []given{schedule("TZ=Asia/Tokyo 0 6 * * *"), zone("America/Denver"), made("2026-05-01T00:00:00Z")},
			now:   "2026-05-01T21:05:00Z",
			want: `
				start tick-29627820 for 2026-05-01T15:00:00-06:00
				record active [tick-29627820], last scheduled 2026-05-01T21:00:00Z
				say Warning UnsupportedSchedule
				say Normal SuccessfulCreate
				rq 23h55m0s`,
		},
		"CJ-035 K Q2: the run that an estimate would lose is made up": {
			given: []given{schedule("15 9,10,11 * * 1-5"), zone("UTC"), made("2026-04-06T00:00:00Z"), last("2026-04-08T09:15:00Z")},
			now:   "2026-04-09T20:00:00Z",
			want: `
				start tick-29595555 for 2026-04-09T11:15:00Z
				record active [tick-29595555], last scheduled 2026-04-09T11:15:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 13h15m0s`,
		},
		"CJ-036 K Q2: 71 missed times are few, and the last one is made up": {
			given: []given{schedule("*/5 9-17 * * 1-5"), zone("UTC"), made("2026-04-06T00:00:00Z"), last("2026-04-10T12:00:00Z")},
			now:   "2026-04-12T12:00:00Z",
			want: `
				start tick-29597395 for 2026-04-10T17:55:00Z
				record active [tick-29597395], last scheduled 2026-04-10T17:55:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 21h0m0s`,
		},
		"A2 K,V every minute, after 400 days away: one run": {
			given: []given{schedule("* * * * *"), made("2025-01-01T00:00:00Z"), last("2025-03-30T12:10:00Z")},
			now:   "12:10:30",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning MissSchedule
				say Warning TooManyMissedTimes
				say Normal SuccessfulCreate
				rq 30s`,
		},
		"A14 K,V 29 February is waited for across the year 2100": {
			given: []given{schedule("0 0 29 2 *"), last("2096-02-29T00:00:00Z")},
			now:   "2097-01-01T00:00:00Z",
			want:  `rq 62736h0m0s`,
		},
		"H08 K,V a last time of zero is a time like any other": {
			given: []given{schedule("@yearly"), last("0001-01-01T00:00:00Z")},
			now:   "2026-02-02T00:00:00Z",
			want: `
				start tick-29453760 for 2026-01-01T00:00:00Z
				record active [tick-29453760], last scheduled 2026-01-01T00:00:00Z
				say Warning MissSchedule
				say Warning TooManyMissedTimes
				say Normal SuccessfulCreate
				rq 7992h0m0s`,
		},
		"CJ-037 K,V a wall time that spring skips has no run": {
			given: []given{schedule("30 2 * * *"), zone("America/New_York"), made("2026-03-01T00:00:00Z"), last("2026-03-07T07:30:00Z")},
			now:   "2026-03-08T12:00:00Z",
			want:  `rq 18h30m0s`,
		},
		"CJ-038 K,V a wall time that autumn shows twice runs, first": {
			given: []given{schedule("30 1 * * *"), zone("America/New_York"), made("2026-10-20T00:00:00Z"), last("2026-10-31T05:30:00Z")},
			now:   "2026-11-01T05:30:00.1Z",
			want: `
				start tick-29891850 for 2026-11-01T01:30:00-04:00
				record active [tick-29891850], last scheduled 2026-11-01T05:30:00Z
				say Normal SuccessfulCreate
				rq 59m59.9s`,
		},
		"CJ-038 K,V and runs again an hour later": {
			given: []given{schedule("30 1 * * *"), zone("America/New_York"), made("2026-10-20T00:00:00Z"), last("2026-11-01T05:30:00Z")},
			now:   "2026-11-01T06:30:00.1Z",
			want: `
				start tick-29891910 for 2026-11-01T01:30:00-05:00
				record active [tick-29891910], last scheduled 2026-11-01T06:30:00Z
				say Normal SuccessfulCreate
				rq 23h59m59.9s`,
		},
	})
}

// What the policies do when a scheduled time is due and a child is unfinished.
func TestConcurrency(t *testing.T) {
	run(t, map[string]scenario{
		"CJ-060 K,V Allow starts a second one": {
			given: []given{last("12:10"), active("12:10")},
			now:   "12:20:00.1",
			want: `
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631610 tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-060 T Allow starts a second one": {
			given: []given{last("12:10"), active("12:10")},
			now:   "12:20:00",
			want: `
				start tick-1777897200 for 2026-05-04T12:20:00Z
				record active [tick-1777896600 tick-1777897200], last scheduled 2026-05-04T12:20:00Z
				rq 10m0s`,
		},
		"CJ-061 K Forbid waits": {
			given: []given{forbid, last("12:10"), active("12:10")},
			now:   "12:20:00.1",
			want: `
				say Normal JobAlreadyActive
				rq 9m59.9s`,
		},
		"CJ-062 V Forbid waits, with a warning": {
			given: []given{forbid, last("12:10"), active("12:10")},
			now:   "12:20:00.1",
			want: `
				say Warning ForbidConcurrent
				rq 9m59.9s`,
		},
		"CJ-063 K,V Forbid starts late when the blocker has ended": {
			given: []given{forbid, last("12:10"), active("12:10", complete, finished("12:23"))},
			now:   "12:23:00",
			want: `
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z, last successful 2026-05-04T12:23:00Z
				say Normal SawCompletedJob
				say Normal SuccessfulCreate
				rq 7m0s`,
		},
		"CJ-064 K,V but not beyond the deadline": {
			given: []given{forbid, deadline(60), last("12:10"), active("12:10", complete, finished("12:23"))},
			now:   "12:23:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:23:00Z
				say Normal SawCompletedJob
				say Warning MissSchedule
				rq 7m0s`,
		},
		"CJ-065 K Replace deletes, then starts": {
			given: []given{replace, last("12:10"), active("12:10")},
			now:   "12:20:00.1",
			want: `
				look at tick-29631610
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-066 V Replace warns as well": {
			given: []given{replace, last("12:10"), active("12:10")},
			now:   "12:20:00.1",
			want: `
				look at tick-29631610
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning ReplaceConcurrent
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-067 K Replace does nothing when it cannot read": {
			given: []given{replace, last("12:10"), active("12:10"), getFails("tick-29631610", broken)},
			now:   "12:20:00.1",
			want: `
				look at tick-29631610
				say Warning FailedGet
				fail
				rq 9m59.9s`,
		},
		"CJ-067 V Replace does nothing when it cannot read": {
			given: []given{replace, last("12:10"), active("12:10"), getFails("tick-29631610", broken)},
			now:   "12:20:00.1",
			want: `
				look at tick-29631610
				say Warning ReplaceConcurrent
				say Warning FailedGet
				fail
				rq 9m59.9s`,
		},
		"CJ-068 K Replace records what it could delete": {
			given: []given{replace, last("12:10"), active("12:00"), active("12:10"), deleteFails("tick-29631610", broken)},
			now:   "12:20:00.1",
			want: `
				look at tick-29631600
				look at tick-29631610
				stop tick-29631600
				stop tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulDelete
				say Warning FailedDelete
				fail
				rq 9m59.9s`,
		},
		"CJ-068 V Replace fails without writing": {
			given: []given{replace, last("12:10"), active("12:00"), active("12:10"), deleteFails("tick-29631610", broken)},
			now:   "12:20:00.1",
			want: `
				look at tick-29631600
				look at tick-29631610
				stop tick-29631600
				stop tick-29631610
				say Warning ReplaceConcurrent
				say Normal SuccessfulDelete
				say Warning FailedDelete
				fail
				rq 9m59.9s`,
		},
		"CJ-069 K Replace deletes all three": {
			given: []given{replace, last("12:10"), active("11:50"), active("12:00"), active("12:10")},
			now:   "12:20:00.1",
			want: `
				look at tick-29631590
				look at tick-29631600
				look at tick-29631610
				stop tick-29631590
				stop tick-29631600
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-069 V Replace deletes all three, with one warning": {
			given: []given{replace, last("12:10"), active("11:50"), active("12:00"), active("12:10")},
			now:   "12:20:00.1",
			want: `
				look at tick-29631590
				look at tick-29631600
				look at tick-29631610
				stop tick-29631590
				stop tick-29631600
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning ReplaceConcurrent
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-070 K Replace records the deletes when the create fails": {
			given: []given{replace, last("12:10"), active("12:10"), createFails(quota)},
			now:   "12:20:00.1",
			want: `
				look at tick-29631610
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulDelete
				say Warning FailedCreate
				fail
				rq 9m59.9s`,
		},
		"CJ-071 K B1: a manual run blocks Forbid": {
			given: []given{forbid, has("12:05", manual)},
			now:   "12:10:00.1",
			want: `
				look at owner
				say Warning UnexpectedJob
				say Normal JobAlreadyActive
				rq 9m59.9s`,
		},
		"CJ-074 K B1: Replace starts beside a manual run": {
			given: []given{replace, has("12:05", manual)},
			now:   "12:10:00.1",
			want: `
				look at owner
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning UnexpectedJob
				say Normal SuccessfulCreate
				say Normal ManualJobActive
				rq 9m59.9s`,
		},
		"CJ-074 V B1: Replace starts beside a manual run": {
			given: []given{replace, has("12:05", manual)},
			now:   "12:10:00.1",
			want: `
				look at owner
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning OrphanedJob
				say Normal SuccessfulCreate
				say Normal ManualJobActive
				rq 9m59.9s`,
		},
		"CJ-074 T B1: Replace starts beside a manual run, whatever its name": {
			given: []given{replace, has("12:05", manual, named("tick-1777896300"))},
			now:   "12:10:00",
			want: `
				start tick-1777896600 for 2026-05-04T12:10:00Z
				record active [tick-1777896300 tick-1777896600], last scheduled 2026-05-04T12:10:00Z
				say Normal ManualJobActive
				rq 10m0s`,
		},
		"CJ-074 K B1: and replaces what the schedule started beside it": {
			given: []given{replace, last("12:10"), active("12:10"), has("12:15", manual)},
			now:   "12:20:00",
			want: `
				look at owner
				look at tick-29631610
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning UnexpectedJob
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				say Normal ManualJobActive
				rq 10m0s`,
		},
		"CJ-074 K B1: a copy of a run under another name is a manual run": {
			given: []given{replace, last("12:10"), has("12:10", named("tick-again"))},
			now:   "12:20:00",
			want: `
				look at owner
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning UnexpectedJob
				say Normal SuccessfulCreate
				say Normal ManualJobActive
				rq 10m0s`,
		},
		"CJ-074 K B1: so is one whose name ends in seconds, where ours end in minutes": {
			given: []given{replace, last("12:10"), has("12:15", stamped(""), named("tick-1777896900"))},
			now:   "12:20:00",
			want: `
				look at owner
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning UnexpectedJob
				say Normal SuccessfulCreate
				say Normal ManualJobActive
				rq 10m0s`,
		},
		"CJ-074 K B1: or in a number that is a time before the CronJob": {
			given: []given{replace, last("12:10"), has("12:15", stamped(""), named("tick-1"))},
			now:   "12:20:00",
			want: `
				look at owner
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning UnexpectedJob
				say Normal SuccessfulCreate
				say Normal ManualJobActive
				rq 10m0s`,
		},
		"CJ-074 K B1: a scheduled run from which a webhook took the annotation is still replaced": {
			given: []given{replace, last("12:10"), active("12:10", stamped(""))},
			now:   "12:20:00",
			want: `
				look at tick-29631610
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				rq 10m0s`,
		},
		"CJ-074 V B1: a scheduled run from which a webhook took the annotation is still replaced": {
			given: []given{replace, last("12:10"), active("12:10", stamped(""))},
			now:   "12:20:00",
			want: `
				look at tick-29631610
				stop tick-29631610
				start tick-29631620 for 2026-05-04T12:20:00Z
				record active [tick-29631620], last scheduled 2026-05-04T12:20:00Z
				say Warning ReplaceConcurrent
				say Normal SuccessfulDelete
				say Normal SuccessfulCreate
				rq 10m0s`,
		},
		"CJ-071 K B1: a manual run that is suspended does not block Forbid": {
			given: []given{forbid, has("12:05", manual, asleep)},
			now:   "12:10:00.1",
			want: `
				look at owner
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning UnexpectedJob
				say Normal SuccessfulCreate
				rq 9m59.9s`,
		},
		"CJ-071 T B1: a manual run that is suspended does not block Forbid": {
			given: []given{forbid, has("12:05", manual, asleep)},
			now:   "12:10:00",
			want: `
				start tick-1777896600 for 2026-05-04T12:10:00Z
				record active [by-hand tick-1777896600], last scheduled 2026-05-04T12:10:00Z
				rq 10m0s`,
		},
		"CJ-071 K B1: a scheduled run that is suspended does": {
			given: []given{forbid, last("12:10"), active("12:10", asleep)},
			now:   "12:20:00",
			want: `
				say Normal JobAlreadyActive
				rq 10m0s`,
		},
		"CJ-072 T a manual run blocks Forbid": {
			given: []given{forbid, has("12:05", manual)},
			now:   "12:10:00",
			want: `
				record active [by-hand]
				rq 10m0s`,
		},
		"CJ-073 T Replace finds the active child gone": {
			given: []given{replace, last("12:10"), active("12:10"), deleteFails("tick-1777896600", notFound)},
			now:   "12:20:00",
			want: `
				stop tick-1777896600
				start tick-1777897200 for 2026-05-04T12:20:00Z
				record active [tick-1777897200], last scheduled 2026-05-04T12:20:00Z
				rq 10m0s`,
		},
	})
}

// Crashes, lost answers, stale caches and objects of someone else: one child per scheduled time, and the status right.
func TestRacesAndOrphans(t *testing.T) {
	nobody := ownedBy(nil)
	run(t, map[string]scenario{
		"CJ-075 K a child that an interrupted sync started is adopted (no create is needed to find it)": {
			given: []given{has("12:10")},
			now:   "12:10:05",
			want: `
				look at owner
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning UnexpectedJob
				rq 9m55s`,
		},
		"CJ-075 V a child that an interrupted sync started is adopted (no create is needed to find it)": {
			given: []given{has("12:10")},
			now:   "12:10:05",
			want: `
				look at owner
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Warning OrphanedJob
				rq 9m55s`,
		},
		"CJ-075 K,V before the cache shows it, the create finds it": {
			given: []given{onServer("12:10")},
			now:   "12:10:05",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				rq 9m55s`,
		},
		"CJ-075 K,V also when its stamp was removed": {
			given: []given{onServer("12:10", stamped(""))},
			now:   "12:10:05",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				rq 9m55s`,
		},
		"CJ-076 K a finished one is adopted and reported, B3: in one sync": {
			given: []given{has("12:10", complete, finished("12:10:03"))},
			now:   "12:10:05",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:10:03Z
				say Normal SawCompletedJob
				rq 9m55s`,
		},
		"CJ-077 V a finished one is not made active, but B3: its time is recorded": {
			given: []given{has("12:10", complete, finished("12:10:03"))},
			now:   "12:10:05",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:10:03Z
				rq 9m55s`,
		},
		"CJ-078 K Q1: a foreign object with our name is reported, and the next time is waited for": {
			given: []given{onServer("12:10", nobody)},
			now:   "12:10:05",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				say Warning FailedCreate
				rq 9m55s`,
		},
		"CJ-079 V a foreign object with our name is reported": {
			given: []given{onServer("12:10", nobody)},
			now:   "12:10:05",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				look at tick-29631610
				say Warning ForeignJob
				rq 9m55s`,
		},
		"CJ-080 K,V a stale CronJob is read again instead of warning": {
			given: []given{has("12:10"), liveState(listed("12:10"), last("12:10"))},
			now:   "12:10:05",
			want: `
				look at owner
				rq 9m55s`,
		},
		"CJ-081 K,V Q4: an active child that the cache does not show yet stays": {
			given: []given{last("12:10"), listed("12:10"), onServer("12:10")},
			now:   "12:10:05",
			want: `
				look at tick-29631610
				rq 9m55s`,
		},
		"CJ-082 K an active child that is gone is not run again": {
			given: []given{last("12:10"), listed("12:10")},
			now:   "12:10:05",
			want: `
				look at tick-29631610
				record active [], last scheduled 2026-05-04T12:10:00Z
				say Normal MissingJob
				rq 9m55s`,
		},
		"CJ-083 K,V nothing starts while an active child cannot be read": {
			given: []given{last("12:00"), listed("12:00"), getFails("tick-29631600", broken)},
			now:   "12:10:05",
			want: `
				look at tick-29631600
				fail
				rq 9m55s`,
		},
		"CJ-084 V Q4: a reference is stale when the live read finds nothing": {
			given: []given{last("12:10"), listed("12:10")},
			now:   "12:10:05",
			want: `
				look at tick-29631610
				record active [], last scheduled 2026-05-04T12:10:00Z
				say Warning StaleReference
				rq 9m55s`,
		},
		"CJ-085 V a reference is stale when its name has another UID": {
			given: []given{last("12:10"), listed("12:10", uid("old")), onServer("12:10", nobody)},
			now:   "12:10:05",
			want: `
				look at tick-29631610
				record active [], last scheduled 2026-05-04T12:10:00Z
				say Warning StaleReference
				rq 9m55s`,
		},
		"CJ-085 K Q6: a reference whose name has another UID is missing": {
			given: []given{last("12:10"), listed("12:10", uid("old")), onServer("12:10", nobody)},
			now:   "12:10:05",
			want: `
				look at tick-29631610
				record active [], last scheduled 2026-05-04T12:10:00Z
				say Normal MissingJob
				rq 9m55s`,
		},
		"CJ-086 K a conflict after the create is retried": {
			given: []given{recordFails(conflict)},
			now:   "12:10:00.1",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				fail
				rq 9m59.9s`,
		},
		"CJ-087 V a failed status write is an error": {
			given: []given{last("12:00"), active("12:00", complete), recordFails(broken)},
			now:   "12:07:00",
			want: `
				record active [], last scheduled 2026-05-04T12:00:00Z
				fail
				rq 3m0s`,
		},
		"CJ-088 K a terminating namespace is retried in silence": {
			given: []given{createFails(goingOut)},
			now:   "12:10:00",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				fail
				rq 10m0s`,
		},
		"CJ-089 V a terminating namespace is reported": {
			given: []given{createFails(goingOut)},
			now:   "12:10:00",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				say Warning NamespaceTerminating
				fail
				rq 10m0s`,
		},
		"CJ-090 K B4: with a full quota the create fails and history is pruned in the same sync": {
			given: []given{createFails(quota), last("12:00"), succeeded("11:59"), active("11:50"),
				has("11:10", complete), has("11:20", complete), has("11:30", complete), has("11:40", complete), has("12:00", complete)},
			now: "12:10:00",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				prune tick-29631550
				prune tick-29631560
				say Warning FailedCreate
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				fail
				rq 10m0s`,
		},
		"CJ-091 V a child without our reference is deleted again": {
			given: []given{stripped},
			now:   "12:10:00",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				stop tick-29631610
				fail
				rq 10m0s`,
		},
		"CJ-092 K,V B7: the second time in a minute has no name of its own": {
			given: []given{schedule("@every 20s"), made("12:00:05"), last("12:00:25"), active("12:00:25")},
			now:   "12:00:45.1",
			want: `
				say Warning UnsupportedSchedule
				rq 19.9s`,
		},
		"CJ-093 K,V B7: nor when the first one's child has finished": {
			given: []given{schedule("@every 20s"), made("12:00:05"), last("12:00:25"), has("12:00:25", complete)},
			now:   "12:00:45.1",
			want: `
				say Warning UnsupportedSchedule
				rq 19.9s`,
		},
		"CJ-094 K,V Q6: a child of an earlier CronJob of that name is none of ours": {
			given: []given{forbid, has("12:00", func(c *cron.Child) { c.Controller.UID = "cj-0" })},
			now:   "12:10:00",
			want: `
				start tick-29631610 for 2026-05-04T12:10:00Z
				record active [tick-29631610], last scheduled 2026-05-04T12:10:00Z
				say Normal SuccessfulCreate
				rq 10m0s`,
		},
		"CJ-095 T Q5: a time whose child was deleted does not run again": {
			given: []given{last("12:10"), listed("12:10")},
			now:   "12:12:00",
			want: `
				look at tick-1777896600
				record active [], last scheduled 2026-05-04T12:10:00Z
				rq 8m0s`,
		},
	})
}

// What happens to the status and to finished children.
func TestStatusAndHistory(t *testing.T) {
	run(t, map[string]scenario{
		"CJ-100 K an active child has completed": {
			given: []given{last("12:10"), active("12:10", complete, finished("12:12:30"))},
			now:   "12:13:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:12:30Z
				say Normal SawCompletedJob
				rq 7m0s`,
		},
		"CJ-101 K an active child has failed": {
			given: []given{last("12:10"), succeeded("12:01"), active("12:10", failed)},
			now:   "12:13:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:01:00Z
				say Normal SawCompletedJob
				rq 7m0s`,
		},
		"CJ-102 K the last success never goes back": {
			given: []given{last("12:10"), succeeded("12:12:40"), active("12:00", complete, finished("12:12:30"))},
			now:   "12:13:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:12:40Z
				say Normal SawCompletedJob
				rq 7m0s`,
		},
		"CJ-104 V an active child has completed": {
			given: []given{last("12:10"), active("12:10", phase("Completed", cron.Complete), finished("12:12:30"))},
			now:   "12:13:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:12:30Z
				say Normal SawCompletedJob
				rq 7m0s`,
		},
		"CJ-105 V a terminated child is finished, and Q3: pruned with the failed ones": {
			given: []given{last("12:10"), limits(3, 0), active("12:10", phase("Terminated", cron.Failed), finished("12:12:30"))},
			now:   "12:13:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z
				prune tick-29631610
				say Normal SawCompletedJob
				say Normal SuccessfulDelete
				rq 7m0s`,
		},
		"CJ-106 V Q8: an aborted child blocks Forbid": {
			given: []given{forbid, last("12:10"), active("12:10", phase("Aborted", cron.Unfinished))},
			now:   "12:20:00.1",
			want: `
				say Warning ForbidConcurrent
				rq 9m59.9s`,
		},
		"CJ-107 K the oldest starts go first, one without a start stays": {
			given: []given{last("12:10"), limits(2, 1), has("11:00", complete), has("11:10", complete),
				has("11:15", complete, func(c *cron.Child) { c.Started = nil }), has("11:20", complete)},
			now: "12:13:00",
			want: `
				prune tick-29631540
				prune tick-29631550
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				rq 7m0s`,
		},
		"CJ-108 K equal starts go by name": {
			given: []given{last("12:10"), limits(1, 1), has("11:00", complete, named("b")), has("11:00", complete, named("a"))},
			now:   "12:13:00",
			want: `
				prune a
				say Normal SuccessfulDelete
				rq 7m0s`,
		},
		"CJ-109 T one without a start goes first": {
			given: []given{last("12:10"), limits(1, 1), has("11:00", complete),
				has("11:10", complete, func(c *cron.Child) { c.Started = nil })},
			now: "12:13:00",
			want: `
				prune tick-1777893000
				rq 7m0s`,
		},
		"CJ-110 V the oldest creations go first, one without stays": {
			given: []given{last("12:10"), limits(1, 1), has("11:00", complete), has("11:05", complete, unborn), has("11:10", complete)},
			now:   "12:13:00",
			want: `
				prune tick-29631540
				prune tick-29631550
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				rq 7m0s`,
		},
		"CJ-111 K limit 0 takes an active child that has finished, recorded first": {
			given: []given{last("12:10"), limits(0, 1), active("12:10", complete, finished("12:12:30"))},
			now:   "12:13:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:12:30Z
				prune tick-29631610
				say Normal SuccessfulDelete
				rq 7m0s`,
		},
		"CJ-112 V limit 0 reports it first": {
			given: []given{last("12:10"), limits(0, 1), active("12:10", complete, finished("12:12:30"))},
			now:   "12:13:00",
			want: `
				record active [], last scheduled 2026-05-04T12:10:00Z, last successful 2026-05-04T12:12:30Z
				prune tick-29631610
				say Normal SawCompletedJob
				say Normal SuccessfulDelete
				rq 7m0s`,
		},
		"CJ-113 K,V no limit for successes": {
			given: []given{last("12:10"), limits(-1, 1), has("11:00", complete), has("11:10", complete), has("11:20", complete),
				has("11:30", complete), has("11:40", complete), has("11:50", failed), has("12:00", failed), has("12:10", failed)},
			now: "12:13:00",
			want: `
				prune tick-29631590
				prune tick-29631600
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				rq 7m0s`,
		},
		"CJ-114 K,V no limits at all": {
			given: []given{last("12:10"), limits(-1, -1), has("11:00", complete), has("11:10", failed), has("11:20", failed)},
			now:   "12:13:00",
			want:  `rq 7m0s`,
		},
		"CJ-115 K,V one that cannot be deleted delays no other; it is tried again in a minute": {
			given: []given{last("12:10"), limits(0, 1), has("11:00", complete), has("11:10", complete), has("11:20", complete),
				deleteFails("tick-29631540", broken)},
			now: "12:13:00",
			want: `
				prune tick-29631540
				prune tick-29631550
				prune tick-29631560
				say Warning FailedDelete
				say Normal SuccessfulDelete
				say Normal SuccessfulDelete
				rq 1m0s`,
		},
		"CJ-197 K,V,T one that is being deleted takes no place": {
			given: []given{last("12:10"), limits(1, 1), has("11:00", failed), has("11:10", failed, func(c *cron.Child) { c.Deleting = true }),
				has("11:20", complete), has("11:30", complete, func(c *cron.Child) { c.Deleting = true })},
			now:  "12:13:00",
			want: `rq 7m0s`,
		},
		"CJ-116 K,V nothing changed, nothing written": {
			given: []given{last("12:10"), active("12:10"), has("12:00", complete)},
			now:   "12:13:00",
			want:  `rq 7m0s`,
		},
		"CJ-117 T ours: nothing changed, nothing written, although the book writes each time": {
			given: []given{last("12:10"), active("12:10"), has("12:00", complete)},
			now:   "12:13:00",
			want:  `rq 7m0s`,
		},
		"CJ-117 T ours: nor when the active child has moved on": {
			given: []given{last("12:10"), active("12:10"), func(s *scene) { s.in.Children[0].ResourceVersion = "99" }},
			now:   "12:13:00",
			want:  `rq 7m0s`,
		},
		"CJ-118 K being deleted: status and history only": {
			given: []given{deleting, last("12:00"), limits(0, 1), active("12:00", complete, finished("12:02"))},
			now:   "12:10:00",
			want: `
				record active [], last scheduled 2026-05-04T12:00:00Z, last successful 2026-05-04T12:02:00Z
				prune tick-29631600
				say Normal SuccessfulDelete
				done`,
		},
		"CJ-119 V being deleted: nothing": {
			given: []given{deleting, last("12:00"), limits(0, 1), active("12:00", complete, finished("12:02")), has("11:50")},
			now:   "12:10:00",
			want:  `done`,
		},
		"CJ-119 T Q9: being deleted: status and history only": {
			given: []given{deleting, last("12:00"), limits(0, 1), active("12:00", complete, finished("12:02"))},
			now:   "12:10:00",
			want: `
				record active [], last scheduled 2026-05-04T12:00:00Z
				prune tick-1777896000
				done`,
		},
		"CJ-120 K suspended: status and history only": {
			given: []given{suspended, last("12:00"), limits(0, 1), active("12:00", complete, finished("12:02"))},
			now:   "12:10:00",
			want: `
				record active [], last scheduled 2026-05-04T12:00:00Z, last successful 2026-05-04T12:02:00Z
				prune tick-29631600
				say Normal SuccessfulDelete
				done`,
		},
		"CJ-120 V suspended: status and history only": {
			given: []given{suspended, last("12:00"), limits(0, 1), active("12:00", complete, finished("12:02"))},
			now:   "12:10:00",
			want: `
				record active [], last scheduled 2026-05-04T12:00:00Z, last successful 2026-05-04T12:02:00Z
				prune tick-29631600
				say Normal SawCompletedJob
				say Normal SuccessfulDelete
				done`,
		},
		"CJ-121 K,V resumed: the latest missed time starts at once": {
			given: []given{last("11:00"), made("10:00")},
			now:   "12:34:00",
			want: `
				start tick-29631630 for 2026-05-04T12:30:00Z
				record active [tick-29631630], last scheduled 2026-05-04T12:30:00Z
				say Warning MissSchedule
				say Normal SuccessfulCreate
				rq 6m0s`,
		},
		"CJ-122 K,V resumed: unless the deadline has passed": {
			given: []given{last("11:00"), made("10:00"), deadline(120)},
			now:   "12:34:00",
			want: `
				record timetable {"schedules":["*/10 * * * *"],"missed":"2026-05-04T12:30:00Z"}
				say Warning MissSchedule
				rq 6m0s`,
		},
	})
}

// The tutorial's own ways.
func TestTutorial(t *testing.T) {
	run(t, map[string]scenario{
		"CJ-130 T name in seconds": {
			now: "12:10:00",
			want: `
				start tick-1777896600 for 2026-05-04T12:10:00Z
				record active [tick-1777896600], last scheduled 2026-05-04T12:10:00Z
				rq 10m0s`,
		},
		"CJ-131 T 100 missed times are caught up": {
			given: []given{schedule("* * * * *"), made("12:00")},
			now:   "13:40:59",
			want: `
				start tick-1777902000 for 2026-05-04T13:40:00Z
				record active [tick-1777902000], last scheduled 2026-05-04T13:40:00Z
				say Warning MissSchedule
				rq 1s`,
		},
		"CJ-131 T 101 are not; ours: said": {
			given: []given{schedule("* * * * *"), made("12:00")},
			now:   "13:41:00",
			want: `
				record timetable {"schedules":["* * * * *"],"missed":"2026-05-04T13:40:00Z"}
				say Warning MissSchedule
				say Warning TooManyMissedTimes
				rq 30m0s`,
		},
		"CJ-132 T a date that does not exist; ours: said": {
			given: []given{schedule("0 0 30 2 *")},
			now:   "12:10:00",
			want: `
				say Warning InvalidSchedule
				rq 30m0s`,
		},
		"CJ-133 T a stamp that cannot be read is passed over": {
			given: []given{has("12:10", complete), has("12:20", stamped("soon"))},
			now:   "12:12:00",
			want: `
				record active [tick-1777897200], last scheduled 2026-05-04T12:10:00Z
				rq 8m0s`,
		},
		"CJ-134 T Forbid waits in silence": {
			given: []given{forbid, last("12:10"), active("12:10")},
			now:   "12:20:00",
			want:  `rq 10m0s`,
		},
		"CJ-135 T a taken name is an error; ours: said": {
			given: []given{onServer("12:10")},
			now:   "12:10:00",
			want: `
				start tick-1777896600 for 2026-05-04T12:10:00Z
				say Warning FailedCreate
				fail
				rq 10m0s`,
		},
		"CJ-136 T B4: a failing status write stops no start; B3: and nothing that it was to prove is pruned": {
			given: []given{recordFails(broken), last("12:00"), limits(0, 0), has("11:50", failed), has("12:05", stamped("2026-05-04T12:05:00Z"), complete)},
			now:   "12:10:00",
			want: `
				start tick-1777896600 for 2026-05-04T12:10:00Z
				record active [tick-1777896600], last scheduled 2026-05-04T12:10:00Z
				prune tick-1777895400
				fail
				rq 10m0s`,
		},
		"CJ-137 T a failing delete is no error; ours: said, and tried again in a minute": {
			given: []given{last("12:10"), limits(0, 1), has("11:00", complete), has("11:10", complete), deleteFails("tick-1777892400", broken)},
			now:   "12:13:00",
			want: `
				prune tick-1777892400
				prune tick-1777893000
				say Warning FailedDelete
				rq 1m0s`,
		},
		"CJ-138 T suspended": {
			given: []given{suspended, last("12:10"), limits(0, 1), has("11:00", complete)},
			now:   "12:20:00",
			want: `
				prune tick-1777892400
				done`,
		},
	})
}
