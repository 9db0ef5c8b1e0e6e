// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"slices"
	"strconv"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Cache is the cache that one process has of one kind: client-go's own store,
// filled from the server's log, in order and late. What comes out of it comes
// in the order of names, so that a world can be had again.
type Cache struct {
	toolscache.Indexer
	// Only, if set, says which objects the cache is restricted to, as a selector of labels does. What does not fit any
	// more goes from it.
	Only    func(client.Object) bool
	process *Process
	kind    string
	// seen is how many changes of the log it has taken in, coming how many are on their way.
	seen, coming int
	// due is when the last one of those on their way arrives.
	due     time.Duration
	stalled time.Duration
	heard   time.Duration
	hear    []func(old, obj client.Object, gone bool)
	listed  bool
}

// Reached reports whether the cache shows the first n changes of its kind, or what they add up to.
func (c *Cache) Reached(n int) bool { return c.listed && c.seen >= n }

// Follow gives the process a cache. It begins with a list that is stale changes
// behind, and with telling the handlers of it; so these must be given to it
// ([Handle]) before time goes by.
func (p *Process) Follow(kind string, indexers toolscache.Indexers, stale int) *Cache {
	c := &Cache{process: p, kind: kind, Indexer: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)}
	p.caches = append(p.caches, c)
	p.at(p.World.now, func() {
		c.list(len(c.log()) - stale)
		c.coming = c.seen
		for range len(c.log()) - c.seen {
			c.expect()
		}
	})
	p.at(p.World.now+time.Minute, c.bookmark)
	return c
}

// Handle makes a handler hear of what the cache sees.
func Handle[T client.Object](c *Cache, h handler.TypedFuncs[T, reconcile.Request], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	ctx := context.Background()
	c.hear = append(c.hear, func(old, obj client.Object, gone bool) {
		switch {
		case gone && h.DeleteFunc != nil:
			h.DeleteFunc(ctx, event.TypedDeleteEvent[T]{Object: obj.(T)}, q)
		case gone:
		case old == nil && h.CreateFunc != nil:
			h.CreateFunc(ctx, event.TypedCreateEvent[T]{Object: obj.(T)}, q)
		case old != nil && h.UpdateFunc != nil:
			h.UpdateFunc(ctx, event.TypedUpdateEvent[T]{ObjectOld: old.(T), ObjectNew: obj.(T)}, q)
		}
	})
}

func (c *Cache) log() []*Change { return c.process.Server.store.shelf(c.kind).log }

// stall lets the cache see nothing for a while.
func (c *Cache) stall(d time.Duration) {
	c.stalled = max(c.stalled, c.process.World.now+d)
	c.process.World.Story.Tell(c.process.Name, "sees no %ss for %s", c.kind, d)
}

// Behind is how many changes the cache has not seen.
func (c *Cache) Behind() int { return len(c.log()) - c.seen }

// expect puts the arrival of the next change on the agenda.
func (c *Cache) expect() {
	p := c.process
	c.coming++
	lag := time.Duration(0)
	if p.Lag != nil {
		lag = p.Lag(c.kind, c.coming)
	}
	c.due = max(c.due, p.World.now+lag)
	c.arrive(c.coming, c.due)
}

// arrive lets the changes up to the n-th arrive.
func (c *Cache) arrive(n int, at time.Duration) {
	c.process.at(at, func() {
		if c.stalled > c.process.World.now {
			c.arrive(n, c.stalled)
			return
		}
		c.take(n)
	})
}

// catchUp lets everything arrive that is on its way.
func (c *Cache) catchUp() {
	c.due = c.process.World.now
	c.arrive(c.coming, c.due)
}

// take takes in the changes up to the n-th, each of which the handlers hear of.
func (c *Cache) take(n int) {
	for c.seen < n {
		change := c.log()[c.seen]
		c.seen++
		c.process.saw++
		obj := c.kept(change)
		key, _ := toolscache.MetaNamespaceKeyFunc(obj)
		old, exists, _ := c.GetByKey(key)
		switch {
		case change.Gone, c.Only != nil && !c.Only(obj):
			_ = c.Indexer.Delete(obj)
			if exists {
				c.announce(nil, obj, true)
			}
		case exists:
			_ = c.Update(obj)
			c.announce(old.(client.Object), obj, false)
		default:
			_ = c.Add(obj)
			c.announce(nil, obj, false)
		}
	}
}

