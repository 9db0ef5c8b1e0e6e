// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
)

// What an event means for the queue (job.md 2.3). Two kinds of events mean nothing: those that only show what we wrote
// ourselves (OPT-05), and changes of a pod at which no decision looks, such as its scheduling. Handlers touch a few map
// entries and never call the server.

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type (
	jobHandler = handler.TypedFuncs[*batchv1.Job, reconcile.Request]
	podHandler = handler.TypedFuncs[*corev1.Pod, reconcile.Request]
)

func (c *controller) jobEvents() jobHandler {
	return jobHandler{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*batchv1.Job], q queue) { c.jobAdded(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*batchv1.Job], q queue) {
			c.jobUpdated(e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*batchv1.Job], _ queue) { c.jobDeleted(e.Object) },
	}
}

func (c *controller) podEvents() podHandler {
	return podHandler{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			c.podChanged(nil, e.Object, false, q)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			c.podChanged(e.ObjectOld, e.ObjectNew, false, q)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			c.podChanged(nil, e.Object, true, q)
		},
	}
}

func (c *controller) mine(j *batchv1.Job) bool { return job.IsOurs(j, c.options.rules()) }

func (c *controller) jobAdded(j *batchv1.Job, q queue) {
	if !c.mine(j) {
		if by := j.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
			externalJobs.WithLabelValues(*by).Inc()
		}
		return
	}
	// A finished Job too: pods may have kept their finalizer (CP-15).
	syncNow(keyOf(j), q)
}

func (c *controller) jobUpdated(old, j *batchv1.Job, q queue) {
	if old.UID != j.UID {
		c.jobDeleted(old)
		c.jobAdded(j, q)
		return
	}
	if !c.mine(j) {
		return
	}
	key := keyOf(j)
	own := c.expectations.ownWrites.IsOwnWrite(j.UID, j)
	if _, older := c.expectations.ownWrites.Latest(j); older {
		own = true
	}
	switch {
	case job.Finished(j):
		c.expectations.finish(j.UID)
		c.timers.Cancel(key)
		if c.leftBehind(j.UID) {
			syncNow(key, q)
		}
	case own:
	case old.Generation != j.Generation:
		syncNow(key, q)
	case old.ResourceVersion != j.ResourceVersion:
		c.syncSoon(key, j.UID, q)
	}
}

// leftBehind reports whether pods of a finished Job hold a finalizer that nobody is removing.
func (c *controller) leftBehind(uid types.UID) bool {
	for _, pod := range c.cache.heldOf(uid) {
		if !c.expectations.isUnfinalizing(uid, pod.UID) {
			return true
		}
	}
	return false
}

// jobDeleted drops all expectations at once, not in a sync: a Job that is made again under this name must find nothing.
// Its pods are the business of the orphan queue.
func (c *controller) jobDeleted(j *batchv1.Job) {
	c.forget(j.UID)
	c.timers.Cancel(keyOf(j))
	c.expectations.gone.Add(j.UID, true)
}

// podChanged handles every event of a pod. old is nil for an addition; gone tells that the pod is no more, and pod is
// how it was last seen.
func (c *controller) podChanged(old, pod *corev1.Pod, gone bool, q queue) {
	if old != nil && old.ResourceVersion == pod.ResourceVersion {
		return // a resync
	}
	countTracked(old, pod, gone)
	ref := jobRef(pod)
	if old != nil {
		if was := jobRef(old); was != nil && (ref == nil || ref.UID != was.UID) {
			c.podLeft(old, pod, was, q)
		}
	}
	if ref == nil {
		if metav1.GetControllerOfNoCopy(pod) == nil {
			c.orphanChanged(old, pod, gone, q)
		}
		return
	}
	own, wake := c.expectations.observePod(ref.UID, pod, gone)
	j := c.cache.owner(pod)
	if !c.mine(j) {
		return
	}
	if !own && !job.Finished(j) && (gone && job.HasFinalizer(pod) || old != nil && job.HasFinalizer(old) && !job.HasFinalizer(pod)) {
		// Somebody else took the finalizer: perhaps another process, which counted the pod.
		c.expectations.update(j.UID, func(e *jobExpectations) { e.otherWriter = true })
	}
	key := keyOf(j)
	switch {
	case job.Finished(j):
		if job.HasFinalizer(pod) && !gone && !c.expectations.isUnfinalizing(j.UID, pod.UID) {
			syncNow(key, q)
		}
	case wake:
		syncNow(key, q) // once for each batch of creations, so it needs no spacing
	case concerns(old, pod, gone, own):
		c.syncSoon(key, j.UID, q)
	case job.PodReady(pod) != (old != nil && job.PodReady(old)):
		c.syncLater(key, j.UID, q)
	}
}

