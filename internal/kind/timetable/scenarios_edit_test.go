// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// annotated sets the annotation by which people end a pause.
func annotated(value string) given {
	return func(w *world) {
		w.metadata()["annotations"] = map[string]any{v1alpha1.AnnotationResume: value}
		w.admit()
	}
}

// Suspend, resume, pause.
func TestPauseScenarios(t *testing.T) {
	const suspend, resume = "{suspend: true}", "{suspend: false}"
	three := []step{started,
		{at: "12:11", given: []given{fails("@12:10")}, want: "say RunFailed"},
		{at: "12:21", given: []given{fails("@12:20")}, want: "create @12:20\nsay RunStarted\nsay RunFailed"},
	}
	over := func(at string, want string) []step {
		return []step{{at: "12:05", given: []given{edited(suspend)}, want: "Paused True/Suspended\nnext none"},
			{at: at, given: []given{edited(resume)}, want: want}}
	}
	paused := step{at: "12:31", given: []given{fails("@12:30")}, want: `
		create @12:30
		say RunStarted
		say RunFailed
		say PausedAfterFailures
		Paused True/Failures
		failures 3`}
	play(t, map[string]scenario{
		"TT-084 suspended": {steps: []step{{at: "12:05", given: []given{edited(suspend)}, want: "Paused True/Suspended\nnext none\nwake none\nwrites 1"},
			{at: "13:00", quiet: true, want: "writes 0\nA none\nL none"}}},
		"TT-092 unseen": {steps: []step{{at: "12:05", want: ""},
			{at: "13:05", asleep: true, given: []given{edited(suspend), edited(resume)}, want: `
				create @13:00
				say TimesMissed
				say RunStarted
				L 12:10…12:50 x5 Missed/Outage`}}},
		"TT-094 three failures, not in a row": {spec: "{pauseAfterFailures: 3}", steps: append(three[:3:3],
			step{at: "12:31", given: []given{succeeds("@12:30")}, want: "create @12:30\nsay RunStarted\nsay RunSucceeded\nfailures 0"},
			step{at: "12:41", given: []given{fails("@12:40")}, want: "create @12:40\nsay RunStarted\nsay RunFailed"},
			step{at: "12:51", given: []given{fails("@12:50")}, want: "create @12:50\nprune @12:10\nsay RunStarted\nsay RunFailed\nPaused False/Active"})},
		"TT-085 resumed": {steps: over("13:05", `
			say Resumed
			L 12:10…13:00 x6 Skipped/Suspended
			wake 13:10
			counts 0 started 0 succeeded 0 failed 0 cancelled 6 skipped 0 missed`)},
		"TT-086 resumed, to catch up": {spec: "{onResume: CatchUp}", steps: over("13:05", `
			create @13:00
			say RunStarted
			say Resumed
			A 13:00 CatchUp
			L 12:10…12:50 x5 Skipped/Suspended`)},
		"TT-087 all": {spec: "{onResume: CatchUp, catchUp: {policy: All, limit: 3}}", steps: over("13:05", `
			create @12:40
			say RunStarted
			say Resumed
			W 12:50 Overlap
			W 13:00 Overlap
			L 12:10…12:30 x3 Skipped/Suspended`)},
		"TT-088 with a deadline": {spec: "{onResume: CatchUp, startingDeadline: 10m}", steps: over("13:05", `
			create @13:00
			say RunStarted
			say Resumed
			L 12:10…12:50 x5 Skipped/Suspended`)},
		"TT-089 while a time waits, to catch up": {spec: "{onResume: CatchUp}", steps: []step{started, {at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:21", given: []given{edited(suspend)}, want: "W 12:20 Suspended"}}},
		"TT-089 while a time waits": {steps: []step{started, {at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:21", given: []given{edited(suspend)}, want: "W none\nL 12:20 Skipped/Suspended"}}},
		"TT-091 suspended until": {spec: `{suspendUntil: "2026-05-04T12:30:00Z"}`, steps: []step{
			{at: "12:20", want: "Paused True/SuspendedUntil"},
			{at: "12:30", want: "create @12:30\nsay RunStarted\nsay Resumed\nL 12:10…12:20 x2 Skipped/Suspended"}}},
		"TT-095 three failures in a row": {spec: "{pauseAfterFailures: 3}", steps: append(three[:3:3], paused, step{at: "12:50", want: ""})},
		"TT-097 another image": {spec: "{pauseAfterFailures: 3}", steps: append(three[:3:3], paused,
			step{at: "12:45", given: []given{edited(image)}, want: "say Resumed\nHealthy False/RunFailed\nfailures 3\nL 12:40 Skipped/Paused"},
			step{at: "12:51", given: []given{fails("@12:50")}, want: "create @12:50\nprune @12:10\nsay RunStarted\nsay RunFailed\nPaused False/Active\nfailures 4"})},
		"TT-098 another annotation": {spec: "{pauseAfterFailures: 3}", given: []given{annotated("before")}, steps: append(three[:3:3], paused,
			step{at: "12:32", given: []given{annotated("before")}, want: "Paused True/Failures"},
			step{at: "12:45", given: []given{annotated("now")}, want: "say Resumed\nPaused False/Active\nL 12:40 Skipped/Paused"},
			step{at: "12:50", want: "create @12:50\nsay RunStarted"})},
		"TT-234 three more failures": {spec: "{pauseAfterFailures: 3}", steps: append(three[:3:3], paused,
			step{at: "12:32", given: []given{annotated("now")}, want: "say Resumed"},
			step{at: "12:41", given: []given{fails("@12:40")}, want: "create @12:40\nprune @12:10\nsay RunStarted\nsay RunFailed\nfailures 4"},
			step{at: "12:51", given: []given{fails("@12:50")}, want: "create @12:50\nprune @12:20\nsay RunStarted\nsay RunFailed\nfailures 5"},
			step{at: "13:01", given: []given{fails("@13:00")}, want: `
				create @13:00
				prune @12:30
				say RunStarted
				say RunFailed
				say PausedAfterFailures
				Paused True/Failures
				failures 6`})},
		"TT-099 applied again and again": {spec: "{pauseAfterFailures: 3}", steps: append(three[:3:3], paused,
			step{at: "12:34", given: []given{applied}, want: "Paused True/Failures\nwrites 0"},
			step{at: "12:37", given: []given{applied}, want: "Paused True/Failures\nwrites 0"})},
		"TT-227 suspended until earlier": {spec: `{suspendUntil: "2026-05-04T14:00:00Z"}`, steps: []step{
			{at: "12:35", given: []given{edited(`{suspendUntil: "2026-05-04T12:25:00Z"}`)}, want: `
				say Resumed
				L 12:10…12:30 x3 Skipped/Suspended
				wake 12:40`}}},
	})
}

// Edits.
func TestEditScenarios(t *testing.T) {
	yesterday := createdAt("2026-05-03T12:00:00Z")
	cron := func(text string) given { return edited(`{schedules: [{name: main, cron: "` + text + `"}]}`) }
	const today = "{exclude: [{period: 2026-05-04}]}"
	waiting := []step{started, {at: "12:30", want: "say RunLate\nW 12:20 Overlap\nW 12:30 Overlap"}}
	play(t, map[string]scenario{
		"TT-101 to an earlier hour": {spec: `{schedules: [{name: main, cron: "0 23 * * *"}]}`, given: []given{yesterday}, steps: []step{
			{at: "2026-05-03T23:01:00Z", want: "create tick-20260503-230000\nsay RunStarted"},
			{at: "12:00", given: []given{succeeds("tick-20260503-230000"), cron("0 5 * * *")}, want: `
				say RunSucceeded
				say TimesSkipped
				L 05:00 Skipped/Edited
				wake 2026-05-05T05:00Z`},
			{at: "23:30", want: ""}}},
		"TT-102 a minute later": {spec: `{schedules: [{name: main, cron: "33 16 * * *"}]}`, steps: []step{
			{at: "16:33", want: "create @16:33\nsay RunStarted"},
			{at: "16:34:08", given: []given{succeeds("@16:33"), cron("34 16 * * *")}, want: `
				say RunSucceeded
				say TimesSkipped
				L 16:34 Skipped/Edited
				A none`}}},
		"TT-102 a time that has been started, and a crash before its record": {steps: []step{
			{at: "12:10", given: []given{diesAfter(1)}, want: "create @12:10"},
			{at: "12:12", given: []given{cron("5-59/10 * * * *")}, want: `
				say RunStarted
				say TimesSkipped
				A 12:10 Schedule
				L 12:05 Skipped/Edited
				counts 1 started 0 succeeded 0 failed 0 cancelled 1 skipped 0 missed`}}},
		"TT-109 a time is excluded, and nothing can be written before it comes": {steps: []step{started,
			{at: "12:12", given: []given{succeeds("@12:10"), writesFail(internal), edited(`{exclude: [{period: 2026-05-04T12:20/2026-05-04T12:30}]}`)}, want: ""},
			{at: "12:25", given: []given{writesFail(nil)}, want: `
				say RunSucceeded
				L 12:20 Skipped/Excluded
				L 12:10 Succeeded
				counts 1 started 1 succeeded 0 failed 0 cancelled 1 skipped 0 missed`}}},
		"TT-115 an edit at which nothing can be decided, and that is undone": {steps: []step{started, {at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:25", given: []given{gone("@12:10"), readsFail(internal), cron("5-59/10 * * * *")}, want: "A 12:10 Schedule\nW 12:20 Overlap"},
			{at: "12:27", given: []given{cron("*/10 * * * *")}, want: "A 12:10 Schedule\nW 12:20 Overlap"},
			{at: "12:28", given: []given{readsFail(nil)}, want: `
				say RunCancelled
				say TimesSkipped
				L 12:20 Skipped/Edited
				W none
				next 12:30 12:40 12:50 13:00 13:10`}}},
		"TT-104 an edit after a while in which nothing could be decided": {steps: []step{started,
			{at: "12:15", given: []given{gone("@12:10"), readsFail(internal)}, want: "A 12:10 Schedule"},
			{at: "12:22", given: []given{edited(`{template: {metadata: {labels: {x: "$(carillon.nope)"}}}}`)}, want: "say InvalidSpec\nnext 12:20 12:30 12:40 12:50 13:00"},
			{at: "12:25", given: []given{edited("{template: {metadata: {labels: {x: z}}}}"), cron("*/5 * * * *"), readsFail(nil)}, want: `
				create @12:20
				say RunCancelled
				say TimesSkipped
				say RunStarted
				A 12:20 CatchUp
				L 12:15…12:25 x2 Skipped/Edited`}}},
		"TT-103 another zone": {spec: `{schedules: [{name: main, cron: "0 13 * * *"}]}`, steps: []step{
			{at: "12:30", given: []given{edited("{timeZone: Europe/Rome}")}, want: `
				A none
				wake 2026-05-05T11:00Z`}}},
		"TT-106 another schedule": {spec: "{concurrency: {policy: Queue}}", steps: append(waiting[:2:2], step{at: "12:31",
			given: []given{edited(`{schedules: [{name: main, cron: "*/10 * * * *"}, {name: other, cron: "0 0 * * *"}]}`)}, want: `
				W 12:20 Overlap
				W 12:30 Overlap`})},
		"TT-107 today is excluded": {spec: "{concurrency: {policy: Queue}}", steps: append(waiting[:2:2], step{at: "12:31", given: []given{edited(today)}, want: `
			say TimesSkipped
			L 12:20…12:30 x2 Skipped/Edited
			W none`})},
		"TT-108 the only field of a manager": {spec: today, steps: []step{{at: "12:25", given: []given{edited("{exclude: null}")}, want: `
			say TimesSkipped
			L 12:10…12:20 x2 Skipped/Edited
			wake 12:30`}}},
		"TT-110 a Calendar loses today": {spec: "{exclude: [{calendar: holidays}]}", given: []given{calendar("holidays", "2026-05-04")}, steps: []step{
			{at: "12:15", given: []given{calendar("holidays", "12-25")}, want: "say TimesSkipped\nL 12:10 Skipped/Edited"},
			{at: "12:20", want: "create @12:20\nsay RunStarted"}}},
		"TT-111 another image": {steps: []step{started,
			{at: "12:15", given: []given{edited(image)}, want: "A 12:10 Schedule"},
			{at: "12:20", given: []given{succeeds("@12:10")}, want: "create @12:20\nsay RunSucceeded\nsay RunStarted"},
			{at: "12:21", given: []given{looks(func(w *world, fail func(string, ...any)) {
				if got, want := imageOf(w, "@12:10")+" "+imageOf(w, "@12:20"), "busybox alpine"; got != want {
					fail("images %s", got)
				}
			})}, want: ""}}},
		"TT-113 TT-114 the window ends, and is moved": {steps: []step{started,
			{at: "12:12", given: []given{edited(`{window: {notAfter: "2026-05-04T12:15:00Z"}}`)}, want: "next none"},
			{at: "12:20", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nsay Completed\nCompleted True/NoMoreTimes"},
			{at: "12:45", given: []given{edited(`{window: {notAfter: "2026-05-04T13:00:00Z"}}`)}, want: `
				say TimesSkipped
				Completed False/TimesAhead
				L 12:20…12:40 x3 Skipped/Edited`},
			{at: "12:50", want: "create @12:50\nsay RunStarted"}}},
		"TT-241 less room": {spec: "{concurrency: {limit: 3}}", steps: []step{started,
			{at: "12:30", want: "create @12:20\ncreate @12:30\nsay RunStarted\nsay RunStarted"},
			{at: "12:31", given: []given{edited("{concurrency: {limit: 1}}")}, want: "writes 1"},
			{at: "12:40", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nW 12:40 Overlap"},
			{at: "12:41", given: []given{succeeds("@12:20", "@12:30")}, want: "create @12:40\nsay RunSucceeded\nsay RunSucceeded\nsay RunStarted"}}},
		"TT-104 edited while nobody looked": {steps: []step{started,
			{at: "12:12", given: []given{succeeds("@12:10")}, want: "say RunSucceeded"},
			{at: "12:35", asleep: true, given: []given{restarted, cron("*/5 * * * *")}, want: `
				create @12:30
				say TimesMissed
				say TimesSkipped
				say RunStarted
				wake 12:40`}}},
		"TT-104 to other times": {steps: []step{started,
			{at: "12:12", given: []given{succeeds("@12:10")}, want: "say RunSucceeded"},
			{at: "12:35", asleep: true, given: []given{restarted, cron("5-59/10 * * * *")}, want: `
				say TimesSkipped
				counts 1 started 1 succeeded 0 failed 0 cancelled 5 skipped 0 missed`}}},
		"TT-105 a holiday of another year": {spec: `{schedules: [{name: main, cron: "30 2 * * *"}], exclude: [{calendar: holidays}]}`,
			given: []given{calendar("holidays", "2026-12-25")}, steps: []step{{at: "2026-05-05T02:00:00Z", want: ""},
				{at: "2026-05-05T09:00:00Z", asleep: true, given: []given{calendar("holidays", "2026-12-25", "2028-01-06")}, want: `
					create tick-20260505-023000
					say RunStarted
					A 2026-05-05T02:30Z CatchUp`}}},
		"TT-236 a Calendar is made again": {spec: `{startingDeadline: 4h, schedules: [{name: main, cron: "30 2 * * *"}], exclude: [{calendar: holidays}]}`,
			given: []given{calendar("holidays", "2026-12-25")}, steps: []step{{at: "2026-05-05T02:29:59Z", given: []given{noCalendar("holidays")}, want: "say InvalidSpec"},
				{at: "2026-05-05T02:30:02Z", want: "W 2026-05-05T02:30Z NotReady"},
				{at: "2026-05-05T02:30:05Z", given: []given{calendar("holidays", "2026-12-25")}, want: "create tick-20260505-023000\nsay RunStarted"}}},
		"TT-255 a Calendar comes while no status can be written": {spec: "{concurrency: {policy: Queue, limit: 2, queueLimit: 0}, exclude: [{calendar: holidays}]}", steps: []step{
			{at: "12:14", given: []given{writesFail(internal), calendar("holidays", "12-25")}, want: ""},
			{at: "12:20", want: "create @12:20"},
			{at: "12:21", given: []given{succeeds("@12:20")}, want: ""},
			{at: "12:30", want: "create @12:30"},
			{at: "12:40", want: "create @12:40"}}},
		"TT-109 a Calendar gains today": {spec: "{exclude: [{calendar: holidays}]}", given: []given{calendar("holidays", "12-25")}, steps: []step{started,
			{at: "12:15", given: []given{calendar("holidays", "12-25", "2026-05-04")}, want: "A 12:10 Schedule"},
			{at: "12:45", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nL 12:20…12:40 x3 Skipped/Excluded"}}},
		"TT-117 today is excluded": {spec: "{exclude: [{period: 2026-05-04}]}", steps: []step{{at: "12:45", given: []given{edited("{lateAfter: 5m}")},
			want: "L 12:10…12:40 x4 Skipped/Excluded"}}},
	})
}

const image = `{template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: alpine}]}}}}}`

func imageOf(w *world, name string) string {
	spec := w.child(name).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return spec["containers"].([]any)[0].(map[string]any)["image"].(string)
}

// Calendars, windows, one-shots, daylight saving.
func TestCalendarScenarios(t *testing.T) {
	at := func(moment string) string { return `{schedules: [{name: main, at: ["` + moment + `"]}]}` }
	play(t, map[string]scenario{
		"TT-118 all is excluded":  {spec: "{exclude: [{period: 01-01/12-31}]}", steps: []step{{at: "12:30", want: "Ready False/AllExcluded\nA none"}}},
		"TT-119 no such Calendar": {spec: "{exclude: [{calendar: nope}]}", steps: []step{{at: "12:30", want: "Ready False/CalendarNotFound\nA none"}}},
		"TT-120 the local date decides": {spec: `{timeZone: Europe/Berlin, exclude: [{period: 2026-12-25}], schedules: [{name: main, cron: "0 23 * * *"}]}`,
			given: []given{createdAt("2026-12-24T12:00:00Z")}, steps: []step{
				{at: "2026-12-24T22:00:00Z", want: "create tick-20261224-220000\nsay RunStarted"},
				{at: "2026-12-25T22:00:00Z", want: ""}}},
		"TT-121 a moment that has passed": {spec: at("2026-05-04T12:00"), unseen: true, steps: []step{{at: "12:03:20", want: `
			say Completed
			Completed True/NoMoreTimes
			counts 0 started 0 succeeded 0 failed 0 cancelled 0 skipped 0 missed
			wake none`}}},
		"TT-122 a moment": {spec: at("2026-05-04T12:10"), steps: []step{started,
			{at: "12:11", given: []given{restarted}, want: "Completed False/TimesAhead"},
			{at: "12:12", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nsay Completed\nCompleted True/NoMoreTimes"}}},
		"TT-123 the first instant": {spec: `{window: {notBefore: "2026-05-04T12:20:00Z"}}`, steps: []step{{at: "12:20", want: "create @12:20\nsay RunStarted"}}},
		"TT-124 a time that the clock skips": {spec: `{timeZone: America/New_York, schedules: [{name: main, cron: "30 2 * * *"}]}`,
			given: []given{createdAt("2026-03-07T12:00:00Z")}, steps: []step{{at: "2026-03-08T07:00:00Z", want: `
				create tick-20260308-070000
				say RunStarted`}}},
		"TT-125 skipped with it": {spec: `{timeZone: America/New_York, dst: {gap: Skip}, schedules: [{name: main, cron: "30 2 * * *"}]}`,
			given: []given{createdAt("2026-03-07T12:00:00Z")}, steps: []step{{at: "2026-03-08T23:00:00Z", want: `
				counts 0 started 0 succeeded 0 failed 0 cancelled 0 skipped 0 missed`}}},
		"TT-126 a time that comes twice": {spec: `{timeZone: America/New_York, schedules: [{name: main, cron: "30 1 * * *"}]}`,
			given: []given{createdAt("2026-10-31T12:00:00Z")}, steps: []step{{at: "2026-11-01T07:00:00Z", want: `
				create tick-20261101-053000
				say RunStarted`}}},
		"TT-128 an unknown zone": {spec: "{timeZone: Mars/Olympus}", steps: []step{{at: "12:10", want: "Ready False/UnknownTimeZone\nA none"}}},
		"TT-237 the floor is per item": {spec: `{schedules: [{name: daily, cron: "0 0 * * *"}, {name: once, at: ["2027-03-01T00:00:05"]}]}`,
			given: []given{createdAt("2027-02-28T12:00:00Z")}, steps: []step{{at: "2027-03-01T00:00:04Z", want: `
				create tick-20270301-000000
				say RunStarted
				Ready True/Accepted`},
				{at: "2027-03-01T00:00:05Z", given: []given{succeeds("tick-20270301-000000")}, want: `
				create tick-20270301-000005
				say RunSucceeded
				say RunStarted`}}},
		"TT-251 the second one is excluded": {spec: `{schedules: [{name: main, at: ["2026-05-04T12:10", "2026-05-05T12:10"]}], exclude: [{period: 2026-05-05}]}`,
			steps: []step{started, {at: "12:12", given: []given{succeeds("@12:10")}, want: `
				say RunSucceeded
				say Completed
				Ready True/Accepted
				Completed True/NoMoreTimes`}}},
		"TT-252 a period that does not exist": {spec: "{exclude: [{calendar: holidays}]}",
			given: []given{calendar("holidays", "12-25", "12-26", "01-01", "2027-02-29")}, steps: []step{{at: "12:10", want: "Ready False/InvalidExclusion\nA none"}}},
	})
}
