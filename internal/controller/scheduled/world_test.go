// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kinds "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// The fixture of cronjob.md 7.
var (
	created = at("12:03:20")
	tickKey = types.NamespacedName{Namespace: "batch", Name: "tick"}
)

func tick() make.CronJobBuilder { return make.CronJob("batch", "tick").UID("cj-1").Created(created) }

// at reads a time of day of 2026-05-04, UTC.
func at(clockTime string) time.Time {
	t, err := time.Parse("2006-01-02T15:04:05.999999999Z", "2026-05-04T"+clockTime+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

// child is the Job of a scheduled time.
func child(owner *batchv1.CronJob, clockTime string) make.JobBuilder {
	due := at(clockTime)
	name := fmt.Sprintf("%s-%d", owner.Name, due.Unix()/60)
	return make.Job("batch", name).UID(types.UID("job-"+clockTime)).Created(due).Of(owner).
		Annotation(batchv1.CronJobScheduledTimestampAnnotation, due.Format(time.RFC3339))
}

// world is a reconciler between a simulated server and a cache that the test fills when it likes.
type world struct {
	*testing.T
	*reconciler
	server   client.WithWatch // with faults, and with a note of each call
	raw      client.WithWatch // without
	time     *clocktesting.FakeClock
	indexers map[string]toolscache.Indexer
	queued   *queued
	timers   *sim.Timers

	mu     sync.Mutex
	calls  []string
	faults map[string][]fault
	uids   int
	// onCreate is told of each Job that the server has made.
	onCreate func(name string)
	told     []corev1.Event
}

func newWorld(t *testing.T, objs ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	k := kinds.Kind{}
	if err := k.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, time: clocktesting.NewFakeClock(created), faults: map[string][]fault{}, queued: &queued{},
		indexers: map[string]toolscache.Indexer{}}
	for _, o := range objs {
		o.SetResourceVersion("")
	}
	w.raw = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).
		WithStatusSubresource(&batchv1.CronJob{}, &batchv1.Job{}).Build()
	w.server = interceptor.NewClient(w.raw, w.intercept())
	for _, name := range []string{"CronJob", "Job"} {
		w.indexers[name] = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	}
	w.reconciler = &reconciler{log: testr.New(t)}
	w.restart()
	return w
}

// restart is a new process: nothing is remembered, and the cache is fresh.
func (w *world) restart() {
	w.Helper()
	scheme := runtime.NewScheme()
	k := kinds.Kind{}
	if err := k.AddToScheme(scheme); err != nil {
		w.Fatal(err)
	}
	r, err := newReconciler(k, scheme)
	if err != nil {
		w.Fatal(err)
	}
	r.log = w.log
	w.reconciler = r
	r.owners, r.child.cache = w.lister("CronJob"), w.lister("Job")
	r.ownWrites, r.child.writes = ownwrites.New[client.Object](nil), ownwrites.New[client.Object](nil)
	r.live, r.writer = w.server, w.server
	r.clock, r.readOptions, r.gate = w.time, adapter.ReadOptions{Zone: time.UTC}, loadgate.New(clock.RealClock{})
	r.recorder = events.NewRecorder(events.Options{Sink: w, Component: "cronjob-controller", Clock: w.time, Logger: r.log})
	w.timers = &sim.Timers{}
	r.timers = w.timers
	r.begin()
	q := queue(w.queued)
	r.queue.Store(&q)
	w.see()
}

func (w *world) lister(name string) *lister.Lister {
	l, err := lister.Over(w.indexers[name])
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// see lets the cache catch up with the server.
func (w *world) see() {
	w.Helper()
	w.seeOwners()
	w.seeChildren()
}

func (w *world) seeOwners() {
	w.Helper()
	var owners batchv1.CronJobList
	if err := w.server.List(context.Background(), &owners); err != nil {
		w.Fatal(err)
	}
	w.fill("CronJob", len(owners.Items), func(i int) any { return owners.Items[i].DeepCopy() })
}

func (w *world) seeChildren() {
	w.Helper()
	var jobs batchv1.JobList
	if err := w.server.List(context.Background(), &jobs); err != nil {
		w.Fatal(err)
	}
	w.fill("Job", len(jobs.Items), func(i int) any { return jobs.Items[i].DeepCopy() })
	// A real cache also learns of Jobs that came and went meanwhile, by events or by how far it has come.
	for n := 1; n <= w.uids; n++ {
		uid := types.UID(fmt.Sprintf("new-%d", n))
		if !slices.ContainsFunc(jobs.Items, func(j batchv1.Job) bool { return j.UID == uid }) {
			w.child.writes.Gone("cj-1", uid)
		}
	}
}

func (w *world) fill(name string, n int, obj func(int) any) {
	w.Helper()
	all := []any{}
	for i := range n {
		cached, err := w.trim(obj(i))
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, cached)
	}
	if err := w.indexers[name].Replace(all, ""); err != nil {
		w.Fatal(err)
	}
}

