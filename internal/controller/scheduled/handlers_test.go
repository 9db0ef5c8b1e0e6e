// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

type (
	createEvent = event.TypedCreateEvent[client.Object]
	updateEvent = event.TypedUpdateEvent[client.Object]
	deleteEvent = event.TypedDeleteEvent[client.Object]
)

// An event of a CronJob calls for a sync over it, unless it is the echo of our own write.
func TestOwnerEvents(t *testing.T) {
	before := tick().ResourceVersion("10")
	for name, test := range map[string]struct {
		fire func(*world)
		want []string
	}{
		"CJ-040 add":    {fire: func(w *world) { w.ownerHandlers().Create(w.Context(), createEvent{Object: before.Obj()}, w.queued) }, want: []string{"batch/tick"}},
		"CJ-040 delete": {fire: func(w *world) { w.ownerHandlers().Delete(w.Context(), deleteEvent{Object: before.Obj()}, w.queued) }, want: []string{"batch/tick"}},
		"CJ-041 resync": {fire: func(w *world) { w.updateOwner(before, before) }, want: []string{"batch/tick"}},
		"CJ-043 only the template changed": {
			fire: func(w *world) { w.updateOwner(before, before.ResourceVersion("11").TemplateLabel("a", "b")) }, want: []string{"batch/tick"},
		},
		"an edit of the schedule is noticed at once (B2)": {
			fire: func(w *world) { w.updateOwner(before, before.ResourceVersion("11").Schedule("0 3 * * *")) }, want: []string{"batch/tick"},
		},
		"the echo of our own status write": {
			fire: func(w *world) {
				ours := before.ResourceVersion("11").LastSchedule(at("12:10:00"))
				w.ownWrites.Updated("cj-1", ours.Obj())
				w.updateOwner(before, ours)
			},
		},
		"a foreign write after ours": {
			fire: func(w *world) {
				ours := before.ResourceVersion("11").LastSchedule(at("12:10:00"))
				w.ownWrites.Updated("cj-1", ours.Obj())
				w.updateOwner(ours, ours.ResourceVersion("12").Suspend(true))
			},
			want: []string{"batch/tick"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tick().Obj())
			test.fire(w)
			if diff := cmp.Diff(test.want, w.queued.keys); diff != "" {
				t.Errorf("called for (-want +got):\n%s", diff)
			}
		})
	}
}

// Our own write is forgotten when the cache comes to show it, because nothing may look at the CronJob again for a day.
func TestEchoForgetsOurWrite(t *testing.T) {
	before := tick().ResourceVersion("10")
	ours := before.ResourceVersion("11").LastSchedule(at("12:10:00"))
	w := newWorld(t, tick().Obj())
	w.ownWrites.Updated("cj-1", ours.Obj())
	w.updateOwner(before, ours)
	if w.ownWrites.IsOwnWrite("cj-1", ours.Obj()) {
		t.Error("it is still held")
	}
}

// passing is a cache that comes to show another version between two looks.
type passing struct {
	cache
	versions []client.Object
}

func (p *passing) Get(types.NamespacedName) (client.Object, bool) {
	if len(p.versions) == 0 {
		return nil, false
	}
	first := p.versions[0]
	p.versions = p.versions[1:]
	return first, true
}

// A sync decides on our last write or on what came after it, whenever the cache comes to show it.
func TestLatest(t *testing.T) {
	old, ours, later := tick().ResourceVersion("10").Obj(), tick().ResourceVersion("11").Obj(), tick().ResourceVersion("12").Obj()
	for name, c := range map[string]struct {
		cached []client.Object
		held   bool
		want   string
	}{
		"the cache is behind":                  {[]client.Object{old, old}, true, "11"},
		"the cache shows it":                   {[]client.Object{ours, ours}, true, "11"},
		"the cache is ahead":                   {[]client.Object{later, later}, true, "12"},
		"the cache shows it and it is gone":    {[]client.Object{ours, ours}, false, "11"},
		"the cache comes to show it meanwhile": {[]client.Object{old, ours}, false, "11"},
		"the CronJob goes meanwhile":           {[]client.Object{old}, false, ""},
		"there is none":                        {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tick().Obj())
			if c.held {
				w.ownWrites.Updated("cj-1", ours)
			}
			w.owners = &passing{versions: c.cached}
			got, ok := w.latest(tickKey)
			if ok != (c.want != "") || ok && got.GetResourceVersion() != c.want {
				t.Errorf("got %v, %v; want version %q", got, ok, c.want)
			}
		})
	}
}

