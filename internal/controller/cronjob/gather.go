// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// cache is what a pass reads; package lister over an informer, or a plain index in tests.
type cache interface {
	Get(types.NamespacedName) (client.Object, bool)
	ControlledBy(owner types.UID) []client.Object
}

// gather collects what the decision wants to know, without a call to the server and without copying: the cached CronJob
// and its children, each in the state of our own last write where the cache is behind. It returns nil when there is no
// such CronJob.
func (r *reconciler) gather(key types.NamespacedName) *pass {
	owner, ok := r.owners.Get(key)
	if !ok {
		r.forget(key)
		return nil
	}
	owner, _ = r.ownWrites.Latest(owner)
	p := &pass{key: key, owner: owner}
	p.in.Now = r.clock.Now()
	p.in.Zone = r.zone
	p.in.Traits = r.info.Traits
	var err error
	p.in.Owner, p.in.Spec, p.in.State, err = r.kind.Read(owner)
	if trouble := adapter.Trouble(owner); trouble != nil {
		r.unreadable(key, owner, trouble)
		return nil
	}
	if err != nil {
		r.log.Error(err, "Cannot read object", "object", key)
		return nil
	}
	uid := p.in.Owner.UID
	p.in.Seen = r.memory.meet(key, uid, r.forgetUID)
	children, _ := r.childWrites.Merge(uid, r.children.ControlledBy(uid))
	p.in.Children = make([]cron.Child, 0, len(children))
	for _, obj := range children {
		deleted := r.childWrites.IsDeleted(uid, obj.GetUID())
		if deleted && len(obj.GetFinalizers()) == 0 {
			continue // gone; only the cache does not know yet
		}
		child, err := r.kind.ReadChild(obj)
		if err != nil {
			r.log.Error(err, "Cannot read object", "object", key)
			continue
		}
		child.Deleting = child.Deleting || deleted
		if trouble := adapter.Trouble(obj); trouble != nil {
			r.unreadableChild(owner, obj, trouble)
		}
		p.in.Children = append(p.in.Children, child)
	}
	return p
}

// forget drops what is remembered about a CronJob that is gone.
func (r *reconciler) forget(key types.NamespacedName) {
	r.alarm.Cancel(key)
	r.backoff.Forget(key)
	if uid, ok := r.memory.uid(key); ok {
		r.shows(key, uid, "")
		r.memory.leave(key)
		r.forgetUID(uid)
	}
}

func (r *reconciler) forgetUID(uid types.UID) {
	r.ownWrites.Forget(uid)
	r.childWrites.Forget(uid)
	r.notes.Forget(uid)
}