// podLeft handles a pod that its Job does not control any more.
func (c *controller) podLeft(old, pod *corev1.Pod, was *metav1.OwnerReference, q queue) {
	c.expectations.observePod(was.UID, pod, !job.HasFinalizer(pod))
	if j := c.cache.owner(old); c.mine(j) && !job.Finished(j) {
		c.syncSoon(keyOf(j), j.UID, q)
	}
}

// orphanChanged wakes the Jobs that may adopt a pod.
func (c *controller) orphanChanged(old, pod *corev1.Pod, gone bool, q queue) {
	if gone || pod.DeletionTimestamp != nil {
		return
	}
	if old != nil && maps.Equal(old.Labels, pod.Labels) && metav1.GetControllerOfNoCopy(old) == nil {
		return
	}
	for _, j := range c.cache.matchingJobs(pod) {
		if c.mine(j) && !job.Finished(j) {
			c.syncSoon(keyOf(j), j.UID, q)
		}
	}
}

// concerns reports whether a change of a pod can change a decision about its Job. own: that we made the pod, or took
// its finalizer off, is part of the change.
func concerns(old, pod *corev1.Pod, gone, own bool) bool {
	switch {
	case gone:
		// A pod that had ended and was accounted for leaves no trace. One that had not was active or terminating until
		// now, also when it goes because we took its finalizer.
		return !job.PodFinished(pod) || job.HasFinalizer(pod) && !own
	case old == nil:
		// The first that is seen of a pod of ours may be its end already.
		return !own || job.PodFinished(pod) || pod.DeletionTimestamp != nil || !job.HasFinalizer(pod) || restarts(pod) > 0
	case job.PodFinished(pod):
		return !job.PodFinished(old) || job.HasFinalizer(pod) || job.HasFinalizer(old) && !own || (old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil)
	}
	return old.Status.Phase != pod.Status.Phase && pod.Status.Phase != corev1.PodRunning ||
		(old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		job.HasFinalizer(old) != job.HasFinalizer(pod) && !own ||
		restarts(old) != restarts(pod) ||
		!maps.Equal(old.Labels, pod.Labels) ||
		old.Annotations[batchv1.JobCompletionIndexAnnotation] != pod.Annotations[batchv1.JobCompletionIndexAnnotation] ||
		controllingJob(old) != controllingJob(pod)
}

func restarts(pod *corev1.Pod) (n int32) {
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	for i := range pod.Status.InitContainerStatuses {
		n += pod.Status.InitContainerStatuses[i].RestartCount
	}
	return n
}

// countTracked counts pods that enter and leave the state of being finished and not yet accounted for.
func countTracked(old, pod *corev1.Pod, gone bool) {
	was := old != nil && job.PodFinished(old) && job.HasFinalizer(old) || gone && job.PodFinished(pod) && job.HasFinalizer(pod)
	is := !gone && job.PodFinished(pod) && job.HasFinalizer(pod)
	switch {
	case is && !was:
		trackedPods.WithLabelValues("add").Inc()
	case was && !is:
		trackedPods.WithLabelValues("delete").Inc()
	}
}