func (w *world) updateOwner(before, after make.CronJobBuilder) {
	w.ownerHandlers().Update(w.Context(), updateEvent{ObjectOld: before.Obj(), ObjectNew: after.Obj()}, w.queued)
}

// What an edit does to the wake-up: the sync that it calls for sets the timer by the new schedule, and starts nothing
// for times before the edit.
func TestEdits(t *testing.T) {
	for name, test := range map[string]struct {
		before, after make.CronJobBuilder
		edited        string
		wake          string
		events        []string
	}{
		"CJ-044 from every five minutes to three at night": {
			before: tick().Schedule("*/5 * * * *").LastSchedule(at("12:00:00")), after: tick().Schedule("0 3 * * *").LastSchedule(at("12:00:00")),
			edited: "12:01:00", wake: "27:00:00",
		},
		"CJ-045 another zone": {
			before: tick().Schedule("0 6 * * *").LastSchedule(at("06:00:00")), after: tick().Schedule("0 6 * * *").TimeZone("Asia/Tokyo").LastSchedule(at("06:00:00")),
			edited: "12:01:00", wake: "21:00:00",
		},
		"CJ-046 a schedule that cannot be read": {
			before: tick().LastSchedule(at("12:00:00")), after: tick().Schedule("61 * * * *").LastSchedule(at("12:00:00")),
			edited: "12:01:00", events: []string{"UnParseableCronJobSchedule: 61 * * * *"},
		},
		"CJ-047 a schedule that never fires": {
			before: tick().LastSchedule(at("12:00:00")), after: tick().Schedule("0 0 30 2 *").LastSchedule(at("12:00:00")),
			edited: "12:01:00", events: []string{"InvalidSchedule"},
		},
		"CJ-056 with B2: a time before the edit is not made up": {
			before: tick().Schedule("0 23 * * *").Created(at("00:00:00").AddDate(0, 0, -3)).LastSchedule(at("23:00:00").AddDate(0, 0, -1)),
			after:  tick().Schedule("50 11 * * *").Created(at("00:00:00").AddDate(0, 0, -3)).LastSchedule(at("23:00:00").AddDate(0, 0, -1)),
			edited: "12:01:00", wake: "35:50:00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.before.Obj())
			w.sync("12:00:30")
			w.wantCalls()
			w.wantEvents()
			// The timer of the old schedule has fired or will fire in vain; only what the edit sets is of interest
			// here.
			w.timers.Cancel(tickKey)
			after := test.after.ResourceVersion("5000").Obj()
			after.Generation = 2
			if err := w.indexers["CronJob"].Update(after); err != nil {
				t.Fatal(err)
			}
			w.sync(test.edited)
			for _, call := range w.did() {
				if call != "record" {
					t.Errorf("%s, want nothing but the note of the edit", call)
				}
			}
			w.wantEvents(test.events...)
			if len(test.events) > 0 && test.wake == "" { // it is told again in half an hour
				test.wake = "12:31:00"
			}
			got, ok := w.timers.Next(tickKey)
			if ok != (test.wake != "") || ok && !got.Equal(hour(test.wake)) {
				t.Errorf("timer at %v, want %q", got, test.wake)
			}
		})
	}
}

// hour reads a time since midnight of 2026-05-04 that may be beyond its end.
func hour(clockTime string) time.Time {
	d, err := time.ParseDuration(clockTime[:2] + "h" + clockTime[3:5] + "m" + clockTime[6:] + "s")
	if err != nil {
		panic(err)
	}
	return at("00:00:00").Add(d)
}

// A wake-up that is pending is not put off by a later one (CJ-049).
func TestPendingWakeStays(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.timers.Wake(tickKey, at("12:01:00"))
	w.sync("12:04:00")
	w.wantWake("12:01:00")
}

