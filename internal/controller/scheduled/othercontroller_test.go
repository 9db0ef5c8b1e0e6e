// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

const starts = `{"f:status":{"f:active":{},"f:lastScheduleTime":{}}}`

// written is the CronJob with these entries in its managed fields, as the cache keeps it.
func written(t *testing.T, b make.CronJobBuilder, entries ...metav1.ManagedFieldsEntry) client.Object {
	t.Helper()
	obj := b.Obj()
	obj.ManagedFields = entries
	if _, err := trim(obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// CJ-190: which writes of a status mean that another controller is at work: those that only a controller makes, and
// that are made while we look, or were shortly before.
func TestSignsOfOtherControllers(t *testing.T) {
	stranger := func(when string) metav1.ManagedFieldsEntry {
		return entry("kube-controller-manager", "status", starts, at(when))
	}
	for name, test := range map[string]struct {
		before, after []metav1.ManagedFieldsEntry
		listed        bool // it was there when we came
		back          bool
	}{
		"a write while we look":              {after: []metav1.ManagedFieldsEntry{stranger("12:09:00")}, back: true},
		"a later write of the same one":      {before: []metav1.ManagedFieldsEntry{stranger("12:00:00")}, after: []metav1.ManagedFieldsEntry{stranger("12:09:00")}, back: true},
		"nothing but a success":              {after: []metav1.ManagedFieldsEntry{entry("vc-controller-manager", "status", `{"f:status":{"f:lastSuccessfulTime":{}}}`, at("12:09:00"))}, back: true},
		"a write from before":                {before: []metav1.ManagedFieldsEntry{stranger("12:00:00")}, after: []metav1.ManagedFieldsEntry{stranger("12:00:00")}},
		"one of us":                          {after: []metav1.ManagedFieldsEntry{entry("carillon-manager", "status", starts, at("12:09:00"))}},
		"a person with kubectl":              {after: []metav1.ManagedFieldsEntry{entry("kubectl-edit", "status", starts, at("12:09:00"))}},
		"conditions that somebody else owns": {after: []metav1.ManagedFieldsEntry{entry("policy", "status", `{"f:status":{"f:conditions":{}}}`, at("12:09:00"))}},
		"a spec":                             {after: []metav1.ManagedFieldsEntry{entry("argocd", "", `{"f:spec":{"f:schedule":{}}}`, at("12:09:00"))}},
		"found, and fresh":                   {listed: true, after: []metav1.ManagedFieldsEntry{stranger("12:08:30")}, back: true},
		"found, and fresh by a faster clock": {listed: true, after: []metav1.ManagedFieldsEntry{stranger("12:11:00")}, back: true},
		"found, and old":                     {listed: true, after: []metav1.ManagedFieldsEntry{stranger("12:08:00")}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tick().Obj())
			w.time.SetTime(at("12:10:00"))
			if test.listed {
				w.ownerHandlers().Create(w.Context(), createEvent{Object: written(t, tick(), test.after...)}, w.queued)
			} else {
				w.ownerHandlers().Update(w.Context(), updateEvent{ObjectOld: written(t, tick().ResourceVersion("1"), test.before...),
					ObjectNew: written(t, tick().ResourceVersion("2"), test.after...)}, w.queued)
			}
			if got := w.other.paused(); got != test.back {
				t.Errorf("paused: %v", got)
			}
		})
	}
}

// sawOthers plays another controller that writes the status of a CronJob.
func (w *world) sawOthers(clockTime string) {
	w.Helper()
	w.time.SetTime(at(clockTime))
	w.ownerHandlers().Update(w.Context(), updateEvent{ObjectOld: written(w.T, tick().ResourceVersion("1")), ObjectNew: written(w.T,
		tick().ResourceVersion("2"), entry("kube-controller-manager", "status", starts, at(clockTime)))}, w.queued)
}