// kept is what caches keep of an object.
func (c *Cache) kept(change *Change) client.Object {
	if change.trimmed == nil {
		change.trimmed = change.New
		if trim := c.process.Server.Trim; trim != nil {
			change.trimmed = trim(duplicate(change.New))
		}
	}
	return change.trimmed
}

// announce tells the handlers, at once or later, but in order.
func (c *Cache) announce(old, obj client.Object, gone bool) {
	p, echo := c.process, time.Duration(0)
	if p.Echo != nil {
		echo = p.Echo(c.kind, c.seen)
	}
	c.heard = max(c.heard, p.World.now+echo)
	tell := func() {
		for _, hear := range c.hear {
			hear(old, obj, gone)
		}
		p.watchTimers()
	}
	if c.heard <= p.World.now {
		tell()
		return
	}
	p.at(c.heard, tell)
}

// list fills the cache with the state after n changes, as a list does: what
// differs from what the cache had is told, what happened in between is not.
func (c *Cache) list(n int) {
	n, c.listed = max(n, c.seen, 0), true
	state := map[string]client.Object{}
	version := uint64(0)
	for _, change := range c.log()[:n] {
		key, _ := toolscache.MetaNamespaceKeyFunc(change.New)
		if state[key] = c.kept(change); change.Gone || c.Only != nil && !c.Only(state[key]) {
			delete(state, key)
		}
		version = change.version
	}
	if n == len(c.log()) {
		version = c.process.Server.store.version
	}
	var keys []string
	was := map[string]client.Object{}
	for _, obj := range c.Indexer.List() {
		key, _ := toolscache.MetaNamespaceKeyFunc(obj)
		was[key] = obj.(client.Object)
		if state[key] == nil {
			keys = append(keys, key)
		}
	}
	items := make([]any, 0, len(state))
	for key, obj := range state {
		items = append(items, obj)
		keys = append(keys, key)
	}
	_ = c.Replace(items, strconv.FormatUint(version, 10))
	c.seen, c.coming = n, max(c.coming, n)
	c.process.saw++
	slices.Sort(keys)
	for _, key := range keys {
		switch old, obj := was[key], state[key]; {
		case obj == nil:
			c.announce(nil, old, true)
		case old == nil:
			c.announce(nil, obj, false)
		case old.GetResourceVersion() != obj.GetResourceVersion():
			c.announce(old, obj, false)
		}
	}
}

// relist lets the cache lose its watch and list anew: changes up to now are seen
// by what they add up to.
func (c *Cache) relist() {
	c.process.at(c.process.World.now, func() {
		c.process.World.Story.Tell(c.process.Name, "lists %ss anew", c.kind)
		c.list(len(c.log()))
	})
}

// bookmark lets the cache know each minute that it has missed nothing.
func (c *Cache) bookmark() {
	p := c.process
	if c.seen == len(c.log()) && c.stalled <= p.World.now {
		c.Bookmark(strconv.FormatUint(p.Server.store.version, 10))
	}
	p.at(p.World.now+time.Minute, c.bookmark)
}

// ByIndex is that of client-go, in the order of names.
func (c *Cache) ByIndex(index, value string) ([]any, error) {
	return inOrder(c.Indexer.ByIndex(index, value))
}

// Index is that of client-go, in the order of names.
func (c *Cache) Index(index string, obj any) ([]any, error) {
	return inOrder(c.Indexer.Index(index, obj))
}

// List is that of client-go, in the order of names.
func (c *Cache) List() []any {
	all, _ := inOrder(c.Indexer.List(), nil)
	return all
}

func inOrder(objs []any, err error) ([]any, error) {
	slices.SortFunc(objs, func(a, b any) int { return byName(a.(client.Object), b.(client.Object)) })
	return objs, err
}
