// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
)

const (
	// watchLinger is how long a watch stays open that no object needs any more: whoever replaces one object by another
	// does not fill the cache anew.
	watchLinger = 10 * time.Minute
	// firstRecheck and lastRecheck are how soon a kind is asked for anew that could not be watched, first and at last
	// (timetable.md 6).
	firstRecheck, lastRecheck = 5 * time.Second, 5 * time.Minute
	// passingRecheck is how soon it is asked for anew, at last, if what kept it from being watched may have passed by then.
	passingRecheck = 30 * time.Second
	// watchPatience is how long a watch may fail to open for reasons that may pass before objects are told.
	watchPatience = time.Minute
)

// openWatch opens the watch of a kind of child, which lasts until ctx ends, and returns when its cache is filled. broken
// tells of an error after which the cache does not follow any more. Otherwise it says why the kind cannot be watched:
// trouble for as long as nobody mends it, err for what may pass.
type openWatch func(ctx context.Context, k *childKind) (l *lister.Lister, broken <-chan adapter.ChildTrouble, trouble *adapter.ChildTrouble, err error)

// childWatches are the watches of the kinds that objects choose for their children: each is opened when the first object
// needs it, and closed some time after the last one has let go of it. An object needs the kinds that it names, and those
// in which it still has children. No call waits for a server.
type childWatches struct {
	chooser adapter.ChildChooser
	open    openWatch
	// changed is told of the objects that are to be looked at because a watch has been opened, or cannot be.
	changed func([]types.NamespacedName)
	clock   clock.Clock
	log     logr.Logger
	// ctx ends all watches.
	ctx     context.Context
	running sync.WaitGroup

	mu     sync.Mutex
	byKind map[schema.GroupVersionKind]*childWatch
	needs  map[types.UID]*childNeed
}

// childWatch is the watch of one kind. The fields below the first block are guarded by childWatches.mu.
type childWatch struct {
	childKind
	objects replaceableCache
	close   context.CancelFunc
	// alone is what an object needs that needs nothing else.
	alone *neededKinds

	// opened: the cache was filled once. trouble is why it cannot be trusted to follow, nil if it does, or if nothing is
	// known yet.
	opened  bool
	trouble *adapter.ChildTrouble
	users   map[types.UID]types.NamespacedName
	// idleSince is when the last user let go of it.
	idleSince time.Time
}

// childNeed is what one object needs.
type childNeed struct {
	key types.NamespacedName
	*neededKinds
}

// neededKinds are the kinds that an object names, and then those of older children. They are never modified: nearly all
// objects need one kind alone, and those of one kind the same.
type neededKinds struct {
	named   []schema.GroupVersionKind
	watches []*childWatch
	kinds   []*childKind // of watches
}

func newChildWatches(ctx context.Context, chooser adapter.ChildChooser, open openWatch, changed func([]types.NamespacedName), c clock.Clock, log logr.Logger) *childWatches {
	return &childWatches{chooser: chooser, open: open, changed: changed, clock: c, log: log, ctx: ctx,
		byKind: map[schema.GroupVersionKind]*childWatch{}, needs: map[types.UID]*childNeed{}}
}