// CJ-191: while another controller works nothing is created, deleted or written, and one event, one word to the manager
// and no repetition tell of it. When it has let a due start pass for two minutes in silence, that start is made.
func TestStandBack(t *testing.T) {
	done := child(tick().Obj(), "12:05:00").Started(at("12:05:00")).Complete(at("12:06:00"))
	w := newWorld(t, tick().History(0, 0).Obj(), done.Obj())
	var told []string
	w.pauseChanged = func(kind, why string) { told = append(told, kind+": "+why) }
	w.sawOthers("12:09:00")
	w.wantEvents() // who does not lead does not speak
	w.lead()
	w.wantEvents("AnotherController: kube-controller-manager --controllers=*,-cronjob-controller")

	w.sync("12:10:00.1")
	w.wantCalls()
	w.wantWake("12:12:00") // when the due start will have waited for two minutes
	w.sawOthers("12:11:00")
	w.timers.Cancel(tickKey) // it has fired
	w.sync("12:12:00")
	w.wantCalls()
	w.wantWake("12:13:00")
	w.wantEvents()
	if len(told) != 1 || !strings.HasPrefix(told[0], "cronjobs.batch: kube-controller-manager works on cronjobs.batch too") {
		t.Errorf("told %q", told)
	}

	w.timers.Cancel(tickKey)
	w.queued.forget()
	w.time.SetTime(at("12:13:00"))
	if _, err := w.Reconcile(w.Context(), reconcile.Request{NamespacedName: tickKey}); err != nil {
		t.Fatal(err)
	}
	if len(w.queued.keys) != 1 {
		t.Errorf("all CronJobs are to be looked at again: %v", w.queued.keys)
	}
	w.keepBooks()
	// It is late, and may have been made: nothing but the server tells.
	w.wantCalls("get tick", "create tick-29631610", "record", "delete tick-29631605")
	w.wantEvents("NoOtherController: kube-controller-manager is gone", "SuccessfulCreate", "SuccessfulDelete")
	if len(told) != 2 || told[1] != "cronjobs.batch: " {
		t.Errorf("told %q", told)
	}
	w.wantWake("12:20:00")
}

// CJ-192: the silence counts from the first start that was left, not from the last: a CronJob that is due more often
// than that would wait for ever. A start that the other one made ends the count.
func TestStandBackFromFrequentCronJobs(t *testing.T) {
	w := newWorld(t, tick().Schedule("* * * * *").Obj())
	w.sawOthers("12:04:00")
	w.sync("12:04:00.1")
	made := child(tick().Obj(), "12:05:00").Obj()
	made.ResourceVersion = ""
	if err := w.raw.Create(w.Context(), made); err != nil {
		t.Fatal(err)
	}
	w.see()
	w.sync("12:05:00.1")
	for _, clockTime := range []string{"12:06:00.1", "12:07:00.1", "12:07:59"} {
		w.sync(clockTime)
		w.did()
		if !w.other.paused() {
			t.Fatalf("served at %s", clockTime)
		}
	}
	w.sync("12:08:00.1")
	if calls := strings.Join(w.did(), ","); !strings.Contains(calls, "create tick-29631608") {
		t.Errorf("calls: %s", calls)
	}
}

// CJ-193: a run that was started when another controller is first seen is recorded, and nothing is deleted.
func TestSecondHalfStandsBack(t *testing.T) {
	done := child(tick().Obj(), "12:05:00").Started(at("12:05:00")).Complete(at("12:06:00"))
	w := newWorld(t, tick().History(0, 0).Obj(), done.Obj())
	w.time.SetTime(at("12:10:00.1"))
	if _, err := w.Reconcile(w.Context(), reconcile.Request{NamespacedName: tickKey}); err != nil {
		t.Fatal(err)
	}
	w.sawOthers("12:10:00.2")
	w.keepBooks()
	w.wantCalls("create tick-29631610", "record")
	w.wantStatus("12:10:00", "tick-29631610")
}

// An edit that is made while another controller works is not taken, later, for one made then: the start that shows that
// the other one is gone is not lost.
func TestEditWhileStandingBack(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.sync("12:04:00")
	w.did()
	w.sawOthers("12:05:00")
	edited := tick().Schedule("*/5 * * * *").Obj()
	w.load("tick", edited)
	edited.Spec.Schedule = "*/5 * * * *"
	edited.Generation = 2
	edited.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", "", `{"f:spec":{"f:schedule":{}}}`, at("12:06:00"))}
	if err := w.server.Update(w.Context(), edited); err != nil {
		t.Fatal(err)
	}
	w.see()
	w.sync("12:06:00")
	w.sync("12:10:00.1")
	w.did()
	w.sync("12:12:30")
	if calls := strings.Join(w.did(), ","); !strings.Contains(calls, "create tick-29631610") {
		t.Errorf("calls: %s", calls)
	}
}

// What a cache keeps of the status's writers is who and when, and only of other controllers.
func TestTrimKeepsOtherControllers(t *testing.T) {
	obj := written(t, tick(),
		entry("kube-controller-manager", "status", starts, at("12:09:00")),
		entry("carillon-manager", "status", starts, at("12:09:30")),
		entry("garbage", "status", `not JSON`, at("12:09:00")))
	for range 2 { // informers that list by a watch trim twice
		if _, err := trim(obj); err != nil {
			t.Fatal(err)
		}
	}
	kept := obj.GetManagedFields()
	if len(kept) != 1 || kept[0].Manager != "kube-controller-manager" || kept[0].FieldsV1.GetRawString() != `{"f:status":{"f:lastScheduleTime":{}}}` || !kept[0].Time.Time.Equal(at("12:09:00")) {
		t.Errorf("kept %+v", kept)
	}
	var zero time.Time
	if touched := obj.GetCreationTimestamp(); touched.Time.Equal(zero) {
		t.Error("the rest of the object went too")
	}
}
