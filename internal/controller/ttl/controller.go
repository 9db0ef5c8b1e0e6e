// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ttl deletes finished Jobs when their spec.ttlSecondsAfterFinished has passed. When is decided by package
// internal/ttl; here Jobs are read (gather.go), waited for (controller.go) and deleted (apply.go).
//
// Behaviour is that of pkg/controller/ttlafterfinished of Kubernetes 1.36 (KEP-592), with one addition: the deletion
// names the resource version that was decided upon, so that an edit which comes in between is not lost.
package ttl

import (
	"cmp"
	"context"
	"fmt"
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

	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/wallclock"
	"github.com/carillon-dev/carillon/internal/ttl"
)

// queueName is the name of the queue, and so of its workqueue metrics.
const queueName = "ttl_jobs_to_delete"

// Options of the controller. Zero fields mean the default named with them.
type Options struct {
	// ManagedBy restricts the controller to Jobs with this spec.managedBy. Default "": all Jobs, whoever runs them.
	ManagedBy string
	// ConcurrentSyncs is how many Jobs are deleted at the same time. Default [DefaultConcurrentSyncs].
	ConcurrentSyncs int
	// RetryBase and RetryMax shape the delay after an error. Default 5 ms, 1000 s.
	RetryBase, RetryMax time.Duration
	// MayDelete tells whether a Job that has ended may be deleted now. If not it is asked again a little later, and must have
	// said yes after some seconds, whatever happens. It must not block. Default nil: always.
	MayDelete func(types.UID) bool
	// Clock tells the time. Default: the real one.
	Clock clock.Clock
}

// heldRecheck is when the deletion of a Job is tried again that Options.MayDelete has held.
const heldRecheck = 100 * time.Millisecond

// DefaultConcurrentSyncs is that of kube-controller-manager.
const DefaultConcurrentSyncs = 5

func (o Options) validate() error {
	if o.ConcurrentSyncs < 0 {
		return fmt.Errorf("ttl controller: the options have a limit of %d; use at least 1, or 0 for the default", o.ConcurrentSyncs)
	}
	if d := min(o.RetryBase, o.RetryMax); d < 0 {
		return fmt.Errorf("ttl controller: the options have a duration of %s; use a positive one, or 0 for the default", d)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.ConcurrentSyncs = cmp.Or(o.ConcurrentSyncs, DefaultConcurrentSyncs)
	o.RetryBase, o.RetryMax = cmp.Or(o.RetryBase, 5*time.Millisecond), cmp.Or(o.RetryMax, 1000*time.Second)
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	return o
}

// Add makes mgr delete finished Jobs in time. The manager's cache must span all namespaces.
func Add(mgr ctrl.Manager, opts Options) error {
	if err := opts.validate(); err != nil {
		return err
	}
	opts = opts.withDefaults()
	jobs, err := lister.For(context.Background(), mgr.GetCache(), &batchv1.Job{})
	if err != nil {
		return err
	}
	timers := wallclock.NewTimers(opts.Clock)
	c := newController(opts, mgr.GetClient(), mgr.GetAPIReader(), timers, func(key types.NamespacedName) *batchv1.Job {
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
	return main.Watch(timers.Source())
}

// controller holds what outlives a sync: the instants at which Jobs expire. A restart makes them anew from the Jobs.
type controller struct {
	options Options
	client  client.Client
	live    client.Reader
	jobs    func(types.NamespacedName) *batchv1.Job
	// timers wake Jobs at instants of the wall clock: a time to live ends then, whatever the machine did meanwhile.
	timers wallclock.WakeScheduler
}

func newController(opts Options, writes client.Client, live client.Reader, timers wallclock.WakeScheduler, jobs func(types.NamespacedName) *batchv1.Job) *controller {
	return &controller{options: opts, client: writes, live: live, timers: timers, jobs: jobs}
}

// queueOptions bound what the queue does to the API server: so many Jobs at once, and a failed one again with back-off.
func (c *controller) queueOptions() ctrlcontroller.Options {
	return ctrlcontroller.Options{
		Reconciler:              reconcile.Func(c.Reconcile),
		MaxConcurrentReconciles: c.options.ConcurrentSyncs,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](c.options.RetryBase, c.options.RetryMax),
		SkipNameValidation:      ptr.To(true), // several managers may live in one process
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type jobHandler = handler.TypedFuncs[*batchv1.Job, reconcile.Request]

func (c *controller) jobEvents() jobHandler {
	return jobHandler{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*batchv1.Job], q queue) { c.changed(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*batchv1.Job], q queue) { c.changed(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*batchv1.Job], _ queue) {
			c.timers.Cancel(types.NamespacedName{Namespace: e.Object.Namespace, Name: e.Object.Name})
		},
	}
}

// changed sets the timer of a Job that will expire and enqueues one that has, and one that is to be warned of.
func (c *controller) changed(j *batchv1.Job, q queue) {
	if !c.mine(j) {
		return
	}
	key := types.NamespacedName{Namespace: j.Namespace, Name: j.Name}
	switch d := ttl.Decide(j, c.options.Clock.Now()); {
	case d.Action == ttl.Wait && !d.FinishedInFuture:
		c.timers.Wake(key, d.ExpireAt)
	case d.Action != ttl.Keep, d.Err != nil:
		q.Add(reconcile.Request{NamespacedName: key})
	}
}

// Reconcile deletes the Job if its time to live is over, decided first on the cached and then on the live Job.
func (c *controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	j := c.cached(key)
	if j == nil {
		return reconcile.Result{}, nil
	}
	if expired, err := c.expired(ctx, key, j); err != nil || !expired {
		return reconcile.Result{}, err
	}
	if c.options.MayDelete != nil && !c.options.MayDelete(j.UID) {
		return reconcile.Result{RequeueAfter: heldRecheck}, nil
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

// expired reports whether the Job is to be deleted now, and sets the timer if that comes later.
func (c *controller) expired(ctx context.Context, key types.NamespacedName, j *batchv1.Job) (bool, error) {
	d := ttl.Decide(j, c.options.Clock.Now())
	if d.FinishedInFuture {
		log.FromContext(ctx).Info("The Job finished in the future: the clocks of this process and of the one that finished it differ", "expires", d.ExpireAt)
	}
	if d.Action == ttl.Wait {
		c.timers.Wake(key, d.ExpireAt)
	}
	return d.Action == ttl.Delete, d.Err
}
