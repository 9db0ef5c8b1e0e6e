// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

var (
	quota    = apierrors.NewForbidden(jobs, "tick", errors.New("exceeded quota"))
	internal = apierrors.NewInternalError(errors.New("etcd is away"))
)

func createsFail(err error) given { return func(w *world) { w.failCreate = err } }
func writesFail(err error) given  { return func(w *world) { w.failWrite = err } }
func deletesFail(err error) given { return func(w *world) { w.failDelete = err } }
func readsFail(err error) given   { return func(w *world) { w.failRead = err } }
func answersLost(lost bool) given { return func(w *world) { w.loseAnswers = lost } }

// hides: from now on the cache does not show what is created without an answer, or again all that there is.
func hides(hidden bool) given {
	return func(w *world) {
		if w.hides = hidden; !hidden {
			clear(w.hidden)
		}
	}
}

// deadlineExceeded is a Job that failed because of its activeDeadlineSeconds.
func deadlineExceeded(name string) given {
	return func(w *world) {
		fails(name)(w)
		conditions := w.child(name).Object["status"].(map[string]any)["conditions"].([]any)
		conditions[0].(map[string]any)["reason"] = "DeadlineExceeded"
	}
}

// state sets status.state of a child of a kind that Carillon does not know.
func state(name, value string) given {
	return func(w *world) { w.child(name).Object["status"] = map[string]any{"state": value} }
}

func deadlineIs(name string, want int64) given {
	return looks(func(w *world, fail func(string, ...any)) {
		if got := w.child(name).Object["spec"].(map[string]any)["activeDeadlineSeconds"]; got != want {
			fail("activeDeadlineSeconds of %s is %v", name, got)
		}
	})
}

// beganAt looks at the newest entry of the ledger.
func beganAt(want string) given {
	return looks(func(w *world, fail func(string, ...any)) {
		if e := w.stored().Status.Ledger[0]; e.StartTime == nil || !e.StartTime.Equal(new(clock(want))) {
			fail("the run began at %v, want %s", e.StartTime, want)
		}
	})
}

// waitsByHand is a status into which somebody has written that a time waits.
func waitsByHand(at string) given {
	return func(w *world) {
		time := instant(at).UTC().Format(time.RFC3339)
		w.timetable["status"].(map[string]any)["waiting"] = []any{map[string]any{"scheduledTime": time, "startsAt": time, "trigger": "Schedule", "reason": "Overlap"}}
		w.admit()
	}
}

// manyItems sets status.list of a child.
func manyItems(name string) given {
	return func(w *world) {
		list := make([]any, 100_000)
		for i := range list {
			list[i] = int64(1)
		}
		w.child(name).Object["status"] = map[string]any{"list": list}
	}
}

// labelless is a child whose labels somebody removed.
func labelless(name string) given { return func(w *world) { w.child(name).SetLabels(nil) } }

// pipelines are runs of a kind that Carillon does not know.
const pipelines = `template: {apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}},
	outcome: {succeeded: "object.status.state == 'done'", failed: "object.status.state == 'broken'"}`

// messageOf is what the status says of a time that waits.
func messageOf(at, want string) given {
	return looks(func(w *world, fail func(string, ...any)) {
		for _, x := range w.stored().Status.Waiting {
			if shortTime(x.ScheduledTime.Time) == at && x.Message == want {
				return
			}
		}
		fail("of %s is not said %q: %+v", at, want, w.stored().Status.Waiting)
	})
}

func deletedTimetable(w *world) {
	w.metadata()["deletionTimestamp"] = w.now.UTC().Format("2006-01-02T15:04:05Z")
	w.admit()
}

// succeedsAt is a Job that succeeded a while ago.
func succeedsAt(name, at string) given { return happened(at, succeeds(name)) }

// goesSince is a child that was deleted a while ago and is there still.
func goesSince(name, at string) given { return happened(at, goes(name)) }

func happened(at string, what given) given {
	return func(w *world) {
		now := w.now
		w.now = instant(at)
		what(w)
		w.now = now
	}
}

// goes is a child that somebody deletes, and that is there until its own are gone.
func goes(name string) given {
	return func(w *world) { w.child(name).SetDeletionTimestamp(new(metav1.NewTime(w.now))) }
}

// pods is a template of a Pod. phase is what has become of one, and evicted one that its node is rid of.
const pods = `template: {apiVersion: v1, kind: Pod, spec: {containers: [{name: x, image: x}]}}`

func phase(name, is string) given {
	return func(w *world) {
		if err := unstructured.SetNestedField(w.child(name).Object, is, "status", "phase"); err != nil {
			w.t.Fatal(err)
		}
	}
}

