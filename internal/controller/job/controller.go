// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/fanout"
	"github.com/carillon-dev/carillon/internal/kube/fence"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/wallclock"
)

// ManagedBy is our name in spec.managedBy.
const ManagedBy = "carillon.dev/job-controller"

// Names of the two queues and so of their workqueue metrics, and the source of all events: those of the built-in
// controller.
const (
	queueName       = "job"
	orphanQueueName = "job_orphan_pod"
	eventSource     = "job-controller"
)

// Options of the controller. Zero fields mean the default named with them.
type Options struct {
	// ManagedBy is our name in spec.managedBy. Default: [ManagedBy].
	ManagedBy string
	// Standalone: there is no other Job controller, so Jobs without managedBy, and those that name the built-in
	// controller, are ours too.
	Standalone bool

	// ConcurrentSyncs is how many Jobs are synced at the same time. Default [DefaultConcurrentSyncs].
	ConcurrentSyncs int
	// FanOut is how many calls one Job makes at once, and Calls how many all Jobs make together; waiting calls are let
	// through in order, so a Job of ten thousand pods is never more than FanOut calls ahead of a Job of one. Default 16
	// and 96.
	FanOut, Calls int

	// WindowLeast, WindowPerPod and WindowMost shape the window in which a Job is synced at most once: least, and a bit
	// for every pod, up to most. Default 20 ms, 200 µs, 1 s.
	WindowLeast, WindowPerPod, WindowMost time.Duration
	// ProgressDeferPerPod and ProgressDeferMost shape for how long mere progress of a Job is not written to its status:
	// a bit for every pod but the first, up to most (statuswrite.go). Default 5 ms, 10 s.
	ProgressDeferPerPod, ProgressDeferMost time.Duration
	// SyncPeriod, MaxPodChanges, MaxUncounted, BackoffBase, BackoffMax: see the options of the core. Default 1 s, 500,
	// 500, 10 s, 10 min.
	SyncPeriod                  time.Duration
	MaxPodChanges, MaxUncounted int
	BackoffBase, BackoffMax     time.Duration
	// RetryBase and RetryMax shape the delay after an error. Default 1 s, 1 min.
	RetryBase, RetryMax time.Duration

	// Clock tells the time. Default: the real one.
	Clock clock.Clock
	// Gate is entered by creations of pods and due status writes; finalizers, the news that a Job started, and events
	// wait while somebody is in it. Default: one of its own.
	Gate *loadgate.Gate
	// Events takes what is said about Jobs. Default: a recorder of its own, run by the manager.
	Events EventRecorder
}

// An EventRecorder publishes events about objects. *events.Recorder is one.
type EventRecorder interface {
	// Event publishes e, now or soon. It does not wait.
	Event(events.Event)
	// Forget drops what is remembered about an object that is gone.
	Forget(types.UID)
}

// DefaultConcurrentSyncs is far above the 5 of kube-controller-manager: most of a sync is waiting for the API server.
const DefaultConcurrentSyncs = 32

func (o Options) withDefaults() Options {
	o.ManagedBy = cmp.Or(o.ManagedBy, ManagedBy)
	o.ConcurrentSyncs = cmp.Or(o.ConcurrentSyncs, DefaultConcurrentSyncs)
	o.FanOut, o.Calls = cmp.Or(o.FanOut, 16), cmp.Or(o.Calls, 96)
	o.WindowLeast = cmp.Or(o.WindowLeast, 20*time.Millisecond)
	o.WindowPerPod = cmp.Or(o.WindowPerPod, 200*time.Microsecond)
	o.WindowMost = cmp.Or(o.WindowMost, time.Second)
	o.ProgressDeferPerPod = cmp.Or(o.ProgressDeferPerPod, 5*time.Millisecond)
	o.ProgressDeferMost = cmp.Or(o.ProgressDeferMost, 10*time.Second)
	o.SyncPeriod = cmp.Or(o.SyncPeriod, time.Second)
	o.MaxPodChanges, o.MaxUncounted = cmp.Or(o.MaxPodChanges, 500), cmp.Or(o.MaxUncounted, 500)
	o.RetryBase, o.RetryMax = cmp.Or(o.RetryBase, time.Second), cmp.Or(o.RetryMax, time.Minute)
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	o.Gate = cmp.Or(o.Gate, loadgate.New(o.Clock))
	return o
}

