// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// started is TT-002: @12:10 runs.
var started = step{at: "12:10", want: `
	create @12:10
	say RunStarted
	writes 1`}

// Start and wake-up.
func TestStartScenarios(t *testing.T) {
	play(t, map[string]scenario{
		"TT-001 first seen": {unseen: true, steps: []step{{at: "12:07", want: `
			writes 1
			Ready True/Accepted
			Healthy Unknown/NoRunYet
			Late False/OnTime
			Paused False/Active
			Completed False/TimesAhead
			next 12:10 12:20 12:30 12:40 12:50
			cursor 12:06
			A none
			wake 12:10`}}},
		"TT-002 TT-003 TT-004 a run": {steps: []step{
			{at: "12:10", want: `
				create @12:10
				say RunStarted
				writes 1
				A 12:10 Schedule
				lastScheduleTime 12:10
				cursor 12:10
				counts 1 started 0 succeeded 0 failed 0 cancelled 0 skipped 0 missed
				next 12:20 12:30 12:40 12:50 13:00
				wake 12:20`},
			{at: "12:10:30", want: "writes 0"},
			{at: "12:12:30", given: []given{succeeds("@12:10")}, want: `
				say RunSucceeded
				writes 1
				L 12:10 Succeeded
				lastSuccessfulTime 12:12:30
				lastSuccessScheduledTime 12:10
				counts 1 started 1 succeeded 0 failed 0 cancelled 0 skipped 0 missed
				A none
				Healthy True/RunSucceeded
				wake 12:20`},
		}},
		"TT-005 TT-006 a failure, then a success": {steps: []step{started,
			{at: "12:12:30", given: []given{fails("@12:10")}, want: `
				say RunFailed
				writes 1
				L 12:10 Failed/RunFailed
				lastFailureTime 12:12:30
				failures 1
				Healthy False/RunFailed`},
			{at: "12:20", want: `
				create @12:20
				say RunStarted
				Healthy False/RunFailed`},
			{at: "12:22", given: []given{succeeds("@12:20")}, want: `
				say RunSucceeded
				failures 0
				Healthy True/RunSucceeded`},
		}},
		"TT-007 the time of the creation": {given: []given{createdAt("2026-05-04T12:10:00Z")}, steps: []step{{at: "12:10", want: `
			wake 12:20`}}},
		"TT-008 an early clock": {steps: []step{{at: "2026-05-04T12:09:59.997Z", want: `
			writes 0
			wake 12:10`}}},
		"TT-009 two schedules": {spec: `{schedules: [{name: a, cron: "*/10 * * * *"}, {name: b, cron: "*/15 * * * *"}]}`, steps: []step{{at: "12:10", want: `
			create @12:10
			say RunStarted
			next 12:15:b 12:20:a 12:30:a+b 12:40:a 12:45:b`}}},
		"TT-011 too frequent": {spec: `{schedules: [{name: main, every: 5s}]}`, steps: []step{{at: "12:10", want: `
			Ready False/TooFrequent
			Healthy False/NotReady
			A none`}}},
		"TT-012 the same spec": {steps: []step{started, {at: "12:15", given: []given{applied}, want: "writes 0"}}},
		"TT-013 a status that was removed": {steps: []step{started,
			{at: "12:15", given: []given{erased}, want: `
				A none
				cursor 12:14`},
			{at: "12:20", want: "W 12:20 Overlap"},
			{at: "12:21", given: []given{succeeds("@12:10")}, want: "create @12:20\nsay RunStarted\nL none"},
		}},
	})
}

// TT-010: names are distinct by their second.
func TestEveryTenSeconds(t *testing.T) {
	w := newWorld(t, `{schedules: [{name: main, every: 10s}], concurrency: {policy: Allow}}`)
	w.pass()
	w.clock(instant("12:04:20"))
	if n := len(w.children); n != 6 && n != 7 {
		t.Errorf("%d children: %v", n, w.acts)
	}
}

