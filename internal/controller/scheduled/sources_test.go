// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// listening is a cache whose only informer hands its handler to the test.
type listening struct {
	crcache.Cache
	crcache.Informer
	heard chan toolscache.ResourceEventHandler
}

func (l listening) GetInformer(context.Context, client.Object, ...crcache.InformerGetOption) (crcache.Informer, error) {
	return l, nil
}

func (l listening) WaitForCacheSync(context.Context) bool { return true }
func (l listening) HasSynced() bool                       { return true }
func (l listening) HasSyncedChecker() toolscache.DoneChecker {
	return nil
}

func (l listening) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	l.heard <- h
	return l, nil
}

// hear gives what an informer would call, for handlers as the controller sets them up.
func (a *api) hear(obj client.Object, h handlers) toolscache.ResourceEventHandler {
	a.Helper()
	l := listening{heard: make(chan toolscache.ResourceEventHandler, 1)}
	src := source.Kind[client.Object](l, obj, h)
	if err := src.Start(a.Context(), apiQueue{api: a}); err != nil {
		a.Fatal(err)
	}
	return <-l.heard
}

// A watch that missed a delete tells of it by a tombstone: one that holds a Job calls for a sync over its CronJob, one
// that holds anything else is passed over (CJ-054). A resync calls for a sync in kinds K and T, and for none in V
// (CJ-041, CJ-042).
func TestWhatInformersSend(t *testing.T) {
	for _, letter := range []string{"K", "V", "T"} {
		a := serve(t, letter)
		a.put(a.cronJob("tick", nil))
		a.has(run{at: "12:10:00"})
		a.see()
		owner, _ := a.owners.Get(tickKey)
		job, _ := a.child.cache.Get(types.NamespacedName{Namespace: "batch", Name: a.jobName("12:10:00")})
		jobs, cronJobs := a.hear(a.child.new(), a.childHandlers(a.child)), a.hear(a.newOwner(), a.ownerHandlers())
		resync := []string{"tick"}
		if letter == "V" {
			resync = nil
		}
		changed := owner.DeepCopyObject().(client.Object)
		changed.SetResourceVersion("99")
		foreign := job.DeepCopyObject().(client.Object)
		refs := foreign.GetOwnerReferences()
		refs[0].APIVersion = map[string]string{"K": "batch.volcano.sh/v1alpha1", "V": "batch/v1", "T": "batch/v1"}[letter]
		foreign.SetOwnerReferences(refs)
		a.put(a.cronJob("tock", nil))
		a.see()
		copied := func(change func(client.Object)) client.Object {
			c := job.DeepCopyObject().(client.Object)
			c.SetResourceVersion("99")
			change(c)
			return c
		}
		ownedBy := func(name, uid string) func(client.Object) {
			return func(c client.Object) {
				refs := c.GetOwnerReferences()
				refs[0].Name, refs[0].UID = name, types.UID(uid)
				c.SetOwnerReferences(refs)
			}
		}
		moved, former := copied(ownedBy("tock", "uid-tock")), copied(ownedBy("tick", "uid-former"))
		going := copied(func(c client.Object) { now := metav1.Now(); c.SetDeletionTimestamp(&now) })
		for name, c := range map[string]struct {
			send func()
			want []string
		}{
			"CJ-054 a tombstone with a Job": {func() { jobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/x", Obj: job}) }, []string{"tick"}},
			"CJ-054 a tombstone with something else": {func() {
				jobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/x", Obj: "a Job, once"})
				jobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/x"})
				jobs.OnDelete("not even a tombstone")
			}, nil},
			"CJ-040 a tombstone with a CronJob": {func() {
				cronJobs.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "batch/tick", Obj: owner})
			}, []string{"tick"}},
			"CJ-041 CJ-042 a resync":                                {func() { cronJobs.OnUpdate(owner, owner) }, resync},
			"CJ-043 an update":                                      {func() { cronJobs.OnUpdate(owner, changed) }, []string{"tick"}},
			"CJ-050 a resync of a Job":                              {func() { jobs.OnUpdate(job, job) }, nil},
			"CJ-051 a Job changes hands":                            {func() { jobs.OnUpdate(job, moved) }, []string{"tick", "tock"}},
			"CJ-052 a Job of a former CronJob of the name, new":     {func() { jobs.OnAdd(former, false) }, nil},
			"CJ-052 a Job of a former CronJob of the name, changed": {func() { jobs.OnUpdate(former, former) }, nil},
			"CJ-052 a Job of a former CronJob of the name, gone":    {func() { jobs.OnDelete(former) }, nil},
			"CJ-053 a Job that is on its way out":                   {func() { jobs.OnAdd(going, false) }, []string{"tick"}},
			"CJ-055 a Job of a CronJob of another kind":             {func() { jobs.OnAdd(foreign, false) }, nil},
			"a Job of ours":                                         {func() { jobs.OnAdd(job, false) }, []string{"tick"}},
		} {
			t.Run(letter+" "+name, func(t *testing.T) {
				clear(a.pending)
				c.send()
				var got []string
				for key := range a.pending {
					got = append(got, key.Name)
				}
				slices.Sort(got)
				if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("called for (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// An edit of schedule or zone is seen at once by every kind: the timer is set by what it says now, a mistake is told,
// and nothing starts for the time before it (CJ-044 to CJ-047, CJ-056).
func TestEditsOfEveryKind(t *testing.T) {
	for name, c := range map[string]struct {
		kinds         string
		before, after func(spec map[string]any)
		last          string
		wake          string
		event         map[rune]string
	}{
		"CJ-044 from every five minutes to three at night": {kinds: "KVT", last: "12:00:00", wake: "27:00:00",
			before: set("schedule", "*/5 * * * *"), after: set("schedule", "0 3 * * *")},
		"CJ-045 another zone": {kinds: "KV", last: "06:00:00", wake: "21:00:00",
			before: set("schedule", "0 6 * * *"), after: set("timeZone", "Asia/Tokyo")},
		"CJ-046 a schedule that cannot be read": {kinds: "KVT", last: "12:00:00", wake: "12:31:00", after: set("schedule", "61 * * * *"),
			event: map[rune]string{'K': "UnParseableCronJobSchedule", 'V': "UnParseableCronJobSchedule", 'T': "UnParseableCronJobSchedule"}},
		"CJ-047 a date that does not exist": {kinds: "KVT", last: "12:00:00", wake: "12:31:00", after: set("schedule", "0 0 30 2 *"),
			event: map[rune]string{'K': "InvalidSchedule", 'V': "InvalidSchedule", 'T': "InvalidSchedule"}},
		"CJ-056 B2 a time of the new schedule that has passed": {kinds: "KVT", last: "00:00:00", wake: "35:50:00",
			before: set("schedule", "0 0 * * *"), after: set("schedule", "50 11 * * *")},
	} {
		for _, letter := range c.kinds {
			t.Run(string(letter)+" "+name, func(t *testing.T) {
				a := serve(t, string(letter))
				obj := a.cronJob("tick", c.before)
				obj["metadata"].(map[string]any)["creationTimestamp"] = at("00:00:00").AddDate(0, 0, -3).Format(time.RFC3339)
				obj["status"] = map[string]any{"lastScheduleTime": at(c.last).Format(time.RFC3339)}
				a.time.SetTime(at("12:00:30"))
				a.put(obj)
				a.once()
				a.timers.Cancel(tickKey) // which has fired or will fire in vain
				a.time.SetTime(at("12:01:00"))
				a.edit("tick", func(_, spec map[string]any) { c.after(spec) })
				a.once()
				if n := a.calls["create tick"]; n > 0 {
					t.Errorf("%d runs were started", n)
				}
				wake, ok := a.timers.Next(tickKey)
				if ok != (c.wake != "") || ok && !wake.Equal(hour(c.wake)) {
					t.Errorf("timer at %v, want %q", wake, c.wake)
				}
				events, _ := a.events("tick")
				want := []string{}
				if c.event != nil {
					want = append(want, c.event[letter])
				}
				if diff := cmp.Diff(want, events, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Every kind tries again after 5, 10 and 20 ms; a success resets that (CJ-169). What is pending is not put off by a
// later wake-up (CJ-049).
func TestBackoffOfEveryKind(t *testing.T) {
	for _, letter := range []string{"K", "V", "T"} {
		a := serve(t, letter)
		a.put(a.cronJob("tick", nil))
		a.time.SetTime(at("12:10:00"))
		create := "create " + a.jobName("12:10:00")
		a.fail = map[string]error{create: broken}
		for _, want := range []time.Duration{5, 10, 20} {
			a.once()
			if got := a.pending[tickKey].Sub(a.time.Now()); got != want*time.Millisecond {
				t.Errorf("%s: tried again after %v, want %v ms", letter, got, int(want))
			}
		}
		a.fail = nil
		a.once()
		a.timers.Cancel(tickKey)
		a.timers.Wake(tickKey, at("12:11:00"))
		a.fail = map[string]error{"create " + a.jobName("12:20:00"): broken}
		a.time.SetTime(at("12:20:00"))
		a.once()
		if got := a.pending[tickKey].Sub(a.time.Now()); got != 5*time.Millisecond {
			t.Errorf("%s: after a success tried again after %v, want 5 ms", letter, got)
		}
		if wake, _ := a.timers.Next(tickKey); !wake.Equal(at("12:11:00")) {
			t.Errorf("%s: the timer at 12:11 was put off to %v", letter, wake)
		}
	}
}

// A kind may say how long after a failure the next try follows at the latest: a Timetable within 30 s (TT-196).
func TestBackoffHasALimit(t *testing.T) {
	a := serve(t, "K")
	limited := *a.info.Traits
	limited.MaxBackoff = timetable.Kind{}.Info().Traits.MaxBackoff
	a.info.Traits = &limited
	a.put(a.cronJob("tick", nil))
	a.time.SetTime(at("12:10:00"))
	a.fail = map[string]error{"create " + a.jobName("12:10:00"): broken}
	var last time.Duration
	for range 20 {
		delete(a.pending, tickKey)
		a.once()
		last = a.pending[tickKey].Sub(a.time.Now())
	}
	if last != 30*time.Second {
		t.Errorf("tried again after %v", last)
	}
}

// Fewer workers than one is a mistake that is told before anything runs; none asked for is the default (CJ-167).
func TestWorkers(t *testing.T) {
	for workers, ok := range map[int]bool{-1: false, 0: true, 1: true, 500: true} {
		o := Options{ConcurrentSyncs: workers}
		if err := o.validate(); (err == nil) != ok {
			t.Errorf("%d workers: %v", workers, err)
		}
		o = o.withDefaults()
		if ok && (o.ConcurrentSyncs < 1 || workers > 0 && o.ConcurrentSyncs != workers) {
			t.Errorf("%d workers asked for, %d taken", workers, o.ConcurrentSyncs)
		}
	}
	for _, wrong := range []Options{{ConcurrentSyncs: -1}, {StatusWriters: -1}, {Discovery: -1}} {
		if err := Add(nil, wrong); err == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
}

// absent is a manager of an API server that serves these kinds. Nothing else of it may be asked for.
type absent struct {
	ctrl.Manager
	meta.RESTMapper
	served map[string]bool
	asked  int
}

func (m *absent) GetLogger() logr.Logger         { return logr.Discard() }
func (m *absent) GetRESTMapper() meta.RESTMapper { return m }
func (m *absent) RESTMapping(gk schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	m.asked++
	if !m.served[gk.Kind] {
		return nil, &meta.NoKindMatchError{GroupKind: gk}
	}
	return &meta.RESTMapping{}, nil
}

// Volcano switches its CronJob and its Job off one by one. Unless both are served nothing of kind V runs, nothing
// fails, and it is looked for again (CJ-168).
func TestHalfAnAPI(t *testing.T) {
	for _, served := range []map[string]bool{{}, {"CronJob": true}, {"Job": true}} {
		t.Run(fmt.Sprint(served), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &absent{served: served}
				s := &starter{mgr: m, kind: volcano.Kind{}, options: Options{Discovery: time.Second}}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if err := s.Start(ctx); err != nil {
					t.Error(err)
				}
				if m.asked < 60 {
					t.Errorf("looked for %d times in a minute", m.asked)
				}
			})
		})
	}
}

// It is told what of an API is missing, which of Timetables may be Calendar.
func TestMissingKinds(t *testing.T) {
	for name, c := range map[string]struct {
		served map[string]bool
		want   []string
	}{
		"nothing is served": {want: []string{"batch.carillon.dev/v1alpha1, Kind=Timetable", "batch.carillon.dev/v1alpha1, Kind=Calendar"}},
		"no Calendars":      {served: map[string]bool{"Timetable": true}, want: []string{"batch.carillon.dev/v1alpha1, Kind=Calendar"}},
		"all are":           {served: map[string]bool{"Timetable": true, "Calendar": true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &starter{mgr: &absent{served: c.served}, kind: timetable.Kind{}}
			if got, err := s.missing(); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("missing %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
