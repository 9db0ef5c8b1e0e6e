// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/kube/wallclock"
	"github.com/carillon-dev/carillon/internal/othercontroller"
)

// Name is the controller's name in lists of controllers, and that of the queue of batch/v1 CronJobs in metrics.
const Name = "cronjob"

// Options configure the controller. The zero value is ready for use.
type Options struct {
	// Kinds are the kinds of CronJob to serve; nil: all (kind.All). One whose API the server does not offer is waited
	// for.
	Kinds []kind.Kind
	// ConcurrentSyncs is how many CronJobs of each kind are synced at the same time; 0: DefaultConcurrentSyncs.
	// StatusWriters is how many statuses are written beside them; 0: 16.
	ConcurrentSyncs int
	StatusWriters   int
	// Clock tells the time; nil: the real one.
	Clock clock.Clock
	// Zone is the zone of schedules that name none; nil: that of the process.
	Zone *time.Location
	// Sink takes the events; nil: the manager's API server.
	Sink events.Sink
	// Gate holds back what can wait while starts are due; nil: one for this controller alone.
	Gate *loadgate.Gate
	// TakeoverAfter is how long another controller of a kind must have been silent to count as gone; 0: that of package
	// othercontroller.
	TakeoverAfter time.Duration
	// PauseChanged is called when a kind is paused, that is left to another controller, and why; "" when it is served
	// again. It must not block. Nil: nobody listens.
	PauseChanged func(kind, why string)
	// Witness is told of runs what their objects do not tell; nil: nobody is.
	Witness Witness
	// LeaderElect: the manager serves only while it holds a lease, and so may have taken over from another process
	// (takeover.go).
	LeaderElect bool
	// Discovery is how often an API that is not served is looked for; 0: every 10 s.
	Discovery time.Duration
}

const (
	// DefaultConcurrentSyncs is far above the 5 of kube-controller-manager, which make starts late.
	DefaultConcurrentSyncs = 64
	// duePriority puts starts that are due before everything else in the queue.
	duePriority = 100
)

func (o Options) validate() error {
	if n := min(o.ConcurrentSyncs, o.StatusWriters); n < 0 {
		return fmt.Errorf("cronjob controller: the options have a limit of %d; use at least 1, or 0 for the default", n)
	}
	if d := min(o.TakeoverAfter, o.Discovery); d < 0 {
		return fmt.Errorf("cronjob controller: the options have a duration of %s; use a positive one, or 0 for the default", d)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Kinds == nil {
		o.Kinds = kind.All
	}
	o.ConcurrentSyncs = cmp.Or(o.ConcurrentSyncs, DefaultConcurrentSyncs)
	o.StatusWriters = cmp.Or(o.StatusWriters, 16)
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	o.Zone = cmp.Or(o.Zone, time.Local)
	o.Gate = cmp.Or(o.Gate, loadgate.New(clock.RealClock{}))
	o.TakeoverAfter, o.Discovery = cmp.Or(o.TakeoverAfter, othercontroller.TakeoverAfter), cmp.Or(o.Discovery, 10*time.Second)
	return o
}

// Add sets the controller up in mgr, once for each kind, and registers the types of the kinds in mgr's scheme. It must
// be called before mgr is started. A kind whose API is not served starts by itself when it appears.
//
// The cache of mgr must span all namespaces; with Trim as its transform it is several times smaller.
func Add(mgr ctrl.Manager, options Options) error {
	if err := options.validate(); err != nil {
		return err
	}
	options = options.withDefaults()
	for _, k := range options.Kinds {
		if err := k.AddToScheme(mgr.GetScheme()); err != nil {
			return fmt.Errorf("cronjob controller: kind %s: %w", k.Info().Name, err)
		}
		if err := mgr.Add(&starter{mgr: mgr, kind: k, options: options}); err != nil {
			return fmt.Errorf("cronjob controller: kind %s: %w", k.Info().Name, err)
		}
	}
	return nil
}

// starter waits until the API of a kind is served and then adds its controller to the running manager.
type starter struct {
	mgr     ctrl.Manager
	kind    kind.Kind
	options Options
}

// NeedLeaderElection tells the manager to run starters without leadership, so that caches are warm when it comes.
func (*starter) NeedLeaderElection() bool { return false }

// Start returns when the controller has been added.
func (s *starter) Start(ctx context.Context) error {
	info := s.kind.Info()
	log := s.mgr.GetLogger().WithName(Name).WithValues("kind", info.Name)
	waited := false
	for {
		missing, err := s.missing()
		switch {
		case err != nil:
			log.Error(err, "Cannot find out whether the API is served; trying again", "after", s.options.Discovery.String())
		case len(missing) == 0:
			if waited {
				log.Info("The API is served now")
			}
			return s.add(ctx, log)
		case !waited:
			waited = true
			log.Info("The API is not served; the controller starts by itself when it appears", "missing", missing)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.options.Discovery):
		}
	}
}