func (o Options) validate() error {
	if n := min(o.ConcurrentSyncs, o.FanOut, o.Calls, o.MaxPodChanges, o.MaxUncounted); n < 0 {
		return fmt.Errorf("job controller: the options have a limit of %d; use at least 1, or 0 for the default", n)
	}
	if d := min(o.WindowLeast, o.WindowPerPod, o.WindowMost, o.ProgressDeferPerPod, o.ProgressDeferMost, o.SyncPeriod,
		o.BackoffBase, o.BackoffMax, o.RetryBase, o.RetryMax); d < 0 {
		return fmt.Errorf("job controller: the options have a duration of %s; use a positive one, or 0 for the default", d)
	}
	return nil
}

// rules are the options of the core.
func (o Options) rules() job.Options {
	return job.Options{
		ManagedBy:     o.ManagedBy,
		Standalone:    o.Standalone,
		MaxUncounted:  o.MaxUncounted,
		MaxPodChanges: o.MaxPodChanges,
		BackoffBase:   o.BackoffBase,
		BackoffMax:    o.BackoffMax,
		SyncPeriod:    o.SyncPeriod,
	}
}

// Add makes mgr run the Job controller. The manager's cache must span all namespaces.
func Add(mgr ctrl.Manager, opts Options) error {
	ctx := context.Background() // nothing below waits: the informers start with the manager
	if err := opts.validate(); err != nil {
		return err
	}
	opts = opts.withDefaults()
	jobs, err := indexed(ctx, mgr.GetCache(), &batchv1.Job{}, jobIndexers())
	if err != nil {
		return err
	}
	pods, err := indexed(ctx, mgr.GetCache(), &corev1.Pod{}, podIndexers())
	if err != nil {
		return err
	}
	if opts.Events == nil {
		opts.Events, err = events.Add(mgr, events.Options{
			Component: eventSource, Gate: opts.Gate, Clock: opts.Clock, Logger: mgr.GetLogger().WithName(queueName),
		})
		if err != nil {
			return fmt.Errorf("job controller: %w", err)
		}
	}
	timers := wallclock.NewTimers(opts.Clock)
	c := newController(opts, mgr.GetClient(), mgr.GetAPIReader(), timers, caches{jobs: jobs, pods: pods})

	// The retry delay belongs to one key; there is no limit that all Jobs share.
	limiter := func() workqueue.TypedRateLimiter[reconcile.Request] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](opts.RetryBase, opts.RetryMax)
	}
	main, err := ctrlcontroller.New(queueName, mgr, ctrlcontroller.Options{
		Reconciler:              reconcile.Func(c.Reconcile),
		MaxConcurrentReconciles: opts.ConcurrentSyncs,
		RateLimiter:             limiter(),
		SkipNameValidation:      ptr.To(true), // several managers may live in one process
	})
	if err != nil {
		return err
	}
	orphans, err := ctrlcontroller.New(orphanQueueName, mgr, ctrlcontroller.Options{
		Reconciler:              reconcile.Func(c.reconcileOrphan),
		MaxConcurrentReconciles: opts.ConcurrentSyncs,
		RateLimiter:             limiter(),
		SkipNameValidation:      ptr.To(true),
	})
	if err != nil {
		return err
	}
	return errors.Join(
		main.Watch(source.Kind(mgr.GetCache(), &batchv1.Job{}, c.jobEvents())),
		main.Watch(source.Kind(mgr.GetCache(), &corev1.Pod{}, c.podEvents())),
		main.Watch(timers.Source()),
		orphans.Watch(source.Kind(mgr.GetCache(), &batchv1.Job{}, c.orphanJobEvents())),
		orphans.Watch(source.Kind(mgr.GetCache(), &corev1.Pod{}, c.orphanPodEvents())),
	)
}

