// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/fence"
)

// cache is what a sync reads; package lister over an informer, or a plain index in tests.
type cache interface {
	Get(types.NamespacedName) (client.Object, bool)
	ControlledBy(owner types.UID) []client.Object
}

// gather collects what the decision wants to know, without a call to the server and without copying: the cached CronJob
// and its children, each in the state of our own last write where the cache is behind. It returns nil when there is no
// such CronJob, when it cannot be read, and while it is not known what children it has or what it depends on says.
func (r *reconciler) gather(key types.NamespacedName) *ongoingSync {
	decided := fence.Now() // before anything is read
	owner, ok := r.latest(key)
	if !ok {
		r.forget(key)
		return nil
	}
	if !r.depends.known(owner) {
		return nil // a sync is called for when it is
	}
	s := &ongoingSync{key: key, owner: owner, decided: decided}
	s.in.Now = r.clock.Now()
	s.in.Traits = r.info.Traits
	var err error
	s.in.Owner, s.in.Policy, s.in.Stored, err = r.kind.Read(owner, r.readOptions)
	if trouble := adapter.Trouble(owner); trouble != nil {
		r.unreadable(key, owner, trouble)
		return nil
	}
	if err != nil {
		r.log.Error(err, "Cannot read object", "object", key)
		return nil
	}
	if trouble := adapter.StatusTrouble(owner); trouble != nil {
		r.unreadableStatus(key, owner, trouble)
	}
	uid := s.in.Owner.UID
	s.in.Carried = r.tracked.track(key, uid, r.forgetUID)
	s.in.RecordPending = r.statusQueue.has(key)
	r.countUnanswered(s)
	if !r.childKinds(s) {
		return nil
	}
	// First those that may be gone: what the cache has of the same child comes later, and counts (package cron).
	gone := r.tracked.goneChildren(key, uid, s.in.LacksEnd)
	for _, k := range s.kinds {
		children, _ := k.writes.Merge(uid, k.cache.ControlledBy(uid))
		if s.in.Children == nil {
			s.in.Children = append(make([]cron.Child, 0, len(gone)+len(children)), gone...)
		}
		for _, obj := range children {
			r.gatherChild(s, k, obj)
		}
	}
	slices.SortStableFunc(s.in.Children, func(a, b cron.Child) int { return cmp.Compare(a.Name, b.Name) }) // once for all decisions
	return s
}

// gatherChild adds a child of that kind to what the decision knows.
func (r *reconciler) gatherChild(s *ongoingSync, k *childKind, obj client.Object) {
	deleted, propagation := k.writes.IsDeleted(s.in.Owner.UID, obj.GetUID()), r.info.Traits.Propagation
	// Foreground leaves it there until its dependents are gone, with a finalizer that the cache may not show yet.
	foreground := propagation != nil && *propagation == metav1.DeletePropagationForeground
	if deleted && !foreground && len(obj.GetFinalizers()) == 0 {
		return // gone; only the cache does not know yet
	}
	child, err := r.kind.ReadChild(obj, k.gvk, s.owner)
	if err != nil {
		r.log.Error(err, "Cannot read object", "object", s.key)
		return
	}
	child.Deleting = child.Deleting || deleted
	if trouble := adapter.Trouble(obj); trouble != nil {
		r.unreadableChild(s.owner, obj, trouble)
	}
	s.note(child.UID, k)
	s.in.Children = append(s.in.Children, child)
}

// latest is the cached CronJob, or the server's answer to our last write of it where that is newer; false when there is
// none.
func (r *reconciler) latest(key types.NamespacedName) (client.Object, bool) {
	cached, ok := r.owners.Get(key)
	if !ok {
		return nil, false
	}
	if latest, own := r.ownWrites.Latest(cached); own {
		return latest, true
	}
	// Our write is forgotten when the cache comes to show it, which may have been between the two looks.
	return r.owners.Get(key)
}

// forget drops what is remembered about a CronJob that is gone.
func (r *reconciler) forget(key types.NamespacedName) {
	r.timers.Cancel(key)
	r.backoff.Forget(key)
	if uid, ok := r.tracked.uid(key); ok {
		r.setMisconfigured(key, uid, "")
		r.tracked.forget(key)
		r.forgetUID(uid)
	}
}

// forgetUnsynced drops what expectChildren has asked for about a CronJob that is gone, if no sync will do that because
// none has met it: a process that does not lead makes none.
func (r *reconciler) forgetUnsynced(owner client.Object) {
	if !r.tracked.has(client.ObjectKeyFromObject(owner), owner.GetUID()) {
		r.forgetChildren(owner.GetUID())
	}
}

func (r *reconciler) forgetUID(uid types.UID) {
	r.ownWrites.Forget(uid)
	r.forgetChildren(uid)
	r.recorder.Forget(uid)
}
