// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Collector is the garbage collector. It sees what is there, some time after it
// came to be so, and does all that is to be done about it.
type Collector struct {
	server *Server
	kinds  []string
	// Lag says how long after the n-th change it looks.
	Lag func(n int) time.Duration

	looking bool
	n       int
}

const collectorName = "collector"

// NewCollector starts a garbage collector for some kinds.
func (s *Server) NewCollector(lag func(n int) time.Duration, kinds ...string) *Collector {
	g := &Collector{server: s, kinds: kinds, Lag: lag}
	s.OnChange(func(c *Change) {
		// Something lost its owner, or is to lose its dependents.
		if c.Gone || c.New.GetDeletionTimestamp() != nil || c.Old == nil && len(c.New.GetOwnerReferences()) > 0 {
			g.soon()
		}
	})
	return g
}

func (g *Collector) soon() {
	if g.looking {
		return
	}
	g.looking = true
	g.n++
	g.server.World.After(g.Lag(g.n), func() {
		g.looking = false
		g.collect()
	})
}

func (g *Collector) collect() {
	alive := map[types.UID]client.Object{}
	var all []client.Object
	for _, kind := range g.kinds {
		for _, obj := range g.server.List(kind) {
			alive[obj.GetUID()] = obj
			all = append(all, obj)
		}
	}
	for _, obj := range all {
		g.unowned(obj, alive)
	}
	for _, obj := range all {
		switch finalizers := obj.GetFinalizers(); {
		case obj.GetDeletionTimestamp() == nil:
		case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
			g.foreground(obj, all)
		case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
			g.orphan(obj, all)
		}
	}
}

// unowned deletes what had owners and has none any more.
func (g *Collector) unowned(obj client.Object, alive map[types.UID]client.Object) {
	refs := obj.GetOwnerReferences()
	if len(refs) == 0 || obj.GetDeletionTimestamp() != nil {
		return
	}
	for _, ref := range refs {
		if alive[ref.UID] != nil {
			return
		}
	}
	g.remove(obj)
}

func (g *Collector) remove(obj client.Object) {
	// What is gone by now, or another object by now, is not to be deleted.
	_ = g.server.Delete(collectorName, KindOf(obj), obj.GetNamespace(), obj.GetName(),
		Deletion{UID: obj.GetUID(), Propagation: metav1.DeletePropagationBackground})
}

// foreground deletes the dependents that block their owner; when there are none
// left the owner may go.
func (g *Collector) foreground(owner client.Object, all []client.Object) {
	blocked := false
	for _, obj := range all {
		for _, ref := range obj.GetOwnerReferences() {
			if ref.UID != owner.GetUID() || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
				continue
			}
			if g.server.Get(KindOf(obj), obj.GetNamespace(), obj.GetName()) == nil {
				continue
			}
			blocked = true
			if obj.GetDeletionTimestamp() == nil {
				g.remove(obj)
			}
		}
	}
	if !blocked {
		g.drop(owner, metav1.FinalizerDeleteDependents)
	} else {
		g.soon()
	}
}

// orphan takes the dependents' references to their owner away, then the owner may go.
func (g *Collector) orphan(owner client.Object, all []client.Object) {
	for _, obj := range all {
		if g.server.Get(KindOf(obj), obj.GetNamespace(), obj.GetName()) == nil {
			continue
		}
		if slices.ContainsFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
			g.edit(obj, "orphan", func(o client.Object) {
				o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }))
			})
		}
	}
	g.drop(owner, metav1.FinalizerOrphanDependents)
}

func (g *Collector) drop(obj client.Object, finalizer string) {
	g.edit(obj, "release", func(o client.Object) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
}

// edit changes the newest state of an object, unless it is another one by now.
func (g *Collector) edit(obj client.Object, verb string, change func(client.Object)) {
	now := g.server.Get(KindOf(obj), obj.GetNamespace(), obj.GetName())
	if now == nil || now.GetUID() != obj.GetUID() {
		return
	}
	updated := duplicate(now)
	change(updated)
	g.server.commit(collectorName, verb, now, updated)
}