// indexed returns the store of the informer for the type of obj, with the indexes added.
func indexed(ctx context.Context, c cache.Cache, obj client.Object, indexers toolscache.Indexers) (toolscache.Indexer, error) {
	informer, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("job controller: informer of %T: %w", obj, err)
	}
	store, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return nil, fmt.Errorf("job controller: the cache of %T is split by namespace; it must span all namespaces", obj)
	}
	if err := informer.AddIndexers(indexers); err != nil {
		return nil, fmt.Errorf("job controller: indexes of %T: %w", obj, err)
	}
	return store.GetIndexer(), nil
}

// controller holds what outlives a sync. Its methods may be called by several goroutines at once, those about one Job
// only by one.
type controller struct {
	options      Options
	clock        clock.Clock
	client       client.Client // writes
	live         client.Reader // reads that must not be late
	cache        caches
	events       EventRecorder
	expectations *expectations
	// timers wake Jobs at instants of the wall clock (a deadline goes on while a laptop sleeps), which a delayed add of
	// the queue is not.
	timers wallclock.WakeScheduler
	slots  chan struct{}
	gate   *loadgate.Gate
	// progress and jobProgress are how far the caches of pods and Jobs have come.
	progress, jobProgress func() string
}

func newController(opts Options, writes client.Client, live client.Reader, timers wallclock.WakeScheduler, c caches) *controller {
	return &controller{
		options:      opts,
		clock:        opts.Clock,
		client:       writes,
		live:         live,
		cache:        c,
		events:       opts.Events,
		expectations: newExpectations(c.jobs.LastStoreSyncResourceVersion),
		timers:       timers,
		slots:        make(chan struct{}, opts.Calls),
		gate:         opts.Gate,
		progress:     c.pods.LastStoreSyncResourceVersion, jobProgress: c.jobs.LastStoreSyncResourceVersion,
	}
}

// Reconcile brings one Job up to date.
func (c *controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	began := c.clock.Now()
	ctx = fence.WithDecision(ctx, fence.Now())
	snapshot, err := c.gather(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := job.Decide(snapshot)
	if snapshot.Job == nil || plan.Skip == job.SkipNotOurs {
		return reconcile.Result{}, nil
	}
	w := &work{controller: c, key: key, job: snapshot.Job, now: snapshot.Now, carry: c.expectations.carry(snapshot.Job.UID)}
	w.publish(plan.Events)
	if plan.Skip != "" {
		err = w.cleanup(ctx, plan)
	} else {
		if len(snapshot.Expectations.Creating) > 0 {
			w.awaitCreations()
		}
		err = w.apply(ctx, plan)
		c.measure(snapshot.Job, plan.Action, c.clock.Since(began), errors.Join(err, w.retryRefused()))
	}
	c.tidy(key, w.job.UID)
	return reconcile.Result{}, w.wake(err)
}

// tidy drops what a sync expects of a Job that vanished or ended under its hands: the event for which that is
// done has come already.
func (c *controller) tidy(key types.NamespacedName, uid types.UID) {
	switch j := c.cache.job(key); {
	case j == nil || j.UID != uid:
		c.forget(uid)
	case job.Finished(j):
		c.expectations.finish(uid)
	}
}

// forget drops what is kept about a Job that is gone.
func (c *controller) forget(uid types.UID) {
	c.expectations.forget(uid)
	c.events.Forget(uid)
}

// each makes n calls, FanOut of this Job and Calls of all Jobs at a time.
func (c *controller) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) []error {
	return fanout.Each(ctx, c.options.FanOut, n, func(ctx context.Context, i int) error {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-c.slots }()
		return do(ctx, i)
	})
}

// publish sends events about the Job.
func (w *work) publish(list []job.Event) {
	if len(list) == 0 {
		return
	}
	about := events.About(w.job, batchv1.SchemeGroupVersion.WithKind("Job"))
	for _, n := range list {
		w.events.Event(events.Event{About: about, Type: n.Type, Reason: n.Reason, Message: n.Message})
	}
}