// need gives the kinds in which an object may have children, first those that it names, and has them watched. Those that
// it has named before it keeps while it is busy, that is while something that it has started may be active, or has
// children of them. trouble is why nothing of the first one can be started. ready is false while nobody knows what
// children there are of some kind.
func (w *childWatches) need(key types.NamespacedName, uid types.UID, named []schema.GroupVersionKind, busy bool) (kinds []*childKind, trouble *adapter.ChildTrouble, ready bool) {
	if len(named) == 0 {
		return nil, nil, true // it cannot be read, and keeps what it needed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.needs[uid]
	if n == nil {
		n = &childNeed{key, &neededKinds{}}
		w.needs[uid] = n
	}
	if !slices.Equal(n.named, named) || len(n.watches) > len(named) && !busy {
		w.change(n, uid, named, busy)
	}
	for _, k := range n.watches {
		if !k.opened && k.trouble == nil {
			return n.kinds, nil, false
		}
	}
	return n.kinds, n.watches[0].trouble, true
}

// formerTrouble is the first of the kinds that an object names beside that of what it starts, and that cannot be watched,
// and why; nil if all can.
func (w *childWatches) formerTrouble(uid types.UID) (kind schema.GroupVersionKind, why *adapter.ChildTrouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.needs[uid]
	if n == nil || len(n.named) < 2 {
		return kind, nil
	}
	for _, k := range n.watches[1:len(n.named)] {
		if k.trouble != nil {
			return k.gvk, new(*k.trouble)
		}
	}
	return kind, nil
}

// change gives an object the watches of the kinds that it names now, and lets go of those that it needs no more.
func (w *childWatches) change(n *childNeed, uid types.UID, named []schema.GroupVersionKind, busy bool) {
	former, needed := n.watches, &neededKinds{}
	for _, gvk := range named {
		needed.watches = append(needed.watches, w.watch(gvk))
	}
	for _, k := range former {
		switch {
		case slices.Contains(needed.watches, k):
		case !busy && k.emptyOf(uid):
			w.leave(k, uid)
		default:
			needed.watches = append(needed.watches, k)
		}
	}
	for _, k := range needed.watches {
		k.users[uid] = n.key
	}
	if len(needed.watches) == 1 {
		n.neededKinds = needed.watches[0].alone
		return
	}
	needed.named = slices.Clone(named)
	for _, k := range needed.watches {
		needed.kinds = append(needed.kinds, &k.childKind)
	}
	n.neededKinds = needed
}

// emptyOf reports whether the object is known to have no child of this kind.
func (k *childWatch) emptyOf(owner types.UID) bool {
	if !k.opened || k.trouble != nil {
		return false
	}
	children, _ := k.writes.Merge(owner, k.cache.ControlledBy(owner))
	return len(children) == 0
}

// forget lets go of all that an object needed, because it is gone.
func (w *childWatches) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.needs[uid]
	if n == nil {
		return
	}
	delete(w.needs, uid)
	for _, k := range n.watches {
		k.writes.Forget(uid)
		w.leave(k, uid)
	}
}

// watch is the watch of a kind, which is opened if it is not there yet.
func (w *childWatches) watch(gvk schema.GroupVersionKind) *childWatch {
	if k := w.byKind[gvk]; k != nil {
		return k
	}
	k := &childWatch{users: map[types.UID]types.NamespacedName{}}
	k.childKind = childKind{
		gvk: gvk, resource: schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, // in errors; the true one needs discovery
		new:    childMaker(w.chooser, gvk),
		cache:  &k.objects,
		writes: ownwrites.New[client.Object](k.objects.Progress),
		trim:   func(obj client.Object) client.Object { return w.chooser.TrimChild(obj, gvk) },
	}
	k.alone = &neededKinds{[]schema.GroupVersionKind{gvk}, []*childWatch{k}, []*childKind{&k.childKind}}
	w.byKind[gvk] = k
	var ctx context.Context
	ctx, k.close = context.WithCancel(w.ctx)
	w.begin(func() { w.keepOpen(ctx, k) })
	return k
}

// childMaker gives what makes empty children of a kind.
func childMaker(chooser adapter.ChildChooser, gvk schema.GroupVersionKind) func() client.Object {
	if typed, ok := chooser.(adapter.TypedChildren); ok && typed.NewChild(gvk) != nil {
		return func() client.Object { return typed.NewChild(gvk) }
	}
	return func() client.Object {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gvk)
		return obj
	}
}