// An event of a Job calls for a sync over the CronJob that controls it, when a decision could come out differently.
func TestChildEvents(t *testing.T) {
	owner, other := tick().Obj(), make.CronJob("batch", "tock").UID("cj-2").Obj()
	job := child(owner, "12:10:00").ResourceVersion("10")
	former := tick().UID("cj-0").Obj()
	foreign := metav1.OwnerReference{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "CronJob", Name: "tick", UID: "cj-1", Controller: new(true)}
	for name, test := range map[string]struct {
		fire func(*world)
		want []string
	}{
		"add":                        {fire: func(w *world) { w.addJob(job) }, want: []string{"batch/tick"}},
		"CJ-053 add, being deleted":  {fire: func(w *world) { w.addJob(job.Finalizer("x").Deleted(at("12:11:00"))) }, want: []string{"batch/tick"}},
		"the echo of our own create": {fire: func(w *world) { w.child.writes.Created("cj-1", job.Obj()); w.addJob(job) }},
		"CJ-050 same version":        {fire: func(w *world) { w.updateJob(job, job.Complete(at("12:11:00"))) }},
		"pod counts only": {fire: func(w *world) {
			w.updateJob(job, job.ResourceVersion("11").Started(at("12:10:01")).Counts(1, 0, 0).Ready(1))
		}},
		"completed": {fire: func(w *world) { w.updateJob(job, job.ResourceVersion("11").Complete(at("12:11:00"))) }, want: []string{"batch/tick"}},
		"failed":    {fire: func(w *world) { w.updateJob(job, job.ResourceVersion("11").Failed(at("12:11:00"), "DeadlineExceeded")) }, want: []string{"batch/tick"}},
		"suspended": {fire: func(w *world) {
			w.updateJob(job, job.ResourceVersion("11").Condition(batchv1.JobSuspended, corev1.ConditionTrue, "x", at("12:11:00")))
		}},
		"being deleted": {fire: func(w *world) { w.updateJob(job, job.ResourceVersion("11").Finalizer("x").Deleted(at("12:11:00"))) }, want: []string{"batch/tick"}},
		"deleted":       {fire: func(w *world) { w.deleteJob(job) }, want: []string{"batch/tick"}},
		"CJ-051 moved to another CronJob": {
			fire: func(w *world) { w.updateJob(job, child(other, "12:10:00").ResourceVersion("11")) }, want: []string{"batch/tick", "batch/tock"},
		},
		"released by its CronJob": {
			fire: func(w *world) { w.updateJob(job, make.Job("batch", "tick-29631610").ResourceVersion("11")) }, want: []string{"batch/tick"},
		},
		"CJ-052 add, of a former CronJob of the name": {fire: func(w *world) { w.addJob(child(former, "12:10:00")) }},
		"CJ-052 update, of a former CronJob of the name": {fire: func(w *world) {
			w.updateJob(child(former, "12:10:00").ResourceVersion("10"), child(former, "12:10:00").ResourceVersion("11").Complete(at("12:11:00")))
		}},
		"CJ-052 delete, of a former CronJob of the name": {fire: func(w *world) { w.deleteJob(child(former, "12:10:00")) }},
		"CJ-055 of a CronJob of another kind":            {fire: func(w *world) { w.addJob(make.Job("batch", "x").Owner(foreign)) }},
		"of nobody":                                      {fire: func(w *world) { w.addJob(make.Job("batch", "x")) }},
		"in another namespace": {fire: func(w *world) {
			w.addJob(make.Job("elsewhere", "x").Of(owner))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, owner.DeepCopy(), other.DeepCopy())
			test.fire(w)
			slices.Sort(w.queued.keys)
			if diff := cmp.Diff(test.want, w.queued.keys, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("called for (-want +got):\n%s", diff)
			}
		})
	}
}

func (w *world) addJob(b make.JobBuilder) {
	w.childHandlers(w.child).Create(w.Context(), createEvent{Object: b.Obj()}, w.queued)
}

func (w *world) updateJob(before, after make.JobBuilder) {
	w.childHandlers(w.child).Update(w.Context(), updateEvent{ObjectOld: before.Obj(), ObjectNew: after.Obj()}, w.queued)
}

func (w *world) deleteJob(b make.JobBuilder) {
	w.childHandlers(w.child).Delete(w.Context(), deleteEvent{Object: b.Obj()}, w.queued)
}