func evicted(name string) given {
	return func(w *world) {
		condition := map[string]any{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
		if err := unstructured.SetNestedSlice(w.child(name).Object, []any{condition}, "status", "conditions"); err != nil {
			w.t.Fatal(err)
		}
	}
}

// History and status.
func TestHistoryScenarios(t *testing.T) {
	allow := "concurrency: {policy: Allow}"
	play(t, map[string]scenario{
		"TT-177 five successes": {spec: "{" + allow + "}", steps: []step{started,
			{at: "12:50", want: "create @12:20\ncreate @12:30\ncreate @12:40\ncreate @12:50\nsay RunStarted\nsay RunStarted\nsay RunStarted\nsay RunStarted"},
			{at: "12:52", given: []given{succeeds("@12:10", "@12:20", "@12:30", "@12:40", "@12:50")}, want: `
				prune @12:10
				prune @12:20
				say RunSucceeded
				say RunSucceeded
				say RunSucceeded
				say RunSucceeded
				say RunSucceeded
				writes 1`}}},
		"TT-178 none is kept": {spec: "{history: {succeeded: {limit: 0}}}", steps: []step{started,
			{at: "12:10:40", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nlastSuccessfulTime 12:10:40\nwake 12:11"},
			{at: "12:11", want: "prune @12:10\nlastSuccessfulTime 12:10:40"}}},
		"TT-179 by age": {spec: "{history: {succeeded: {maxAge: 1h}}, " + allow + "}", steps: []step{started,
			{at: "12:20", want: "create @12:20\nsay RunStarted"},
			{at: "12:21", given: []given{succeeds("@12:10"), edited("{suspend: true}")}, want: "say RunSucceeded\nwake 13:21"},
			{at: "12:25", given: []given{succeeds("@12:20")}, want: "say RunSucceeded\nwake 13:21"},
			{at: "14:25", want: "prune @12:10\nprune @12:20"}}},
		"TT-180 one cannot be deleted": {spec: "{history: {succeeded: {limit: 0}}, " + allow + "}", steps: []step{started,
			{at: "12:20", want: "create @12:20\nsay RunStarted"},
			{at: "12:22", given: []given{succeeds("@12:10", "@12:20"), deletesFail(internal)}, want: `
				prune @12:10
				prune @12:20
				say RunSucceeded
				say RunSucceeded
				say CleanupFailed
				say CleanupFailed
				wake 12:23`},
			{at: "12:23", given: []given{deletesFail(nil)}, want: "prune @12:10\nprune @12:20"}}},
		"TT-178 somebody else deletes it at the same time": {spec: "{history: {succeeded: {limit: 0}}}", steps: []step{started,
			{at: "12:10:40", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nwake 12:11"},
			{at: "12:11", given: []given{deletesFail(apierrors.NewNotFound(jobs, "tick"))}, want: "prune @12:10"}}},
		"TT-182 what waited is adopted after a crash": {steps: []step{started, {at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:23", given: []given{succeeds("@12:10"), writesFail(internal)}, want: "create @12:20"},
			{at: "12:24", given: []given{restarted, writesFail(nil)}, want: "say RunStarted\nsay RunSucceeded\nA 12:20 Schedule"}}},
		"TT-181 a quota": {spec: "{history: {succeeded: {limit: 0}}}", steps: []step{started,
			{at: "12:20", given: []given{succeeds("@12:10"), createsFail(quota)}, want: `
				refused @12:20
				prune @12:10
				say RunSucceeded
				say CreateFailed
				W 12:20 CreateFailed`},
			{at: "12:20:05", given: []given{messageOf("12:20", `mend what forbids it: exceeded quota`)}, want: "refused @12:20\nwrites 0"}}},
		"TT-182 the status cannot be written": {spec: "{history: {succeeded: {limit: 0}}}", steps: []step{started,
			{at: "12:12", given: []given{writesFail(internal), succeeds("@12:10")}, want: ""},
			{at: "12:20", want: "create @12:20"},
			{at: "12:30", given: []given{succeeds("@12:20")}, want: "create @12:30"},
			{at: "12:40", given: []given{writesFail(nil)}, want: `
				prune @12:10
				prune @12:20
				say RunStarted
				say RunStarted
				say RunSucceeded
				say RunSucceeded
				L 12:20 Succeeded
				L 12:10 Succeeded
				counts 3 started 2 succeeded 0 failed 0 cancelled 0 skipped 0 missed`}}},
	})
}

// Crashes, leaders, clocks, and what of the rest can be told without a shell.
func TestFaultScenarios(t *testing.T) {
	play(t, map[string]scenario{
		"TT-187 a create whose answer got lost": {steps: []step{{at: "12:10", given: []given{answersLost(true)}, want: "create @12:10\nsay RunStarted\nA 12:10 Schedule"},
			{at: "12:10:05", given: []given{answersLost(false)}, want: ""}}},
		"TT-187 it ends before the cache or the status knows of it": {steps: []step{
			{at: "12:10", given: []given{answersLost(true), hides(true), writesFail(internal)}, want: "create @12:10"},
			{at: "12:15", given: []given{answersLost(false), succeeds("@12:10")}, want: ""},
			{at: "12:16", given: []given{writesFail(nil)}, want: "say RunStarted\nsay RunSucceeded\nL 12:10 Succeeded"},
			{at: "12:17", given: []given{hides(false)}, want: ""}}},
		"TT-187 TT-073 it is to be repeated, and neither the cache nor the status knows of it": {spec: "{retry: {limit: 2, delay: 10m}}", steps: []step{
			{at: "12:10", given: []given{answersLost(true), hides(true), writesFail(internal)}, want: "create @12:10"},
			{at: "12:15", given: []given{answersLost(false), fails("@12:10")}, want: ""},
			{at: "12:24", want: ""},
			{at: "12:25", want: "create @12:10-r2"},
			{at: "12:26", given: []given{writesFail(nil)}, want: "say RunStarted\nA 12:10 Schedule attempt 2\nW 12:20 Overlap"}}},
		"TT-188 reads fail, too": {steps: []step{
			{at: "12:10", given: []given{answersLost(true), readsFail(internal), lags}, want: "create @12:10\nsay CreateFailed\nW 12:10 CreateFailed"},
			{at: "12:20", given: []given{answersLost(false)}, want: "say RunLate\nW 12:10 CreateFailed\nW 12:20 CreateFailed\nL none"},
			{at: "12:21", given: []given{readsFail(nil)}, want: "say RunStarted\nW 12:20 Overlap\nA 12:10 Schedule\nL none"}}},
		"TT-188 and it was not created": {steps: []step{
			{at: "12:10", given: []given{createsFail(internal), readsFail(internal)}, want: "refused @12:10\nsay CreateFailed\nW 12:10 CreateFailed"},
			{at: "12:20", given: []given{createsFail(nil)}, want: "say RunLate\nW 12:10 CreateFailed\nW 12:20 CreateFailed\nL none"},
			{at: "12:21", given: []given{readsFail(nil)}, want: "create @12:20\nsay TimesMissed\nsay RunStarted\nA 12:20 Schedule\nL 12:10 Missed/CreateFailed"}}},
		"TT-188 under Replace, and it is an attempt": {spec: "{concurrency: {policy: Replace}, retry: {limit: 2, delay: 10s}}", steps: []step{started,
			{at: "12:15", given: []given{fails("@12:10")}, want: "say RunRetrying\nA 12:10 Schedule attempt 1 retry 12:15:10"},
			{at: "12:15:10", given: []given{answersLost(true), readsFail(internal), lags}, want: "create @12:10-r2\nsay CreateFailed\nA 12:10 Schedule attempt 1 retry 12:15:10"},
			{at: "12:20", given: []given{answersLost(false)}, want: "A 12:10 Schedule attempt 1 retry 12:15:10\nL none"},
			{at: "12:21", given: []given{readsFail(nil)}, want: "stop @12:10-r2"}}},
		"TT-188 suspended meanwhile": {steps: []step{
			{at: "12:10", given: []given{answersLost(true), readsFail(internal), lags}, want: "create @12:10\nsay CreateFailed\nW 12:10 CreateFailed"},
			{at: "12:15", given: []given{edited("{suspend: true}")}, want: "W 12:10 CreateFailed\nL none"},
			{at: "12:21", given: []given{readsFail(nil)}, want: "say RunStarted\nA 12:10 Schedule\nL 12:20 Skipped/Suspended"}}},
		"TT-188 it ends, and what else runs cannot be read": {spec: "{concurrency: {policy: Allow}, history: {succeeded: {limit: 0}}}", steps: []step{started,
			{at: "12:20", given: []given{writesFail(internal)}, want: "create @12:20"},
			{at: "12:25", given: []given{succeeds("@12:20"), gone("@12:10"), readsFail(internal), writesFail(nil)}, want: "A 12:10 Schedule"},
			{at: "12:26", given: []given{readsFail(nil)}, want: "prune @12:20\nsay RunStarted\nsay RunCancelled\nsay RunSucceeded\nA none"}}},
		"TT-189 a conflict": {steps: []step{{at: "12:10", given: []given{writesFail(conflict)}, want: "create @12:10"},
			{at: "12:10:01", given: []given{writesFail(nil)}, want: "say RunStarted\nA 12:10 Schedule\ncounts 1 started 0 succeeded 0 failed 0 cancelled 0 skipped 0 missed"}}},
		"TT-189 a result that is not recorded when the next pass begins": {spec: "{concurrency: {policy: Allow}}", steps: []step{
			{at: "12:10", given: []given{createsFail(quota)}, want: "refused @12:10\nsay CreateFailed\nW 12:10 CreateFailed"},
			{at: "12:20", given: []given{createsFail(nil), writesFail(internal)}, want: "create @12:20"},
			{at: "12:20:01", given: []given{writesFail(nil)}, want: "A 12:20 Schedule\nsay RunStarted\nsay TimesMissed\nW none"}}},
		"TT-189 a result of a new time that is not recorded when the next pass begins": {
			spec: `{schedules: [{name: main, cron: "0,30 * * * * *"}], concurrency: {policy: Queue, queueLimit: 0}}`, steps: []step{
				{at: "12:03:30", want: "create @12:03:30\nsay RunStarted"},
				{at: "12:04", given: []given{writesFail(internal)}, want: "L none"},
				{at: "12:04:06", given: []given{succeeds("@12:03:30")}, want: ""},
				{at: "12:04:07", given: []given{writesFail(nil)}, want: "create @12:04\nsay RunSucceeded\nsay RunStarted\nL 12:03:30 Succeeded"}}},
		"TT-189 TT-266 two new times that cannot be recorded when the next pass begins": {
			spec: `{schedules: [{name: main, cron: "0,30 * * * * *"}], concurrency: {limit: 2}, catchUp: {policy: All}}`, steps: []step{
				{at: "12:04:05", asleep: true, given: []given{createsFail(quota), writesFail(internal)}, want: "refused @12:03:30\nrefused @12:04\nsay CreateFailed\nsay CreateFailed"},
				{at: "12:04:06", given: []given{createsFail(nil)}, want: "create @12:03:30\ncreate @12:04"},
				{at: "12:04:07", given: []given{writesFail(nil)}, want: "A 12:03:30 CatchUp\nA 12:04 Schedule\nW none\nsay RunStarted\nsay RunStarted"},
				{at: "12:04:08", want: ""}}},
		"TT-189 a run whose object is gone before it could be recorded": {steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:10:30", given: []given{writesFail(nil), func(w *world) { clear(w.children) }},
				want: "say RunStarted\nsay RunCancelled\ncounts 1 started 0 succeeded 0 failed 1 cancelled 0 skipped 0 missed"}}},
		"TT-189 two runs whose objects are gone before they could be recorded": {spec: "{catchUp: {policy: All}, concurrency: {limit: 2}}", steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:20", want: "create @12:20"},
			{at: "12:22", given: []given{func(w *world) { clear(w.children) }}, want: ""},
			{at: "12:30", given: []given{writesFail(nil)}, want: `
				create @12:30
				say RunStarted
				say RunStarted
				say RunCancelled
				say RunCancelled
				say RunStarted
				A 12:30 Schedule
				L 12:20 Cancelled/Deleted
				L 12:10 Cancelled/Deleted
				counts 3 started 0 succeeded 0 failed 2 cancelled 0 skipped 0 missed`}}},
		"TT-189 one of them was passed by a later time": {spec: "{concurrency: {limit: 2}}", steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:12", given: []given{func(w *world) { clear(w.children) }}, want: ""},
			{at: "12:20", want: "create @12:20"},
			{at: "12:21", given: []given{writesFail(nil)}, want: `
				say RunStarted
				say RunStarted
				say RunCancelled
				A 12:20 Schedule
				L 12:10 Cancelled/Deleted
				counts 2 started 0 succeeded 0 failed 1 cancelled 0 skipped 0 missed`}}},
		"TT-140 TT-189 runs that no status tells of are stopped for their timeout": {spec: "{catchUp: {policy: All}, concurrency: {limit: 2}, timeout: 5m, retry: {limit: 1, delay: 8m}, " + pipelines + "}", steps: []step{
			{at: "12:10", given: []given{writesFail(internal)}, want: "create @12:10"},
			{at: "12:15", want: "stop @12:10"},
			{at: "12:16", given: []given{gone("@12:10")}, want: ""},
			{at: "12:20", want: "create @12:20"},
			{at: "12:21", want: ""},
			{at: "12:24", want: "create @12:10-r2"},
			{at: "12:24:30", given: []given{writesFail(nil)}, want: `
				say RunStarted
				say RunStarted
				A 12:10 Schedule attempt 2
				A 12:20 Schedule
				counts 2 started 0 succeeded 0 failed 0 cancelled 0 skipped 0 missed`}}},
		"TT-257 a time that is yet to come and that somebody has written among those that wait": {steps: []step{
			{at: "12:05", given: []given{waitsByHand("12:40")}, want: "W none\ncursor 12:03:20\nwake 12:10"},
			{at: "12:10", want: "create @12:10\nsay RunStarted"},
			{at: "12:15", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nwake 12:20"},
			{at: "12:16", given: []given{waitsByHand("2026-05-04T13:00:00Z"), restarted}, want: "W none\ncursor 12:10\nwake 12:20"},
			{at: "12:20", want: "create @12:20\nsay RunStarted"}}},
		"TT-258 the clock goes back while a time waits": {steps: []step{started, {at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:12", asleep: true, given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nW 12:20 Overlap\nwake 12:20"},
			{at: "12:20", want: "create @12:20\nsay RunStarted\nW none\nwake 12:30"}}},
		"TT-193 the clock goes back": {steps: []step{started,
			{at: "12:30", given: []given{succeeds("@12:10")}, want: "create @12:30\nsay RunSucceeded\nsay TimesSkipped\nsay RunStarted"},
			{at: "11:30", asleep: true, given: []given{succeeds("@12:30")}, want: "say RunSucceeded\nHealthy Unknown/ClockWentBack\nwake 12:40"},
			{at: "12:39", want: "L 12:30 Succeeded"},
			{at: "12:40", want: "create @12:40\nsay RunStarted\nHealthy True/RunSucceeded"}}},
		"TT-193 a child of a time that lies ahead goes when that has come": {spec: "{history: {succeeded: {limit: 0}}}", steps: []step{started,
			{at: "12:09:30", asleep: true, given: []given{succeeds("@12:10"), edited("{suspend: true}")}, want: "say RunSucceeded\nwake 12:10"},
			{at: "12:11", want: "prune @12:10"}}},
		"TT-195 somebody else has the name": {given: []given{foreign("tick-20260504-121000")}, steps: []step{
			{at: "12:10", want: "say NameTaken\nW 12:10 NameTaken"},
			{at: "12:11", given: []given{messageOf("12:10", "delete or rename what has the name tick-20260504-121000")}, want: ""},
			{at: "12:14", given: []given{gone("@12:10")}, want: "create @12:10\nsay RunStarted"}}},
		"TT-195 for ever": {given: []given{foreign("tick-20260504-121000")}, steps: []step{
			{at: "12:10", want: "say NameTaken\nW 12:10 NameTaken"},
			{at: "12:20", want: "create @12:20\nsay TimesMissed\nsay RunStarted\nL 12:10 Missed/NameTaken"}}},
		"TT-196 a webhook is down for an hour": {given: []given{createsFail(internal)}, steps: []step{
			{at: "12:10", want: "refused @12:10\nsay CreateFailed\nW 12:10 CreateFailed\nReady True/Accepted"},
			{at: "12:20", want: "refused @12:20\nsay TimesMissed\nsay CreateFailed\nsay RunLate\nW 12:20 CreateFailed since 12:10\nL 12:10 Missed/CreateFailed"},
			{at: "12:25", given: []given{createsFail(nil)}, want: "create @12:20\nsay RunStarted"}}},
		"TT-198 the API was away":    {steps: []step{{at: "12:05", want: ""}, {at: "12:15", asleep: true, want: "create @12:10\nsay RunStarted\nA 12:10 CatchUp"}}},
		"TT-205 an unknown variable": {spec: `{template: {metadata: {labels: {x: "$(carillon.nope)"}}}}`, steps: []step{{at: "12:30", want: "Ready False/InvalidTemplate\nA none\nW 12:30 NotReady since 12:10\nsay TimesMissed\nsay RunLate\nsay TimesMissed"}}},
		"TT-229 created long before the controller": {unseen: true, given: []given{createdAt("2026-04-23T12:00:00Z")}, steps: []step{{at: "12:07", want: `
			cursor 12:06
			next 12:10 12:20 12:30 12:40 12:50
			counts 0 started 0 succeeded 0 failed 0 cancelled 0 skipped 0 missed`}}},
		"TT-229 a run that no status could tell of goes on, although it began before the first cursor": {
			spec: "{history: {failed: {limit: 0}}, " + pipelines + "}", unseen: true, given: []given{writesFail(internal)}, steps: []step{
				{at: "12:04", asleep: true, want: ""},
				{at: "12:10", want: "create @12:10"},
				{at: "12:12", given: []given{restarted, writesFail(nil)}, want: "cursor 12:11\nA none"},
				{at: "12:13", given: []given{edited("{lateAfter: 5m}")}, want: ""},
				{at: "12:20", want: "W 12:20 Overlap"},
				{at: "12:21", given: []given{state("@12:10", "broken")}, want: "create @12:20\nprune @12:10\nsay RunStarted"}}},
		"TT-231 the first one hangs": {spec: `{schedules: [{name: main, cron: "* * * * *"}]}`, steps: []step{
			{at: "12:04", want: "create @12:04\nsay RunStarted"},
			{at: "12:14", want: "say TimesSkipped\nsay TimesSkipped\nsay TimesSkipped\nsay TimesSkipped\nsay TimesSkipped\nsay TimesSkipped\nsay TimesSkipped\nsay TimesSkipped\nsay TimesSkipped\nLate False/OnTime"},
			{at: "12:15", want: "say TimesSkipped\nsay RunLate\nLate True/Overlap"},
			{at: "12:16", want: "say TimesSkipped"}}},
		"TT-232 three in a row are stopped": {spec: "{concurrency: {policy: Replace}}", steps: []step{started,
			{at: "12:20", want: "stop @12:10"}, {at: "12:21", given: []given{gone("@12:10")}, want: "create @12:20\nsay RunCancelled\nsay RunStarted"},
			{at: "12:30", want: "stop @12:20"}, {at: "12:31", given: []given{gone("@12:20")}, want: "create @12:30\nsay RunCancelled\nsay RunStarted"},
			{at: "12:40", want: "stop @12:30"}, {at: "12:41", given: []given{gone("@12:30")}, want: "create @12:40\nsay RunCancelled\nsay RunStarted\nHealthy False/NeverFinishes"},
			{at: "12:42", given: []given{succeeds("@12:40")}, want: "say RunSucceeded\nHealthy True/RunSucceeded"}}},
		"TT-235 a later one was created": {spec: "{catchUp: {policy: All}, concurrency: {policy: Allow}}", steps: []step{{at: "12:05", want: ""},
			{at: "13:05", asleep: true, given: []given{only("tick-20260504-130000"), diesAfter(6)}, want: "refused @12:10\nrefused @12:20\nrefused @12:30\nrefused @12:40\nrefused @12:50\ncreate @13:00"},
			{at: "13:05:10", asleep: true, given: []given{only("")}, want: `
				create @12:10
				create @12:20
				create @12:30
				create @12:40
				create @12:50
				say RunStarted
				say RunStarted
				say RunStarted
				say RunStarted
				say RunStarted
				say RunStarted
				cursor 13:00`}}},
		"TT-240 its labels are removed": {steps: []step{started, {at: "12:15", given: []given{labelless("@12:10"), restarted}, want: "A 12:10 Schedule"},
			{at: "12:20", want: "W 12:20 Overlap"}}},
		"TT-243 it had completed before": {spec: "{concurrency: {policy: Replace}}", steps: []step{started, {at: "12:20", want: "stop @12:10"},
			{at: "12:20:05", given: []given{succeedsAt("@12:10", "12:19:59")}, want: "create @12:20\nsay RunSucceeded\nsay RunStarted\nL 12:10 Succeeded"}}},
		"TT-246 the second in line is fit": {spec: "{concurrency: {policy: Queue}}", steps: []step{started,
			{at: "12:30", want: "say RunLate\nW 12:20 Overlap\nW 12:30 Overlap"},
			{at: "12:31", given: []given{succeeds("@12:10"), only("tick-20260504-123000")}, want: "refused @12:20\ncreate @12:30\nsay RunSucceeded\nsay CreateFailed\nsay RunStarted\nW 12:20 CreateFailed"}}},
		"TT-247 a queue of what cannot be created": {spec: "{concurrency: {policy: Queue, queueLimit: 2}}", given: []given{createsFail(quota)}, steps: []step{
			{at: "12:29", want: "refused @12:10\nrefused @12:10\nrefused @12:20\nrefused @12:10\nrefused @12:20\nsay CreateFailed\nsay CreateFailed\nsay RunLate\nW 12:10 CreateFailed\nW 12:20 CreateFailed"},
			{at: "12:30", want: "refused @12:10\nrefused @12:20\nrefused @12:30\nsay TimesMissed\nW 12:10 CreateFailed\nW 12:20 CreateFailed\nL 12:30 Missed/CreateFailed"}}},
		"TT-253 the last success": {spec: `{template: {metadata: {annotations: {last: "$(carillon.lastSuccessScheduledTime)"}}}}`, steps: []step{started,
			{at: "12:12:30", given: []given{succeeds("@12:10")}, want: "say RunSucceeded"},
			{at: "12:20", want: "create @12:20\nsay RunStarted"},
			{at: "12:20:01", given: []given{looks(func(w *world, fail func(string, ...any)) {
				if got := w.child("@12:20").GetAnnotations()["last"]; got != "2026-05-04T12:10:00Z" {
					fail("last success %q", got)
				}
			})}, want: ""}}},
		"TT-255 nothing waits for room": {spec: "{concurrency: {policy: Queue, queueLimit: 0}}", steps: []step{started,
			{at: "12:20", want: "say TimesSkipped\nW none\nL 12:20 Skipped/QueueFull"}}},
		"TT-130 six fields": {spec: `{schedules: [{name: main, cron: "0 0 2 * * *"}]}`, steps: []step{{at: "12:10", want: "wake 2026-05-05T02:00Z"}}},
		"TT-028 jitter in status.next": {spec: "{jitter: 5m}", steps: []step{{at: "12:05", want: `
			next 12:10(12:10:40) 12:20(12:20:40) 12:30(12:30:40) 12:40(12:40:40) 12:50(12:50:40)`}}},
		"TT-024 all of the union": {spec: `{catchUp: {policy: All}, schedules: [{name: daily, cron: "0 2 * * *"}, {name: weekly, cron: "0 2 * * 0"}]}`,
			given: []given{createdAt("2026-05-09T12:00:00Z")}, steps: []step{{at: "2026-05-09T22:00:00Z", want: ""},
				{at: "2026-05-11T09:00:00Z", asleep: true, want: "create tick-20260510-020000\nsay RunStarted\nW 2026-05-11T02:00Z Overlap"},
				{at: "2026-05-11T09:05:00Z", given: []given{succeeds("tick-20260510-020000")}, want: "create tick-20260511-020000\nsay RunSucceeded\nsay RunStarted\nW none"}}},
		"TT-026 still named": {spec: `{schedules: [{name: a, cron: "0 13 * * *"}, {name: b, every: 1h}]}`, steps: []step{
			{at: "13:00:30", given: []given{edited(`{schedules: [{name: b, every: 1h}]}`)}, want: "create @13:00\nsay RunStarted\nL none"}}},

		"TT-070 a cache that lags": {steps: []step{{at: "12:09", given: []given{lags}, want: ""}, started, {at: "12:20", want: "W 12:20 Overlap"}}},
		"TT-112 another kind": {steps: []step{started,
			{at: "12:15", given: []given{edited("{template: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet}}")}, want: "A 12:10 Schedule"},
			{at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:21", given: []given{succeeds("@12:10")}, want: "create @12:20\nsay RunSucceeded\nsay RunStarted"}}},
		"TT-129 a hashed time": {spec: `{schedules: [{name: main, cron: "H H * * *"}]}`, given: []given{named("nightly"), createdAt("2026-05-04T03:00:00Z")}, steps: []step{
			{at: "03:43", want: "create nightly-20260504-034300\nsay RunStarted"}}},
		"TT-200 TT-202 a kind that is not granted": {spec: "{template: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding}, outcome: {succeeded: 'true', failed: 'false'}}",
			given: []given{notGranted}, steps: []step{{at: "12:30", want: "Ready False/KindNotAllowed\nA none\nW 12:30 NotReady since 12:10\nsay TimesMissed\nsay RunLate\nsay TimesMissed"}}},
		"TT-206 what is not ours": {spec: `{template: {metadata: {annotations: {a: "$(HOME)", b: "$$(HOME)", c: "$$(carillon.run)"}}}}`, steps: []step{started,
			{at: "12:10:01", given: []given{looks(func(w *world, fail func(string, ...any)) {
				got := w.child("@12:10").GetAnnotations()
				if got["a"] != "$(HOME)" || got["b"] != "$$(HOME)" || got["c"] != "$(carillon.run)" {
					fail("%v", got)
				}
			})}, want: ""}}},
		"TT-230 gone unrecorded": {spec: "{template: {spec: {ttlSecondsAfterFinished: 0}}}", steps: []step{{at: "12:10", given: []given{diesAfter(1)}, want: "create @12:10"},
			{at: "12:10:30", asleep: true, given: []given{gone("@12:10")}, want: "create @12:10\nsay ShortTTL\nsay RunStarted"}}},
		"TT-239 three outages": {spec: "{catchUp: {policy: All, limit: 3}}", steps: []step{started,
			{at: "12:35", asleep: true, want: "W 12:20 Overlap\nW 12:30 Overlap"},
			{at: "12:55", asleep: true, want: "say TimesMissed\nL 12:20 Missed/CatchUpLimit\nW 12:30 Overlap\nW 12:40 Overlap\nW 12:50 Overlap"},
			{at: "13:15", asleep: true, want: "say TimesMissed\nL 12:20…12:40 x3 Missed/CatchUpLimit\nW 12:50 Overlap\nW 13:00 Overlap\nW 13:10 Overlap"}}},
		"TT-183 excluded for a week": {spec: `{schedules: [{name: main, cron: "* * * * *"}], exclude: [{period: 2026-05-05/2026-05-11}]}`,
			given: []given{createdAt("2026-05-04T23:59:30Z")}, steps: []step{
				{at: "2026-05-11T23:59:59Z", quiet: true, want: "writes 0"},
				{at: "2026-05-12T00:00:00Z", want: "create tick-20260512-000000\nsay RunStarted\nwrites 1\nL 2026-05-05T00:00Z…2026-05-11T23:59Z x10080 Skipped/Excluded"}}},
		"TT-200 withdrawn while a run is active": {steps: []step{started,
			{at: "12:15", given: []given{notGranted}, want: "say InvalidSpec\nReady False/KindNotAllowed\nA 12:10 Schedule"},
			{at: "12:20", want: "W 12:20 NotReady\nA 12:10 Schedule"},
			{at: "12:25", given: []given{succeeds("@12:10")}, want: "say RunSucceeded\nL 12:10 Succeeded\nW 12:20 NotReady"},
			{at: "12:35", given: []given{granted}, want: "say TimesMissed\nsay RunLate\ncreate @12:30\nsay RunStarted\nReady True/Accepted\nL 12:20 Missed/NotReady"}}},
		"TT-200 withdrawn, and the run that is active cannot be read": {steps: []step{started,
			{at: "12:15", given: []given{notGranted, gone("@12:10"), readsFail(internal)}, want: "say InvalidSpec\nReady False/KindNotAllowed\nA 12:10 Schedule\nL none"},
			{at: "12:30", want: "A 12:10 Schedule\nW none"},
			{at: "12:35", given: []given{granted}, want: "Ready True/Accepted\nA 12:10 Schedule\nW none"},
			{at: "12:36", given: []given{readsFail(nil)}, want: "create @12:30\nsay RunCancelled\nsay TimesMissed\nsay RunStarted\nL 12:20 Missed/Outage\nL 12:10 Cancelled/Deleted"}}},
		"TT-205 a mistake is told once": {spec: `{template: {metadata: {labels: {x: "$(carillon.nope)"}}}, suspend: true}`, steps: []step{
			{at: "15:00", want: "Ready False/InvalidTemplate"},
			{at: "15:01", given: []given{edited("{lateAfter: 5m}")}, want: "say InvalidSpec"}, {at: "18:00", want: ""}}},
		"TT-195 TT-196 what keeps a time from starting is told once": {spec: `{schedules: [{name: main, cron: "10 12 * * *"}]}`,
			given: []given{createsFail(internal)}, steps: []step{
				{at: "12:10", want: "refused @12:10\nsay CreateFailed"}, {at: "12:50", want: "refused @12:10\nrefused @12:10\nsay RunLate"},
				{at: "13:30", given: []given{createsFail(nil), foreign("tick-20260504-121000")}, want: "say NameTaken"}, {at: "14:10", want: ""}}},
		"TT-190 a create of a former leader meets the name": {spec: "{history: {succeeded: {limit: 0}}}", steps: []step{started,
			{at: "12:10:59", given: []given{succeeds("@12:10"), createdAgain("@12:10")}, want: "say RunSucceeded"},
			{at: "12:11", want: "prune @12:10"}}},
		"TT-199 etcd is restored from a backup": {spec: "{concurrency: {policy: Allow}}", steps: []step{started,
			{at: "12:15", given: []given{backedUp}, want: ""},
			{at: "12:35", given: []given{restored}, want: "create @12:20\ncreate @12:30\nsay RunStarted\nsay RunStarted\ncreate @12:30\nsay TimesMissed\nsay RunStarted\nL 12:20 Missed/Outage\nA 12:10 Schedule\nA 12:30 CatchUp"}}},
		"TT-199 a child that survives": {spec: "{concurrency: {policy: Allow}}", steps: []step{started,
			{at: "12:15", given: []given{backedUp}, want: ""},
			{at: "12:35", given: []given{restoredBut("@12:30")}, want: "create @12:20\ncreate @12:30\nsay RunStarted\nsay RunStarted\nsay RunStarted\nsay TimesMissed\nL 12:20 Missed/Outage\nA 12:10 Schedule\nA 12:30 Schedule"}}},
		"TT-222 a Timetable of the same name": {given: []given{orphan("tick-20260504-120000")}, steps: []step{started}},
		"TT-264 a child that is taken from us": {steps: []step{started,
			{at: "12:15", given: []given{takenAway("@12:10"), edited("{suspend: true}")}, want: "A 12:10 Schedule\nnext none\nwake 12:16"},
			{at: "12:15:30", given: []given{succeeds("@12:10")}, quiet: true, want: "A 12:10 Schedule"},
			{at: "12:17", want: "say RunSucceeded\nL 12:10 Succeeded\nwake none"}}},
		"TT-194 the clock goes forward, and back": {steps: []step{started,
			{at: "2026-05-07T12:15:00Z", asleep: true, given: []given{succeeds("@12:10")}, want: "create tick-20260507-121000\nsay RunSucceeded\nsay TimesMissed\nsay RunStarted"},
			{at: "12:20", asleep: true, given: []given{succeeds("tick-20260507-121000")}, want: "say RunSucceeded\nsay ClockWentBack\ncursor 12:20\nwake 12:30"},
			{at: "12:30", want: "create @12:30\nsay RunStarted"}}},
	})
}

var conflict = apierrors.NewConflict(jobs, "tick", errors.New("changed"))

// only is the one name that can be created; "" is any.
func only(name string) given {
	return func(w *world) {
		w.failCreate = nil
		w.failExcept = name
	}
}

// foreign is an object of somebody else.
func foreign(name string) given {
	return func(w *world) {
		ofOurs(name)(w)
		w.children[name].SetOwnerReferences(nil)
		w.children[name].SetLabels(nil)
	}
}

// orphan is what a Timetable of the same name has left.
func orphan(name string) given {
	return func(w *world) {
		ofOurs(name)(w)
		w.children[name].SetOwnerReferences([]metav1.OwnerReference{})
		w.children[name].SetLabels(map[string]string{"carillon.dev/timetable-uid": "u0"})
	}
}

// takenAway is a child from which somebody takes our owner reference.
func takenAway(name string) given {
	return func(w *world) { w.child(name).SetOwnerReferences(nil) }
}

// createdAgain is a create that somebody has decided on before, and that reaches the server now.
func createdAgain(name string) given {
	return func(w *world) {
		at := w.child(name).GetAnnotations()[v1alpha1.AnnotationScheduledTime]
		scheduled, err := time.Parse(time.RFC3339, at)
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = w.create(w.stored(), adapter.Start{Start: cron.Start{Name: long(name), Run: long(name), Attempt: 1, Trigger: cron.TriggerSchedule, Time: scheduled, Stamp: at}})
		if !apierrors.IsAlreadyExists(err) {
			w.t.Errorf("created %s again: %v", name, err)
		}
	}
}

// backedUp keeps the Timetable and its children as they are; restored brings them back, for another process.
func backedUp(w *world) {
	w.backup.timetable, w.backup.children = runtime.DeepCopyJSON(w.timetable), map[string]*unstructured.Unstructured{}
	for name, child := range w.children {
		w.backup.children[name] = child.DeepCopy()
	}
}

func restored(w *world) {
	w.timetable, w.children = w.backup.timetable, w.backup.children
	w.crash()
}

// restoredBut leaves one child as it is.
func restoredBut(name string) given {
	return func(w *world) {
		kept := w.child(name)
		restored(w)
		w.children[long(name)] = kept
	}
}

// notGranted are children that nobody has granted to the controller.
func notGranted(w *world) { w.notGranted = true }

func granted(w *world) { w.notGranted = false }

// TT-068: the ceiling of 100 active runs holds for Allow, too.
func TestCeiling(t *testing.T) {
	w := newWorld(t, `{schedules: [{name: main, every: 10s}], concurrency: {policy: Allow}}`)
	w.pass()
	w.clock(instant("12:20:10"))
	if n := len(w.children); n != 100 {
		t.Errorf("%d children", n)
	}
	if problems := w.check(strings.Join(w.acts, "\n") + "\nW 12:20:10 Overlap"); len(problems) > 0 {
		t.Error(problems)
	}
}
