// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/cron"
)

type (
	queue    = workqueue.TypedRateLimitingInterface[reconcile.Request]
	handlers = handler.TypedFuncs[client.Object, reconcile.Request]
)

// ownerHandlers call for a sync whenever a CronJob comes, goes or changes (cronjob.md 2.1.1). An edit of the schedule
// calls for one at once, too: the sync notes when the edit was made and computes the next wake-up (B2). The echo of our
// own status write tells nothing new and is left out.
func (r *reconciler) ownerHandlers() handlers {
	return handlers{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			r.lookForOtherController(nil, e.Object)
			r.expectChildren(e.Object)
			q.Add(request(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			r.lookForOtherController(e.ObjectOld, e.ObjectNew)
			if e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
				r.forgetUnsynced(e.ObjectOld)
			}
			r.expectChildren(e.ObjectNew)
			resync := e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
			if resync && r.info.Traits.ResyncIgnored {
				return
			}
			if uid := e.ObjectNew.GetUID(); !resync && r.ownWrites.IsOwnWrite(uid, e.ObjectNew) {
				r.ownWrites.Gone(uid, uid) // the cache has it; nothing may look at this CronJob again for a day
				return
			}
			q.Add(request(e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			r.forgetUnsynced(e.Object)
			q.Add(request(e.Object))
		},
	}
}

// childHandlers call for a sync over the CronJob that controls a child when the child comes, goes, or changes in
// something that a decision looks at.
func (r *reconciler) childHandlers(k *childKind) handlers {
	return handlers{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if ref := metav1.GetControllerOfNoCopy(e.Object); ref != nil && k.writes.Echoed(ref.UID, e.Object) {
				return // the echo of our own create
			}
			r.enqueueOwner(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() {
				return
			}
			before, after := metav1.GetControllerOfNoCopy(e.ObjectOld), metav1.GetControllerOfNoCopy(e.ObjectNew)
			moved := !sameController(before, after)
			if moved {
				r.enqueueOwner(e.ObjectOld, q)
			}
			if moved || r.matters(k, e.ObjectOld, e.ObjectNew) {
				r.keepGone(k, e.ObjectNew) // the cache may be ahead of its events, and have it no more
				r.enqueueOwner(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			if ref := metav1.GetControllerOfNoCopy(e.Object); ref != nil {
				k.writes.Gone(ref.UID, e.Object.GetUID())
			}
			r.keepGone(k, e.Object)
			r.enqueueOwner(e.Object, q)
		},
	}
}

// enqueueOwner adds the CronJob that controls the child.
func (r *reconciler) enqueueOwner(child client.Object, q queue) {
	if owner := r.ownerOf(child); owner != nil {
		q.Add(request(owner))
	}
}

// ownerOf is the CronJob of this kind that controls the child, nil if the cache does not have it with the UID that the
// child names.
func (r *reconciler) ownerOf(child client.Object) client.Object {
	ref := metav1.GetControllerOfNoCopy(child)
	if ref == nil || ref.Kind != r.info.Owner.Kind {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != r.info.Owner.Group {
		return nil
	}
	owner, ok := r.owners.Get(types.NamespacedName{Namespace: child.GetNamespace(), Name: ref.Name})
	if !ok || owner.GetUID() != ref.UID {
		return nil
	}
	return owner
}

// keepGone remembers the end of a child that was deleted before a sync could look at it, as far as the watch showed it:
// with ttlSecondsAfterFinished 0 each of them may go so (cronjob.md B13).
func (r *reconciler) keepGone(k *childKind, obj client.Object) {
	owner := r.ownerOf(obj)
	if owner == nil {
		return
	}
	child, err := r.kind.ReadChild(obj, k.gvk, owner)
	if err != nil || child.Phase == cron.Unfinished {
		return
	}
	child.Gone = true
	in := cron.Input{Traits: r.info.Traits}
	if in.Owner, in.Policy, in.Stored, err = r.kind.Read(owner, r.readOptions); err == nil {
		r.tracked.keepGone(client.ObjectKeyFromObject(owner), owner.GetUID(), child, in.LacksEnd)
	}
}

// matters reports whether a decision could come out differently. Most updates of a running Job, such as its pod counts,
// do not matter.
func (r *reconciler) matters(k *childKind, before, after client.Object) bool {
	var owner client.Object // only objects that choose the kind of their children say how those end
	if r.child == nil {
		owner = r.ownerOf(after)
	}
	a, errA := r.kind.ReadChild(before, k.gvk, owner)
	b, errB := r.kind.ReadChild(after, k.gvk, owner)
	return errA != nil || errB != nil || a.Phase != b.Phase || a.Succeeded != b.Succeeded || a.Deleting != b.Deleting || a.Suspended != b.Suspended ||
		a.Stamp != b.Stamp || !sameInstant(a, b)
}

func sameInstant(a, b cron.Child) bool {
	if a.Finished == nil || b.Finished == nil {
		return a.Finished == b.Finished
	}
	return a.Finished.Equal(*b.Finished)
}

func sameController(a, b *metav1.OwnerReference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion
}

func request(obj client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
}

// jumped is told by the timers that the wall clock moved by itself.
func (r *reconciler) jumped(by time.Duration) {
	direction := "forward"
	if by < 0 {
		direction = "backward"
	}
	clockJumps.WithLabelValues(direction).Inc()
	r.log.Info("The wall clock jumped: it was set, or the machine slept", "by", by.Round(time.Millisecond).String())
}
