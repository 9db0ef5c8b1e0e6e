// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
)

// childKind is a kind of child: what its objects are read from, and our own writes of them.
type childKind struct {
	gvk      schema.GroupVersionKind
	resource schema.GroupResource
	// new makes an empty object.
	new    func() client.Object
	cache  cache
	writes *ownwrites.Store[client.Object]
	// trim gives what the cache would keep of an object that came from the server; nil: all of it.
	trim func(client.Object) client.Object
}

// kept is what the cache would keep of an object that came from the server.
func (k *childKind) kept(obj client.Object) client.Object {
	if k.trim == nil {
		return obj
	}
	return k.trim(obj)
}

// childKinds gives the kinds in which the object of a sync may have children, first that of what it starts. Objects of
// K, V and T have the same one all the time. Where objects choose, it also enters what keeps that kind from being
// started, and is false while a cache is not filled yet: then nothing can be decided, and a sync is called for when it
// is.
func (r *reconciler) childKinds(s *ongoingSync) (ready bool) {
	if r.child != nil {
		s.kinds = r.onlyKind
		return true
	}
	wanted := r.chooser.ChildKinds(s.owner)
	if len(wanted) == 0 {
		r.log.Error(nil, "The object names no kind of child", "object", s.key.String())
		return false
	}
	kinds, trouble, ready := r.watches.need(s.key, s.in.Owner.UID, wanted, len(s.in.Stored.Active) > 0)
	s.kinds = kinds
	if trouble != nil {
		s.in.ChildObstacle = r.chooser.ChildObstacle(wanted[0], *trouble)
	} else if former, why := r.watches.formerTrouble(s.in.Owner.UID); why != nil {
		why.Former = true
		s.in.ChildObstacle = r.chooser.ChildObstacle(former, *why)
		s.in.ChildObstacle.Check = 0 // what is to be started is of another kind
	}
	return ready
}

// errChildKindChanged ends a sync that was begun for children of another kind.
var errChildKindChanged = errors.New("its children are of another kind now; trying again")

// choosesOtherKind reports whether a CronJob that was read live names other kinds for its children than the one that the
// sync was begun with.
func (r *reconciler) choosesOtherKind(s *ongoingSync, live client.Object) bool {
	if r.child != nil {
		return false
	}
	now := r.chooser.ChildKinds(live)
	return len(now) == 0 || now[0] != s.kinds[0].gvk
}

// expectChildren has the children of an object watched that is new to the cache, or has changed, so that caches are warm
// when this process begins to lead.
func (r *reconciler) expectChildren(owner client.Object) {
	if r.child == nil {
		r.watches.need(client.ObjectKeyFromObject(owner), owner.GetUID(), r.chooser.ChildKinds(owner), true)
	}
}

// forgetChildren drops what is remembered about the children of an object that is gone.
func (r *reconciler) forgetChildren(uid types.UID) {
	if r.child == nil {
		r.watches.forget(uid)
		return
	}
	r.child.writes.Forget(uid)
}

// kindOf is the kind of a child that this sync knows of.
func (s *ongoingSync) kindOf(child types.UID) *childKind {
	if k := s.found[child]; k != nil {
		return k
	}
	return s.kinds[0]
}

// note remembers the kind of a child, where there are several.
func (s *ongoingSync) note(child types.UID, k *childKind) {
	if len(s.kinds) == 1 {
		return
	}
	if s.found == nil {
		s.found = map[types.UID]*childKind{}
	}
	s.found[child] = k
}
