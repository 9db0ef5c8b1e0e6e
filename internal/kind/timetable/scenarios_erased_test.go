// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import "testing"

// noConditions: somebody removed the conditions of the status.
func noConditions(w *world) {
	delete(w.timetable["status"].(map[string]any), "conditions")
	w.admit()
}

// Whoever erases the conditions of a status, also while nobody looks, starts nothing by that: the rest of the status
// tells as much of a pause (timetable.md 3.5, 3.7).
func TestErasedConditions(t *testing.T) {
	const (
		suspend = "{suspend: true}"
		resume  = "{suspend: false}"
	)
	failing := []step{started, {at: "12:11", given: []given{fails("@12:10")}, want: "say RunFailed\nsay PausedAfterFailures\nPaused True/Failures"}}
	play(t, map[string]scenario{
		"suspended": {steps: []step{{at: "12:05", given: []given{edited(suspend)}, want: "Paused True/Suspended"},
			{at: "12:25", given: []given{noConditions}, want: "Paused True/Suspended\nL 12:10…12:20 x2 Skipped/Suspended"},
			{at: "13:05", given: []given{edited(resume)}, want: "say Resumed\nL 12:10…13:00 x6 Skipped/Suspended"}}},
		"suspended, and resumed unseen": {steps: []step{{at: "12:05", given: []given{edited(suspend)}, want: "Paused True/Suspended"},
			{at: "13:05", asleep: true, given: []given{noConditions, restarted, edited(resume)}, want: "say Resumed\nL 12:10…13:00 x6 Skipped/Suspended"}}},
		"suspended until, unseen": {spec: `{suspendUntil: "2026-05-04T12:35:00Z"}`, steps: []step{{at: "12:05", want: "Paused True/SuspendedUntil"},
			{at: "12:41", asleep: true, given: []given{noConditions, restarted}, want: "create @12:40\nsay RunStarted\nsay Resumed\nL 12:10…12:30 x3 Skipped/Suspended"}}},
		"paused": {spec: "{pauseAfterFailures: 1}", steps: append(failing[:2:2],
			step{at: "12:25", given: []given{noConditions, restarted}, want: "Paused True/Failures\nL 12:20 Skipped/Paused"})},
		"paused, and mended unseen": {spec: "{pauseAfterFailures: 1}", steps: append(failing[:2:2],
			step{at: "12:45", asleep: true, given: []given{noConditions, restarted, edited("{lateAfter: 5m}")}, want: "say Resumed\nL 12:20…12:40 x3 Skipped/Paused\nfailures 1"})},
		"not paused: an outage as any other": {steps: []step{{at: "12:05", want: ""},
			{at: "12:35", asleep: true, given: []given{noConditions, restarted}, want: "create @12:30\nsay TimesMissed\nsay RunStarted\nL 12:10…12:20 x2 Missed/Outage"}}},
		"not ready, and mended unseen": {spec: "{exclude: [{calendar: holidays}]}", steps: []step{{at: "12:05", want: "Ready False/CalendarNotFound"},
			{at: "12:35", asleep: true, given: []given{noConditions, restarted, calendar("holidays", "2026-05-04")}, want: "say Resumed\nReady True/Accepted\nA none\nL 12:10…12:30 x3 Skipped/Excluded"}}},
	})
}
