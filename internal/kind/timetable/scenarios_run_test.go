// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import "testing"

// Jitter and deadline.
func TestDeadlineScenarios(t *testing.T) {
	play(t, map[string]scenario{
		"TT-033 a deadline of a second": {spec: "{startingDeadline: 1s}", steps: []step{started}},
		"TT-037 a run takes longer than the deadline": {spec: "{startingDeadline: 60s}", steps: []step{started,
			{at: "12:21", given: []given{succeeds("@12:10")}, want: `
				say RunSucceeded
				say TimesMissed
				L 12:20 Missed/Deadline
				message of 12:20: waited: Overlap
				L 12:10 Succeeded
				Healthy False/TimesMissed`}}},
		"TT-037 had it ended earlier": {spec: "{startingDeadline: 60s}", steps: []step{started,
			{at: "12:20:59", given: []given{succeeds("@12:10")}, want: `
				create @12:20
				say RunSucceeded
				say RunStarted`}}},
		"TT-027 TT-028 jitter": {spec: "{jitter: 5m}", steps: []step{
			{at: "12:10:39", want: `
				next 12:10(12:10:40) 12:20(12:20:40) 12:30(12:30:40) 12:40(12:40:40) 12:50(12:50:40)
				A none`},
			{at: "12:10:40", want: `
				create @12:10
				say RunStarted
				A 12:10 Schedule`}}},
		"TT-029 a jitter longer than the distance": {spec: "{jitter: 1h}", steps: []step{
			{at: "12:19:58", want: ""},
			{at: "12:19:59", want: `
				create @12:10
				say RunStarted`}}},
		"TT-030 the deadline counts from the planned start": {spec: "{jitter: 5m, startingDeadline: 30s}", steps: []step{{at: "12:10:39", want: ""}, {at: "12:10:40", want: `
			create @12:10
			say RunStarted`}}},
		"TT-031 too late": {spec: "{jitter: 5m, startingDeadline: 30s}", steps: []step{{at: "12:11:10", asleep: true, want: `
			say TimesMissed
			L 12:10 Missed/Deadline`}}},
		"TT-032 just in time": {spec: "{jitter: 5m, startingDeadline: 30s}", steps: []step{{at: "2026-05-04T12:11:09.9Z", asleep: true, want: `
			create @12:10
			say RunStarted`}}},
		"TT-034 the jitter is removed": {spec: "{jitter: 5m}", steps: []step{
			{at: "12:10:20", given: []given{edited("{jitter: null}")}, want: `
				create @12:10
				say RunStarted`}}},
		"TT-035 another zone": {spec: "{jitter: 5m}", steps: []step{
			{at: "12:10:20", given: []given{edited("{timeZone: Europe/Rome}")}, want: "L none"},
			{at: "12:10:40", want: `
				create @12:10
				say RunStarted`}}},
		"TT-238 a run ends before the edit": {spec: "{jitter: 5m, concurrency: {policy: Allow}}", steps: []step{
			{at: "12:10:40", want: "create @12:10\nsay RunStarted"},
			{at: "12:20:20", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nnext 12:20(12:20:40) 12:30(12:30:40) 12:40(12:40:40) 12:50(12:50:40) 13:00(13:00:40)"},
			{at: "12:20:30", given: []given{edited("{timeZone: Europe/Rome}")}, want: "L 12:10 Succeeded"},
			{at: "12:20:40", want: "create @12:20\nsay RunStarted"}}},
		"TT-036 named no more": {spec: "{jitter: 5m}", steps: []step{
			{at: "12:10:20", given: []given{edited(`{schedules: [{name: main, cron: "5 * * * *"}]}`)}, want: `
				say TimesSkipped
				L 12:05…12:10 x2 Skipped/Edited`}}},
	})
}

// Catching up.
func TestCatchUpScenarios(t *testing.T) {
	const all = "{catchUp: {policy: All}}"
	outage := func(at string, want string) []step {
		return []step{{at: "12:05", want: ""}, {at: at, asleep: true, want: want}}
	}
	play(t, map[string]scenario{
		"TT-038 the latest": {steps: outage("13:05", `
			create @13:00
			say TimesMissed
			say RunStarted
			A 13:00 CatchUp
			L 12:10…12:50 x5 Missed/Outage`)},
		"TT-039 none, in time": {spec: "{catchUp: {policy: None}}", steps: outage("13:00:30", `
			create @13:00
			say TimesMissed
			say RunStarted
			counts 1 started 0 succeeded 0 failed 0 cancelled 0 skipped 5 missed`)},
		"TT-040 none": {spec: "{catchUp: {policy: None}}", steps: outage("13:05", `
			say TimesMissed
			counts 0 started 0 succeeded 0 failed 0 cancelled 0 skipped 6 missed
			wake 13:10`)},
		"TT-041 a minute late is in time": {spec: "{catchUp: {policy: None}}", steps: outage("13:01", `
			create @13:00
			say TimesMissed
			say RunStarted`)},
		"TT-042 all, one after the other": {spec: all, steps: append(outage("13:05", `
			create @12:10
			say RunStarted
			W 12:20 Overlap
			W 12:30 Overlap
			W 12:40 Overlap
			W 12:50 Overlap
			W 13:00 Overlap`),
			step{at: "13:06", given: []given{succeeds("@12:10")}, want: "create @12:20\nsay RunSucceeded\nsay RunStarted"},
			step{at: "13:06:30", given: []given{succeeds("@12:20")}, want: "create @12:30\nsay RunSucceeded\nsay RunStarted"},
			step{at: "13:07", given: []given{succeeds("@12:30")}, want: "create @12:40\nsay RunSucceeded\nsay RunStarted"},
			step{at: "13:07:30", given: []given{succeeds("@12:40")}, want: "create @12:50\nprune @12:10\nsay RunSucceeded\nsay RunStarted"},
			step{at: "13:08", given: []given{succeeds("@12:50")}, want: "create @13:00\nprune @12:20\nsay RunSucceeded\nsay RunStarted"},
			step{at: "13:09", given: []given{succeeds("@13:00")}, want: `
				prune @12:30
				say RunSucceeded
				L 13:00 Succeeded
				L 12:50 Succeeded
				L 12:40 Succeeded
				L 12:30 Succeeded
				L 12:20 Succeeded
				L 12:10 Succeeded
				W none`})},
		"TT-043 all with a limit": {spec: "{catchUp: {policy: All, limit: 2}}", steps: outage("13:05", `
			create @12:50
			say TimesMissed
			say RunStarted
			L 12:10…12:40 x4 Missed/CatchUpLimit
			W 13:00 Overlap`)},
		"TT-044 all with a deadline": {spec: "{catchUp: {policy: All}, startingDeadline: 30m}", steps: outage("13:05", `
			create @12:40
			say TimesMissed
			say RunStarted
			L 12:10…12:30 x3 Missed/Deadline
			W 12:50 Overlap
			W 13:00 Overlap`)},
		"TT-045 all at once": {spec: "{catchUp: {policy: All}, concurrency: {policy: Allow}}", steps: outage("13:05", six)},
		"TT-046 all in a queue": {spec: "{catchUp: {policy: All}, concurrency: {policy: Queue, limit: 2}}", steps: append(outage("13:05", `
			create @12:10
			create @12:20
			say RunStarted
			say RunStarted
			W 12:30 Overlap
			W 12:40 Overlap
			W 12:50 Overlap
			W 13:00 Overlap`),
			step{at: "13:10", want: `
			W 12:30 Overlap
			W 12:40 Overlap
			W 12:50 Overlap
			W 13:00 Overlap
			W 13:10 Overlap`})},
		"TT-047 live times keep one place": {spec: all, steps: append(outage("13:05", `
			create @12:10
			say RunStarted`),
			step{at: "13:20", want: `
				say TimesSkipped
				say RunLate
				L 13:10 Skipped/Superseded
				W 12:20 Overlap
				W 12:30 Overlap
				W 12:40 Overlap
				W 12:50 Overlap
				W 13:00 Overlap
				W 13:20 Overlap since 13:10`})},
		"TT-048 400 days": {spec: `{schedules: [{name: main, cron: "* * * * *"}]}`, steps: []step{{at: "12:03:30", want: ""},
			{at: "2027-06-08T12:03:30Z", asleep: true, want: `
				create tick-20270608-120300
				say TimesMissed
				say RunStarted
				L 12:04…2027-06-08T12:02Z x575999 Missed/Outage`}}},
		"TT-050 a crash after the first of six": {spec: "{catchUp: {policy: All}, concurrency: {policy: Allow}}", steps: append([]step{
			{at: "12:05", want: ""},
			{at: "13:05", asleep: true, given: []given{diesAfter(1)}, want: "create @12:10"}},
			step{at: "13:05:20", asleep: true, want: `
				create @12:20
				create @12:30
				create @12:40
				create @12:50
				create @13:00
				say RunStarted
				say RunStarted
				say RunStarted
				say RunStarted
				say RunStarted
				say RunStarted
				counts 6 started 0 succeeded 0 failed 0 cancelled 0 skipped 0 missed`})},
		"TT-051 a laptop sleeps": {spec: `{schedules: [{name: main, cron: "0 * * * *"}]}`, steps: []step{{at: "13:30", want: `
			create @13:00
			say RunStarted`},
			{at: "21:30", asleep: true, given: []given{succeeds("@13:00")}, want: `
			create @21:00
			say RunSucceeded
			say TimesMissed
			say RunStarted
			L 14:00…20:00 x7 Missed/Outage`}}},
		"TT-049 every one that is made up for fails": {spec: "{catchUp: {policy: All}, pauseAfterFailures: 2}", steps: []step{{at: "12:05", want: ""},
			{at: "13:05", asleep: true, want: "create @12:10\nsay RunStarted"},
			{at: "13:06", given: []given{fails("@12:10")}, want: "create @12:20\nsay RunFailed\nsay RunStarted"},
			{at: "13:07", given: []given{fails("@12:20")}, want: "say RunFailed\nsay PausedAfterFailures\nW none\nL 12:30…13:00 x4 Skipped/Paused"}}},
		"TT-052 a Calendar that was away": {spec: "{exclude: [{calendar: holidays}]}", given: []given{calendar("holidays", "12-25")}, steps: []step{
			{at: "12:05", given: []given{noCalendar("holidays")}, want: "Ready False/CalendarNotFound\nsay InvalidSpec"},
			{at: "13:05", given: []given{calendar("holidays", "12-25")}, want: `
				say TimesMissed
				say RunLate
				say TimesMissed
				say TimesMissed
				say TimesMissed
				create @13:00
				say TimesMissed
				say RunStarted
				L 12:10…12:50 x5 Missed/NotReady`}}},
	})
}

const six = `
	create @12:10
	create @12:20
	create @12:30
	create @12:40
	create @12:50
	create @13:00
	say RunStarted
	say RunStarted
	say RunStarted
	say RunStarted
	say RunStarted
	say RunStarted`

// diesAfter ends the controller after so many more creates.
func diesAfter(creates int) given { return func(w *world) { w.dieAfter = creates } }

// Concurrency.
func TestConcurrencyScenarios(t *testing.T) {
	const replace, queue = "{concurrency: {policy: Replace}}", "{concurrency: {policy: Queue}}"
	queued := []step{started, {at: "13:00", want: `
		say RunLate
		W 12:20 Overlap
		W 12:30 Overlap
		W 12:40 Overlap
		W 12:50 Overlap
		W 13:00 Overlap`}}
	stopped := []step{started, {at: "12:20", want: `
		stop @12:10
		A 12:10 Schedule stopping Replaced
		W 12:20 Stopping`}}
	play(t, map[string]scenario{
		"TT-053 TT-054 a time waits": {steps: []step{started,
			{at: "12:20", given: []given{}, want: "W 12:20 Overlap\nwrites 1"},
			{at: "12:23", given: []given{succeeds("@12:10")}, want: "create @12:20\nsay RunSucceeded\nsay RunStarted\nwrites 1"}}},
		"TT-055 TT-056 a successor, and late": {steps: []step{started,
			{at: "2026-05-04T12:29:59Z", want: "W 12:20 Overlap\nLate False/OnTime"},
			{at: "12:30", want: `
				say TimesSkipped
				say RunLate
				W 12:30 Overlap since 12:20
				L 12:20 Skipped/Superseded
				Late True/Overlap
				Healthy False/Late`}}},
		"TT-057 a queue": {spec: queue, steps: queued},
		"TT-058 a full queue": {spec: queue, steps: append(queued[:2:2], step{at: "14:00", want: `
			say TimesSkipped
			L 14:00 Skipped/QueueFull
			counts 1 started 0 succeeded 0 failed 0 cancelled 1 skipped 0 missed`})},
		"TT-059 a queue goes on": {spec: queue, steps: append(queued[:2:2],
			step{at: "13:05", given: []given{succeeds("@12:10")}, want: `
				create @12:20
				say RunSucceeded
				say RunStarted
				W 12:30 Overlap
				W 12:40 Overlap
				W 12:50 Overlap
				W 13:00 Overlap`},
			step{at: "13:06", given: []given{succeeds("@12:20")}, want: "create @12:30\nsay RunSucceeded\nsay RunStarted"})},
		"TT-060 TT-061 replace": {spec: replace, steps: append(stopped[:2:2], step{at: "12:20:45", given: []given{gone("@12:10")}, want: `
			create @12:20
			say RunCancelled
			say RunStarted
			L 12:10 Cancelled/Replaced
			failures 0`})},
		"TT-060 TT-061 replace, and the stop cannot be recorded": {spec: replace, steps: []step{started,
			{at: "12:20", given: []given{writesFail(internal)}, want: "stop @12:10"},
			{at: "12:20:20", given: []given{writesFail(nil)}, want: `
				A 12:10 Schedule stopping Replaced
				W 12:20 Stopping`},
			{at: "12:20:45", given: []given{gone("@12:10")}, want: `
				create @12:20
				say RunCancelled
				say RunStarted
				L 12:10 Cancelled/Replaced
				failures 0`}}},
		"TT-062 TT-063 replace what does not end": {spec: replace, steps: append(stopped[:2:2], step{at: "12:25", want: ""},
			step{at: "12:30", want: `
				say TimesSkipped
				say RunLate
				L 12:20 Skipped/Superseded
				W 12:30 Stopping since 12:20`})},
		"TT-064 replace one of two": {spec: "{concurrency: {policy: Replace, limit: 2}}", steps: []step{started,
			{at: "12:20", want: "create @12:20\nsay RunStarted"},
			{at: "12:30", want: "stop @12:10\nW 12:30 Stopping"}}},
		"TT-067 allow": {spec: "{concurrency: {policy: Allow}}", steps: []step{started, {at: "12:20", want: "create @12:20\nsay RunStarted"}}},
		"TT-069 a child in no status": {steps: []step{
			{at: "12:10", given: []given{diesAfter(1)}, want: "create @12:10"},
			{at: "12:20", want: `
				say RunStarted
				A 12:10 Schedule
				W 12:20 Overlap`}}},
		"TT-071 deleted by hand": {steps: []step{started,
			{at: "12:15", given: []given{gone("@12:10")}, want: "say RunCancelled\nL 12:10 Cancelled/Deleted"},
			{at: "12:20", want: "create @12:20\nsay RunStarted"}}},
		"TT-072 suspended by somebody": {steps: []step{started, {at: "12:20", given: []given{suspendedJob("@12:10")}, want: "W 12:20 Overlap"}}},
		"TT-074 more room": {spec: "{concurrency: {policy: Queue}}", steps: []step{started,
			{at: "12:30", want: "say RunLate\nW 12:20 Overlap\nW 12:30 Overlap"},
			{at: "12:31", given: []given{edited("{concurrency: {limit: 3}}")}, want: `
				create @12:20
				create @12:30
				say RunStarted
				say RunStarted
				W none`}}},
	})
}

func suspendedJob(name string) given {
	return func(w *world) { w.child(name).Object["spec"].(map[string]any)["suspend"] = true }
}
