// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
)

// No sync looks after pods whose Job is gone, or was deleted with orphan propagation. A queue of its own, by pod name,
// removes their finalizers; one that fails is tried again by name and delays no other.

// orphanRecheck is when a pod that changed under our hands is looked at again, if no event comes first.
const orphanRecheck = time.Second

func (c *controller) orphanPodEvents() podHandler {
	look := func(pod *corev1.Pod, q queue) {
		if c.mayBeOrphan(pod) {
			q.Add(reconcile.Request{NamespacedName: keyOf(pod)})
		}
	}
	return podHandler{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) { look(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) { look(e.ObjectNew, q) },
	}
}

func (c *controller) orphanJobEvents() jobHandler {
	return jobHandler{
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*batchv1.Job], q queue) {
			c.orphanJobUpdated(e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*batchv1.Job], q queue) { c.enqueuePodsOf(e.Object, q) },
	}
}

func (c *controller) orphanJobUpdated(old, j *batchv1.Job, q queue) {
	switch {
	case old.UID != j.UID:
		c.enqueuePodsOf(old, q)
	case job.Finished(j) && !job.Finished(old), j.DeletionTimestamp != nil && old.DeletionTimestamp == nil:
		c.enqueueUnadopted(j, q)
	}
}

// mayBeOrphan is the quick look of an event: a pod with our finalizer and without a controller, or one on its way out
// whose Job is gone.
func (c *controller) mayBeOrphan(pod *corev1.Pod) bool {
	switch {
	case !job.HasFinalizer(pod):
		return false
	case metav1.GetControllerOfNoCopy(pod) == nil:
		return true
	}
	return pod.DeletionTimestamp != nil && jobRef(pod) != nil && c.cache.owner(pod) == nil
}

// enqueuePodsOf enqueues the pods that a deleted Job leaves, whoever managed it: no other event comes for those that
// were being deleted before the Job was.
func (c *controller) enqueuePodsOf(j *batchv1.Job, q queue) {
	for _, pod := range c.cache.heldOf(j.UID) {
		q.Add(reconcile.Request{NamespacedName: keyOf(pod)})
	}
	c.enqueueUnadopted(j, q)
}

// enqueueUnadopted enqueues pods without a controller that waited to be adopted by a Job which will not do that any
// more.
func (c *controller) enqueueUnadopted(j *batchv1.Job, q queue) {
	for _, pod := range c.cache.orphanPods(j) {
		if job.HasFinalizer(pod) {
			q.Add(reconcile.Request{NamespacedName: keyOf(pod)})
		}
	}
}

// reconcileOrphan removes the finalizer of one pod if it serves nobody (job.md 2.4).
func (c *controller) reconcileOrphan(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pod := c.cache.pod(request.NamespacedName)
	if pod == nil || !job.HasLeftoverFinalizer(pod, c.cache.owner(pod), c.options.rules()) {
		return reconcile.Result{}, nil
	}
	if ref := jobRef(pod); ref == nil {
		if c.awaitsAdoption(pod) {
			return reconcile.Result{}, nil
		}
	} else if c.cache.owner(pod) == nil {
		gone, err := c.jobGone(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}, ref.UID)
		if err != nil || !gone {
			return reconcile.Result{RequeueAfter: orphanRecheck}, err
		}
	}
	// Only as it was seen: an adoption that comes in between must not lose the finalizer again, or the pod would never
	// be counted.
	err := c.client.Patch(ctx, target(refTo(pod)), untrack(pod.UID, pod.ResourceVersion))
	podWrites.WithLabelValues("untrack", outcome(client.IgnoreNotFound(err), "success", "error")).Inc()
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsInvalid(err) && gone(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: orphanRecheck}, nil
	}
	return reconcile.Result{}, fmt.Errorf("removing the tracking finalizer of pod %s, whose Job is gone: %w", request, err)
}

// awaitsAdoption reports whether a Job will take the pod, or already has it in the eyes of another controller: then the
// finalizer is not ours to remove.
func (c *controller) awaitsAdoption(pod *corev1.Pod) bool {
	for _, j := range c.cache.matchingJobs(pod) {
		if !c.mine(j) {
			return true
		}
		if !job.Finished(j) && j.DeletionTimestamp == nil && pod.DeletionTimestamp == nil {
			return true
		}
	}
	return false
}

// jobGone reports whether the Job with this UID is really no more. That the cache has none can also mean that it does
// not have it yet; so unless its deletion was seen the server is asked, once per Job.
func (c *controller) jobGone(ctx context.Context, key types.NamespacedName, uid types.UID) (bool, error) {
	if _, known := c.expectations.gone.Get(uid); known {
		return true, nil
	}
	var live metav1.PartialObjectMetadata
	live.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	err := c.live.Get(ctx, key, &live)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.UID != uid:
		c.expectations.gone.Add(uid, true)
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading Job %s, to which pods belong: %w", key, err)
	}
	return false, nil
}