// TT-014, TT-015, TT-016: names, labels and annotations of what is started.
func TestStartedObjects(t *testing.T) {
	plain := func(w *world) {}
	for name, c := range map[string]struct {
		spec        string
		given       given
		child, time string
	}{
		"TT-014 the fixture": {given: plain, child: "tick-20260504-121000", time: "2026-05-04T12:10:00Z"},
		"TT-015 in a zone":   {given: plain, spec: "{timeZone: Europe/Rome}", child: "tick-20260504-121000", time: "2026-05-04T14:10:00+02:00"},
		"TT-016 of a long name": {given: named("nightly-database-backup-of-the-europe-west-cluster"),
			child: "nightly-database-backup-67f8df-20260504-121000", time: "2026-05-04T12:10:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.spec)
			c.given(w)
			w.now = instant("12:10")
			w.pass()
			child := w.children[c.child]
			if child == nil {
				t.Fatalf("did %v", w.acts)
			}
			owner := w.stored().Name
			labels := map[string]string{"carillon.dev/timetable-name": owner, "carillon.dev/timetable-uid": "u1", "carillon.dev/trigger": "schedule",
				"carillon.dev/schedule": "main"}
			if diff := cmp.Diff(labels, child.GetLabels()); diff != "" {
				t.Error(diff)
			}
			annotations := map[string]string{"carillon.dev/scheduled-time": c.time, "carillon.dev/attempt": "1"}
			if diff := cmp.Diff(annotations, child.GetAnnotations()); diff != "" {
				t.Error(diff)
			}
			want := []metav1.OwnerReference{{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: owner, UID: "u1",
				Controller: new(true), BlockOwnerDeletion: new(true)}}
			if diff := cmp.Diff(want, child.GetOwnerReferences()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// ofOurs is an unfinished Job with our labels and owner reference and a name of its own; stranger has no owner
// reference.
func ofOurs(name string) given {
	return func(w *world) {
		child := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{}}}
		child.SetNamespace("ops")
		child.SetName(name)
		child.SetLabels(map[string]string{v1alpha1.LabelTimetableName: "tick", v1alpha1.LabelTimetableUID: "u1"})
		child.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.stored(), v1alpha1.GroupVersion.WithKind("Timetable"))})
		w.enter(child)
	}
}

func stranger(name string) given {
	return func(w *world) {
		ofOurs(name)(w)
		w.children[name].SetOwnerReferences(nil)
	}
}

// Names and labels, and several schedules.
func TestNamesAndSchedulesScenarios(t *testing.T) {
	const daily = `{schedules: [{name: daily, cron: "0 2 * * *"}, {name: weekly, cron: "0 2 * * 0"}]}`
	created := createdAt("2026-05-08T12:00:00Z") // a Friday
	play(t, map[string]scenario{
		"TT-020 labels alone": {given: []given{stranger("somebodys"), succeedsLater("somebodys")}, steps: []step{{at: "12:10", want: `
			create @12:10
			say RunStarted`}}},
		"TT-021 a name of its own": {given: []given{ofOurs("by-hand")}, steps: []step{
			{at: "12:10", want: "W 12:10 Overlap"},
			{at: "12:20", want: "say TimesSkipped\nsay RunLate\nW 12:20 Overlap since 12:10"}}},
		"TT-022 one run of two schedules": {spec: daily, given: []given{created}, steps: []step{{at: "2026-05-10T02:00:00Z",
			given: []given{succeedsIfThere("tick-20260509-020000")}, want: `
			create tick-20260509-020000
			create tick-20260510-020000
			say RunStarted
			say RunSucceeded
			say RunStarted
			counts 2 started 1 succeeded 0 failed 0 cancelled 0 skipped 0 missed`}}},
		"TT-023 the latest of the union": {spec: daily, given: []given{created}, steps: []step{
			{at: "2026-05-09T22:00:00Z", want: `
				create tick-20260509-020000
				say RunStarted`},
			{at: "2026-05-11T09:00:00Z", asleep: true, given: []given{succeeds("tick-20260509-020000")}, want: `
				say RunSucceeded
				create tick-20260511-020000
				say TimesMissed
				say RunStarted
				L 2026-05-10T02:00Z Missed/Outage
				L 2026-05-09T02:00Z Succeeded`},
		}},
		"TT-025 one of two never fires": {spec: `{schedules: [{name: main, cron: "*/10 * * * *"}, {name: never, cron: "0 0 30 2 *"}]}`,
			steps: []step{{at: "12:10", want: `
				Ready False/NeverFires
				A none`}}},
	})
}

func succeedsLater(name string) given { return func(w *world) { succeeds(name)(w) } }

func succeedsIfThere(name string) given {
	return func(w *world) {
		if w.children[name] != nil {
			succeeds(name)(w)
		}
	}
}

// TT-022: the variables name both schedules.
func TestScheduleVariables(t *testing.T) {
	w := newWorld(t, `{schedules: [{name: daily, cron: "0 2 * * *"}, {name: weekly, cron: "0 2 * * 0"}],
		template: {metadata: {annotations: {all: "$(carillon.schedules)"}}}}`)
	createdAt("2026-05-09T12:00:00Z")(w)
	w.now = instant("2026-05-10T02:00:00Z")
	w.pass()
	child := w.children["tick-20260510-020000"]
	if child == nil {
		t.Fatal(w.acts)
	}
	if child.GetAnnotations()["all"] != "daily,weekly" || child.GetLabels()[v1alpha1.LabelSchedule] != "daily" {
		t.Error(child.GetAnnotations(), child.GetLabels())
	}
	ready := slices.IndexFunc(w.told(), func(line string) bool { return strings.HasPrefix(line, "A 2026-05-10T02:00Z") })
	if ready < 0 {
		t.Error(w.told())
	}
}
