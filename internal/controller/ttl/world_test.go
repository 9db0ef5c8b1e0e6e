// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ttl

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

const ns = "work"

var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// world is an API server and a controller whose cache is moved by hand.
type world struct {
	t      *testing.T
	ctx    context.Context
	clock  *testingclock.FakeClock
	api    client.WithWatch
	ctl    *controller
	cache  map[types.NamespacedName]*batchv1.Job
	queue  *fakeQueue
	timers *sim.Timers

	gets    int
	deletes []client.DeleteOptions
	getting func() error // before each live read
	// deleting comes between the live read and the delete.
	deleting func() error
	// gettingJob and deletingJob are the same for the Job of a name.
	gettingJob, deletingJob func(string) error
}

func newWorld(t *testing.T, opts Options, jobs ...*batchv1.Job) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), clock: testingclock.NewFakeClock(start), cache: map[types.NamespacedName]*batchv1.Job{}, queue: &fakeQueue{added: map[reconcile.Request]int{}}}
	b := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)
	for _, j := range jobs {
		j = j.DeepCopy()
		j.ResourceVersion = ""
		b = b.WithObjects(j)
	}
	w.api = b.Build()
	faulty := interceptor.NewClient(w.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			w.gets++
			if w.getting != nil {
				if err := w.getting(); err != nil {
					return err
				}
			}
			if w.gettingJob != nil {
				if err := w.gettingJob(key.Name); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, obj, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			var options client.DeleteOptions
			options.ApplyOptions(o)
			w.deletes = append(w.deletes, options)
			if w.deleting != nil {
				if err := w.deleting(); err != nil {
					return err
				}
			}
			if w.deletingJob != nil {
				if err := w.deletingJob(obj.GetName()); err != nil {
					return err
				}
			}
			var live batchv1.Job
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), &live); err != nil {
				return err
			}
			if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != live.UID {
				return apierrors.NewConflict(schema.GroupResource{Group: "batch", Resource: "jobs"}, obj.GetName(), errors.New("another UID"))
			}
			return c.Delete(ctx, obj, o...)
		},
	})
	opts.Clock = w.clock
	w.timers = &sim.Timers{}
	w.ctl = newController(opts.withDefaults(), faulty, faulty, w.timers, func(key types.NamespacedName) *batchv1.Job { return w.cache[key] })
	w.deliver()
	return w
}

// deliver lets the cache catch up, and tells the controller.
func (w *world) deliver() {
	w.t.Helper()
	var list batchv1.JobList
	if err := w.api.List(context.Background(), &list); err != nil {
		w.t.Fatal(err)
	}
	clear(w.cache)
	for i := range list.Items {
		j := &list.Items[i]
		w.cache[client.ObjectKeyFromObject(j)] = j
		w.ctl.changed(j, w.queue)
	}
}

// run rings what is due and works the queue off once; it returns the errors.
func (w *world) run() (errs []error) {
	for key := range w.cache {
		if w.timers.Due(key, w.clock.Now()) {
			w.queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
	due := w.queue.added
	w.queue.added = map[reconcile.Request]int{}
	for request := range due {
		if result, err := w.ctl.Reconcile(w.ctx, request); err != nil {
			errs = append(errs, err)
		} else if result != (reconcile.Result{}) {
			w.t.Errorf("result %v", result)
		}
	}
	return errs
}

// start runs the controller's own queue and workers, which find the Jobs in the cache, until stop.
func (w *world) start(jobs ...*batchv1.Job) (stop func()) {
	w.t.Helper()
	c, err := ctrlcontroller.NewUnmanaged(queueName, w.ctl.queueOptions())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Watch(source.Func(func(_ context.Context, q queue) error {
		for _, j := range jobs {
			w.ctl.changed(j, q)
		}
		return nil
	})); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Start(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

func (w *world) exists(name string) bool {
	w.t.Helper()
	err := w.api.Get(context.Background(), types.NamespacedName{Namespace: ns, Name: name}, &batchv1.Job{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

func (w *world) edit(name string, change func(*batchv1.Job)) {
	w.t.Helper()
	var j batchv1.Job
	if err := w.api.Get(context.Background(), types.NamespacedName{Namespace: ns, Name: name}, &j); err != nil {
		w.t.Fatal(err)
	}
	change(&j)
	if err := w.api.Update(context.Background(), &j); err != nil {
		w.t.Fatal(err)
	}
}

func done(ttl int32) *batchv1.Job {
	return make.Job(ns, "j").UID("first").Started(start).Complete(start).TTL(ttl).Obj()
}

// fakeQueue counts what is added.
type fakeQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added map[reconcile.Request]int
}

func (q *fakeQueue) Add(r reconcile.Request) { q.added[r]++ }