// leave takes an object from the users of a watch, which is closed if nobody needs it for a while.
func (w *childWatches) leave(k *childWatch, uid types.UID) {
	delete(k.users, uid)
	if len(k.users) > 0 {
		return
	}
	k.idleSince = w.clock.Now()
	passed := w.clock.After(watchLinger)
	w.begin(func() {
		select {
		case <-w.ctx.Done():
			return
		case <-passed:
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(k.users) == 0 && w.clock.Since(k.idleSince) >= watchLinger && w.byKind[k.gvk] == k {
			k.close()
			delete(w.byKind, k.gvk)
		}
	})
}

// begin begins something that ends with ctx. mu is held.
func (w *childWatches) begin(work func()) {
	if w.ctx.Err() == nil {
		w.running.Go(work)
	}
}

// keepOpen has a kind watched until ctx ends, and asks for it anew while it cannot be.
func (w *childWatches) keepOpen(ctx context.Context, k *childWatch) {
	var failing time.Time // since when it fails for what may pass
	for wait := firstRecheck; ; wait = min(2*wait, lastRecheck) {
		attempt, end := context.WithCancel(ctx)
		l, broken, trouble, err := w.open(attempt, &k.childKind)
		if l != nil {
			w.log.V(1).Info("Children of a kind are watched", "child", k.gvk.String())
			k.objects.replace(l)
			w.set(k, nil)
			wait, failing = firstRecheck, time.Time{}
			select {
			case <-ctx.Done():
			case why := <-broken:
				trouble = &why
			}
		}
		end()
		if ctx.Err() != nil {
			return
		}
		if trouble != nil {
			failing = time.Time{}
		} else {
			wait = min(wait, passingRecheck)
			w.log.Error(err, "Cannot watch children of a kind; trying again", "child", k.gvk.String(), "after", wait.String())
			if failing.IsZero() {
				failing = w.clock.Now()
			}
			if w.clock.Since(failing) >= watchPatience {
				trouble = cannotBeListed(err)
			}
		}
		if trouble != nil {
			w.set(k, trouble)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.clock.After(wait):
		}
	}
}

// cannotBeListed is what objects are told of an error that lasts. They are told the reason that the API server gives, and
// not the error, which may name addresses of the cluster, and another port at each attempt.
func cannotBeListed(err error) *adapter.ChildTrouble {
	why := "the API server does not answer"
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		why = "the API server answers with " + string(reason)
	}
	return &adapter.ChildTrouble{NotServed: true, Why: "it cannot be listed: " + why}
}

// set notes that a watch is open, or why it cannot be, and has its users looked at if that is news.
func (w *childWatches) set(k *childWatch, trouble *adapter.ChildTrouble) {
	w.mu.Lock()
	news := trouble == nil || k.trouble == nil || *k.trouble != *trouble
	k.opened, k.trouble = k.opened || trouble == nil, trouble
	users := slices.Collect(maps.Values(k.users))
	w.mu.Unlock()
	if !news {
		return
	}
	if trouble != nil {
		w.log.Info("Children of a kind cannot be watched", "child", k.gvk.String(), "why", trouble.Why)
	}
	w.changed(users)
}

// Start implements manager.Runnable: it returns when all watches have ended.
func (w *childWatches) Start(context.Context) error {
	<-w.ctx.Done()
	w.mu.Lock()
	w.mu.Unlock() //nolint:staticcheck // what has begun by now is waited for, and nothing begins any more
	w.running.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*childWatches) NeedLeaderElection() bool { return false }

// replaceableCache is a cache that is filled anew from time to time; empty before the first time.
type replaceableCache struct{ current atomic.Pointer[lister.Lister] }

func (c *replaceableCache) replace(l *lister.Lister) { c.current.Store(l) }

// Get implements cache.
func (c *replaceableCache) Get(name types.NamespacedName) (client.Object, bool) {
	if l := c.current.Load(); l != nil {
		return l.Get(name)
	}
	return nil, false
}

// ControlledBy implements cache.
func (c *replaceableCache) ControlledBy(owner types.UID) []client.Object {
	if l := c.current.Load(); l != nil {
		return l.ControlledBy(owner)
	}
	return nil
}

// Progress is up to which resource version the cache is complete, "" if nobody knows.
func (c *replaceableCache) Progress() string {
	if l := c.current.Load(); l != nil {
		return l.Progress()
	}
	return ""
}