// missing are the API types that the kind needs and that are not served.
func (s *starter) missing() (missing []string, err error) {
	for _, gvk := range watchedKinds(s.kind) {
		_, err := s.mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			missing = append(missing, gvk.String())
		} else if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

func (s *starter) add(ctx context.Context, log logr.Logger) error {
	info := s.kind.Info()
	r, err := newReconciler(s.kind, s.mgr.GetScheme())
	if err != nil {
		return err
	}
	ownerCache, childCache, err := s.caches()
	if err != nil {
		return err
	}
	owners, err := lister.For(ctx, ownerCache, r.newOwner())
	if err != nil {
		return err
	}
	r.owners, r.ownWrites = owners, ownwrites.New[client.Object](owners.Progress)
	if s.options.LeaderElect {
		if r.takeover, err = newTakeover(s.mgr, followed{gvk: info.Owner, progress: owners.Progress}); err != nil {
			return err
		}
	}
	r.live, r.writer = s.mgr.GetAPIReader(), client.WithFieldOwner(s.mgr.GetClient(), othercontroller.OurFieldManager)
	r.takeoverAfter, r.pauseChanged, r.witness = s.options.TakeoverAfter, s.options.PauseChanged, s.options.Witness
	r.clock, r.gate, r.log = s.options.Clock, s.options.Gate, log
	r.readOptions = adapter.ReadOptions{Zone: s.options.Zone}
	if info.Traits.EventSource != "" {
		r.recorder, err = events.Add(s.mgr, events.Options{Sink: s.options.Sink, Component: info.Traits.EventSource, Gate: r.gate, Logger: log})
		if err != nil {
			return err
		}
	}
	timers := wallclock.NewTimers(r.clock)
	r.timers = timers
	r.begin()
	others, err := s.otherSources(ctx, r, owners, childCache)
	if err != nil {
		return err
	}

	name := info.Name
	if info.Name == "cronjobs.batch" {
		name = Name
	}
	var syncTimeout time.Duration // controller-runtime's
	if ownerCache != s.mgr.GetCache() {
		syncTimeout = forever
	}
	c, err := controller.New(name, s.mgr, controller.Options{
		CacheSyncTimeout:        syncTimeout,
		Reconciler:              r,
		MaxConcurrentReconciles: s.options.ConcurrentSyncs,
		SkipNameValidation:      ptr.To(true), // several managers may live in one process
		EnableWarmup:            ptr.To(true),
		LogConstructor:          func(*reconcile.Request) logr.Logger { return log.V(1) },
	})
	if err != nil {
		return err
	}
	for _, src := range append([]source.Source{
		source.Func(func(_ context.Context, q queue) error { r.queue.Store(&q); return nil }),
		source.Kind(ownerCache, r.newOwner(), r.ownerHandlers()),
	}, others...) {
		if err := c.Watch(src); err != nil {
			return err
		}
	}
	return s.mgr.Add(&background{r, timers, s.options.StatusWriters, owners.All})
}

// forever is how long a custom resource is waited for.
const forever = 100 * 365 * 24 * time.Hour

// caches gives the caches for the CronJobs and their children. Types that every server has share the manager's. Custom
// resources have one of their own: a source waits for all of its cache, so one resource that cannot be read, because
// its CRD is removed or its role is not granted, would otherwise stop every controller of the manager.
func (s *starter) caches() (owners, children crcache.Cache, err error) {
	info := s.kind.Info()
	shared := s.mgr.GetCache()
	if scheme.Scheme.Recognizes(info.Owner) && scheme.Scheme.Recognizes(info.Child) {
		return shared, shared, nil
	}
	own, err := crcache.New(s.mgr.GetConfig(), crcache.Options{
		HTTPClient: s.mgr.GetHTTPClient(), Scheme: s.mgr.GetScheme(), Mapper: s.mgr.GetRESTMapper(), DefaultTransform: Trim(s.kind),
		NewInformer: s.informer,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.mgr.Add(warm{own}); err != nil {
		return nil, nil, err
	}
	owners, children = shared, shared
	if !scheme.Scheme.Recognizes(info.Owner) {
		owners = own
	}
	if !scheme.Scheme.Recognizes(info.Child) {
		children = own
	}
	return owners, children, nil
}

// warm runs a cache without leadership.
type warm struct{ crcache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (warm) NeedLeaderElection() bool { return false }

// background is what works beside the controller's workers, under the same leadership.
type background struct {
	reconciler    *reconciler
	timers        *wallclock.Timers
	statusWriters int
	// objects are those in the cache.
	objects func() []client.Object
}

// Start runs the timers and the status queue until ctx ends.
func (c *background) Start(ctx context.Context) error {
	c.reconciler.log.Info("Controller started")
	c.reconciler.lead()
	if c.reconciler.accounted != nil {
		defer timetableStatuses.serve(c.reconciler, c.objects)()
	}
	var running sync.WaitGroup
	running.Go(func() { c.reconciler.takeover.run(ctx, c.reconciler.log) })
	running.Go(func() { c.timers.Run(ctx, c.reconciler.ring, c.reconciler.jumped) })
	c.reconciler.statusQueue.run(ctx, c.statusWriters)
	running.Wait()
	return nil
}

// reconciler serves one kind.
type reconciler struct {
	kind     kind.Kind
	info     kind.Info
	trim     toolscache.TransformFunc
	newOwner func() client.Object
	owners   cache
	// child is the kind of all children, and onlyKind holds it alone; nil if objects choose it.
	child    *childKind
	onlyKind []*childKind
	// accounted is the kind if its status holds what became of scheduled times, nil otherwise.
	accounted adapter.Accounted
	// chooser and watches are for kinds whose objects choose, nil for others.
	chooser adapter.ChildChooser
	watches *childWatches

	live     client.Reader
	writer   client.Client
	recorder *events.Recorder
	clock    clock.Clock
	gate     *loadgate.Gate
	log      logr.Logger
	// readOptions go into each reading of a CronJob.
	readOptions adapter.ReadOptions
	// depends is nil for kinds that depend on nothing else.
	depends *dependencies
	// removals is how many children of one CronJob are deleted at the same time.
	removals int

	other otherController
	// takeoverAfter and pauseChanged are of Options.
	takeoverAfter time.Duration
	pauseChanged  func(kind, why string)
	// witness is that of Options.
	witness Witness

	// takeover is nil if nothing is taken over.
	takeover    *takeover
	ownWrites   *ownwrites.Store[client.Object]
	tracked     *tracked
	backoff     workqueue.TypedRateLimiter[types.NamespacedName]
	dueKeys     dueKeys
	timers      wallclock.WakeScheduler
	statusQueue *statusQueue
	queue       atomic.Pointer[queue]
}

func newReconciler(k kind.Kind, scheme *runtime.Scheme) (*reconciler, error) {
	r := &reconciler{kind: k, info: k.Info(), trim: Trim(k), tracked: newTracked(), removals: removals, takeoverAfter: othercontroller.TakeoverAfter}
	var err error
	if r.newOwner, err = maker(scheme, r.info.Owner); err != nil {
		return nil, err
	}
	r.accounted, _ = k.(adapter.Accounted)
	if chooser, chooses := k.(adapter.ChildChooser); chooses {
		r.chooser = chooser
		return r, nil
	}
	r.child = &childKind{gvk: r.info.Child, resource: r.info.ChildResource.GroupResource()}
	r.onlyKind = []*childKind{r.child}
	r.child.new, err = maker(scheme, r.info.Child)
	return r, err
}

// maker returns a function that makes empty objects of a registered type.
func maker(scheme *runtime.Scheme, gvk schema.GroupVersionKind) (func() client.Object, error) {
	example, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if _, ok := example.(client.Object); !ok {
		return nil, fmt.Errorf("%T is registered for %s, but is no API object", example, gvk)
	}
	return func() client.Object {
		obj, _ := scheme.New(gvk)
		return obj.(client.Object)
	}, nil
}

// begin makes what is built on the reconciler's other parts.
func (r *reconciler) begin() {
	r.expose()
	r.backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](5*time.Millisecond, 1000*time.Second)
	r.statusQueue = newStatusQueue(r.gate, r.conclude, func(key types.NamespacedName) {
		r.enqueue(reconcile.Request{NamespacedName: key}, 0)
	})
}

// ring puts the keys that are due at the head of the queue.
func (r *reconciler) ring(keys []types.NamespacedName) {
	r.gate.BeginUrgent(r.dueKeys.add(keys))
	requests := make([]reconcile.Request, len(keys))
	for i, key := range keys {
		requests[i].NamespacedName = key
	}
	q := *r.queue.Load()
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(duePriority)}, requests...)
		return
	}
	for _, request := range requests {
		q.Add(request)
	}
}

func (r *reconciler) enqueue(request reconcile.Request, after time.Duration) {
	if q := r.queue.Load(); q != nil {
		(*q).AddAfter(request, after)
	}
}