// sync makes one sync at that time of day, both halves.
func (w *world) sync(clockTime string) {
	w.Helper()
	w.time.SetTime(at(clockTime))
	w.queued.forget()
	if _, err := w.Reconcile(w.Context(), reconcile.Request{NamespacedName: tickKey}); err != nil {
		w.Fatalf("Reconcile reports its failures itself, but returned: %v", err)
	}
	w.keepBooks()
}

func (w *world) keepBooks() {
	for w.statusQueue.waiting() > 0 {
		w.statusQueue.next(w.Context())
	}
}

// waiting is how many CronJobs have something open that no worker has begun.
func (q *statusQueue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

// did takes the calls made since the last time.
func (w *world) did() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

func (w *world) wantCalls(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.did(), cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("calls (-want +got):\n%s", diff)
	}
}

// wantEvents takes the events spoken since the last time, as "Reason" or "Reason: text" with a part of the message.
func (w *world) wantEvents(want ...string) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.recorder.Start(ctx); err != nil {
		w.Fatal(err)
	}
	var got []string
	for i, e := range w.told {
		text := e.Reason
		if i < len(want) {
			if _, part, ok := strings.Cut(want[i], ": "); ok && strings.Contains(e.Message, part) {
				text += ": " + part
			} else if ok {
				text += ": " + e.Message
			}
		}
		got = append(got, text)
	}
	w.told = nil
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("events (-want +got):\n%s", diff)
	}
}

// Create and Patch make a world a sink of events.
func (w *world) Create(_ context.Context, e *corev1.Event) error {
	w.told = append(w.told, *e)
	return nil
}

func (w *world) Patch(context.Context, string, string, []byte) error { return nil }

// wantStatus compares the stored status: names of active Jobs and the time of day of the last start, "" for none.
func (w *world) wantStatus(last string, active ...string) {
	w.Helper()
	var cj batchv1.CronJob
	w.load("tick", &cj)
	names := []string{}
	for _, ref := range cj.Status.Active {
		names = append(names, ref.Name)
	}
	got := ""
	if cj.Status.LastScheduleTime != nil {
		got = cj.Status.LastScheduleTime.UTC().Format("15:04:05")
	}
	if got != last || !slices.Equal(names, active) {
		w.Errorf("status has last %q and active %v, want %q and %v", got, names, last, active)
	}
}

// load reads an object from the server.
func (w *world) load(name string, into client.Object) {
	w.Helper()
	if err := w.raw.Get(context.Background(), client.ObjectKey{Namespace: "batch", Name: name}, into); err != nil {
		w.Fatal(err)
	}
}

// wantWake compares the timer; "" for none.
func (w *world) wantWake(clockTime string) {
	w.Helper()
	got, ok := w.timers.Next(tickKey)
	if !ok {
		if clockTime != "" {
			w.Errorf("no timer is set, want %s", clockTime)
		}
		return
	}
	if clockTime == "" || !got.Equal(at(clockTime)) {
		w.Errorf("timer at %v, want %q", got, clockTime)
	}
}

// wantRetry compares the delay of the next try; 0 for none.
func (w *world) wantRetry(after time.Duration) {
	w.Helper()
	var got time.Duration
	for _, d := range w.queued.after {
		got = d
	}
	if got != after || len(w.queued.after) > 1 {
		w.Errorf("tried again after %v, want %v", w.queued.after, after)
	}
}

// complete ends a stored Job as succeeded.
func (w *world) complete(name, clockTime string) {
	w.Helper()
	var j batchv1.Job
	w.load(name, &j)
	done := make.Job("batch", name).Started(j.CreationTimestamp.Time).Complete(at(clockTime)).Obj()
	j.Status = done.Status
	if err := w.server.Status().Update(context.Background(), &j); err != nil {
		w.Fatal(err)
	}
}

// queued is a work queue that only notes what is added.
type queued struct {
	queue
	mu    sync.Mutex
	keys  []string
	after []time.Duration
}

func (q *queued) Add(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keys = append(q.keys, r.String())
}

func (q *queued) AddAfter(r reconcile.Request, after time.Duration) {
	if after == 0 {
		q.Add(r)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.after = append(q.after, after)
}

func (q *queued) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keys, q.after = nil, nil
}
