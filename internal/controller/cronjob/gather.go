// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
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
// such CronJob.
func (r *reconciler) gather(key types.NamespacedName) *ongoingSync {
	decided := fence.Now() // before anything is read
	owner, ok := r.latest(key)
	if !ok {
		r.forget(key)
		return nil
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
	uid := s.in.Owner.UID
	s.in.Carried = r.tracked.track(key, uid, r.forgetUID)
	children, _ := r.childWrites.Merge(uid, r.children.ControlledBy(uid))
	// First those that may be gone: what the cache has of the same child comes later, and counts (package cron).
	gone := r.tracked.goneChildren(key, uid, s.in.LacksEnd)
	s.in.Children = append(make([]cron.Child, 0, len(gone)+len(children)), gone...)
	for _, obj := range children {
		deleted := r.childWrites.IsDeleted(uid, obj.GetUID())
		if deleted && len(obj.GetFinalizers()) == 0 {
			continue // gone; only the cache does not know yet
		}
		child, err := r.kind.ReadChild(obj, r.info.Child, owner)
		if err != nil {
			r.log.Error(err, "Cannot read object", "object", key)
			continue
		}
		child.Deleting = child.Deleting || deleted
		if trouble := adapter.Trouble(obj); trouble != nil {
			r.unreadableChild(owner, obj, trouble)
		}
		s.in.Children = append(s.in.Children, child)
	}
	return s
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

func (r *reconciler) forgetUID(uid types.UID) {
	r.ownWrites.Forget(uid)
	r.childWrites.Forget(uid)
	r.recorder.Forget(uid)
}
