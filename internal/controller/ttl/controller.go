// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ttl deletes finished Jobs when their spec.ttlSecondsAfterFinished has
// passed. When is decided by package internal/ttl; here Jobs are read
// (gather.go), waited for (controller.go) and deleted (apply.go).
//
// Behaviour is that of pkg/controller/ttlafterfinished of Kubernetes 1.36
// (KEP-592), with one addition: the deletion names the resource version that was
// decided upon, so that an edit which comes in between is not lost.
package ttl

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/kube/alarm"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/ttl"
)

// queueName is the name of the queue, and so of its workqueue metrics.
const queueName = "ttl_jobs_to_delete"

// Options of the controller. Zero fields mean the default named with them.
type Options struct {
	// ManagedBy restricts the controller to Jobs with this spec.managedBy. Default "": all Jobs, whoever runs them.
	ManagedBy string
	// Concurrency is how many Jobs are deleted at once. Default 5.
	Concurrency int
	// RetryBase and RetryMax shape the delay after an error. Default 5 ms, 1000 s.
	RetryBase, RetryMax time.Duration
	// Clock tells the time. Default: the real one.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 5
	}
	if o.RetryBase <= 0 {
		o.RetryBase = 5 * time.Millisecond
	}
	if o.RetryMax <= 0 {
		o.RetryMax = 1000 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Add makes mgr delete finished Jobs in time. The manager's cache must span all namespaces.
func Add(mgr ctrl.Manager, opts Options) error {
	opts = opts.withDefaults()
	jobs, err := lister.For(context.Background(), mgr.GetCache(), &batchv1.Job{})
	if err != nil {
		return err
	}
	c := newController(opts, mgr.GetClient(), mgr.GetAPIReader(), func(key types.NamespacedName) *batchv1.Job {
		obj, _ := jobs.Get(key)
		j, _ := obj.(*batchv1.Job)
		return j
	})
	main, err := ctrlcontroller.New(queueName, mgr, c.queueOptions())
	if err != nil {
		return err
	}
	if err := main.Watch(source.Kind(mgr.GetCache(), &batchv1.Job{}, c.jobEvents())); err != nil {
		return err
	}
	return main.Watch(source.Func(c.ring))
}

// controller holds what outlives a sync: the instants at which Jobs expire. A
// restart makes them anew from the Jobs.
type controller struct {
	options Options
	client  client.Client
	live    client.Reader
	jobs    func(types.NamespacedName) *batchv1.Job
	alarm   *alarm.Clock[types.NamespacedName]
	enqueue func(types.NamespacedName)
}

func newController(opts Options, writes client.Client, live client.Reader, jobs func(types.NamespacedName) *batchv1.Job) *controller {
	c := &controller{options: opts, client: writes, live: live, jobs: jobs, enqueue: func(types.NamespacedName) {}}
	c.alarm = alarm.New(alarm.Options[types.NamespacedName]{Clock: opts.Clock, Ring: func(due []types.NamespacedName) {
		for _, key := range due {
			c.enqueue(key)
		}
	}})
	return c
}

// queueOptions bound what the queue does to the API server: so many Jobs at once, and a failed one again with back-off.
func (c *controller) queueOptions() ctrlcontroller.Options {
	return ctrlcontroller.Options{
		Reconciler:              reconcile.Func(c.Reconcile),
		MaxConcurrentReconciles: c.options.Concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](c.options.RetryBase, c.options.RetryMax),
		SkipNameValidation:      ptr.To(true), // several managers may live in one process
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// ring runs the alarm into the queue. A time to live ends at an instant of the
// wall clock, whatever the machine did meanwhile.
func (c *controller) ring(ctx context.Context, q queue) error {
	c.enqueue = func(key types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: key}) }
	go c.alarm.Run(ctx)
	return nil
}

type jobHandler = handler.TypedFuncs[*batchv1.Job, reconcile.Request]

func (c *controller) jobEvents() jobHandler {
	return jobHandler{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*batchv1.Job], q queue) { c.changed(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*batchv1.Job], q queue) { c.changed(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*batchv1.Job], _ queue) {
			c.alarm.Cancel(types.NamespacedName{Namespace: e.Object.Namespace, Name: e.Object.Name})
		},
	}
}

// changed sets the alarm for a Job that will expire and enqueues one that has, and one that is to be warned of.
func (c *controller) changed(j *batchv1.Job, q queue) {
	if !c.mine(j) {
		return
	}
	key := types.NamespacedName{Namespace: j.Namespace, Name: j.Name}
	switch d := ttl.Decide(j, c.options.Clock.Now()); {
	case d.Action == ttl.Wait && !d.FinishedInFuture:
		c.alarm.Wake(key, d.ExpireAt)
	case d.Action != ttl.Keep, d.Err != nil:
		q.Add(reconcile.Request{NamespacedName: key})
	}
}

// Reconcile deletes the Job if its time to live is over, decided first on the
// cached and then on the live Job.
func (c *controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	j := c.cached(key)
	if j == nil {
		return reconcile.Result{}, nil
	}
	if expired, err := c.expired(ctx, key, j); err != nil || !expired {
		return reconcile.Result{}, err
	}
	j, err := c.read(ctx, key)
	if err != nil || j == nil {
		return reconcile.Result{}, err
	}
	if expired, err := c.expired(ctx, key, j); err != nil || !expired {
		return reconcile.Result{}, err
	}
	expireAt := ttl.Decide(j, c.options.Clock.Now()).ExpireAt
	if err := c.remove(ctx, j); err != nil {
		return reconcile.Result{}, err
	}
	deletionDuration.Observe(c.options.Clock.Since(expireAt).Seconds())
	return reconcile.Result{}, nil
}

// expired reports whether the Job is to be deleted now, and sets the alarm if that comes later.
func (c *controller) expired(ctx context.Context, key types.NamespacedName, j *batchv1.Job) (bool, error) {
	d := ttl.Decide(j, c.options.Clock.Now())
	if d.FinishedInFuture {
		log.FromContext(ctx).Info("The Job finished in the future: the clocks of this process and of the one that finished it differ", "expires", d.ExpireAt)
	}
	if d.Action == ttl.Wait {
		c.alarm.Wake(key, d.ExpireAt)
	}
	return d.Action == ttl.Delete, d.Err
}
