// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import "testing"

// What this process has started, and no status could be told of (timetable.md 5.4).
func TestUnrecordedScenarios(t *testing.T) {
	play(t, map[string]scenario{
		"TT-197 a first child, resumed after a status was written in the pause": {spec: "{onResume: CatchUp}", steps: []step{
			{at: "12:10", given: []given{strips, writesFail(internal)}, want: "create @12:10\nstop @12:10\nsay OwnerRemoved"},
			{at: "12:12", given: []given{gone("@12:10"), stripsNoMore, edited("{suspend: true}"), writesFail(nil)}, want: ""},
			{at: "12:15", given: []given{edited("{suspend: false}")}, want: "say TimesMissed\nsay Resumed\nL 12:10 Missed/CreateFailed"}}},
		"TT-197 a first child, and its planned start is put off": {steps: []step{
			{at: "12:10", given: []given{strips, writesFail(internal)}, want: "create @12:10\nstop @12:10\nsay OwnerRemoved"},
			{at: "12:10:05", given: []given{gone("@12:10"), stripsNoMore, edited("{jitter: 5m}"), writesFail(nil)}, want: ""},
			{at: "12:12", want: "say TimesMissed\nL 12:10 Missed/CreateFailed"}}},
		"TT-197 a first child, and the clock goes back": {steps: []step{
			{at: "12:10", given: []given{strips, writesFail(internal)}, want: "create @12:10\nstop @12:10\nsay OwnerRemoved"},
			{at: "12:09", asleep: true, given: []given{gone("@12:10"), stripsNoMore, edited("{lateAfter: 7m}"), writesFail(nil)}, want: ""},
			{at: "12:12", want: "say TimesMissed\nL 12:10 Missed/CreateFailed"}}},
		"TT-264 a child that is taken from us, and no status can be written": {steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:15", given: []given{takenAway("@12:10")}, want: ""},
			{at: "12:20", want: ""},
			{at: "12:21", given: []given{writesFail(nil)}, want: "say RunStarted\nA 12:10 Schedule\nW 12:20 Overlap"}}},
		"TT-264 a child that is taken from us, unrecorded, and reads fail": {steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:15", given: []given{takenAway("@12:10"), readsFail(internal), writesFail(nil)}, want: ""},
			{at: "12:20", given: []given{readsFail(nil)}, want: "say RunStarted\nA 12:10 Schedule\nW 12:20 Overlap"}}},
		"TT-194 TT-189 a run ahead of the clock is gone before it could be recorded": {steps: []step{{at: "12:05", want: ""},
			{at: "13:00", asleep: true, given: []given{writesFail(internal)}, want: "create @13:00"},
			{at: "12:06", asleep: true, given: []given{gone("@13:00")}, want: ""},
			{at: "12:07", given: []given{writesFail(nil)}, want: "L none"},
			{at: "12:10", want: "create @12:10\nsay RunStarted"}}},
		"TT-182 TT-194 nothing is pruned before a first status is written": {spec: "{history: {failed: {limit: 0}}}", steps: []step{
			{at: "12:03:20", given: []given{erased, writesFail(internal)}, want: ""},
			{at: "12:10", want: "create @12:10"},
			{at: "12:11", given: []given{fails("@12:10")}, want: ""},
			{at: "12:20", want: "create @12:20"},
			{at: "12:21", given: []given{fails("@12:20")}, want: ""},
			{at: "12:09", asleep: true, want: ""},
			{at: "12:10", want: ""}}},
		"TT-194 a process whose clock was ahead has started a time, and no other is to start": {steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:06", asleep: true, given: []given{restarted, writesFail(nil), edited("{suspend: true}")}, want: "wake 12:10\nA none"},
			{at: "12:10", want: "say RunStarted\nA 12:10 Schedule"}}},
		"TT-188 two runs end, and an attempt of one cannot be read": {spec: "{concurrency: {limit: 3}, retry: {limit: 3, delay: 10s}}", steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:12", given: []given{fails("@12:10")}, want: ""},
			{at: "12:13", want: "create @12:10-r2"},
			{at: "12:20", want: "create @12:20"},
			{at: "12:21", given: []given{succeeds("@12:20"), gone("@12:10-r2"), readsFail(internal), writesFail(nil)}, want: ""},
			{at: "12:22", given: []given{readsFail(nil)}, want: `
				say RunStarted
				say RunStarted
				say RunCancelled
				say RunSucceeded
				counts 2 started 1 succeeded 0 failed 1 cancelled 0 skipped 0 missed`}}},
		"TT-188 TT-189 two runs are gone, and an attempt of one cannot be read": {spec: "{concurrency: {limit: 3}, retry: {limit: 3, delay: 10s}}", steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:12", given: []given{fails("@12:10")}, want: ""},
			{at: "12:13", want: "create @12:10-r2"},
			{at: "12:20", want: "create @12:20"},
			{at: "12:21", given: []given{gone("@12:20"), gone("@12:10-r2"), readsFail(internal), writesFail(nil)}, want: ""},
			{at: "12:22", given: []given{readsFail(nil)}, want: `
				say RunStarted
				say RunStarted
				say RunCancelled
				say RunCancelled
				counts 2 started 0 succeeded 0 failed 2 cancelled 0 skipped 0 missed`}}},
	})
}
