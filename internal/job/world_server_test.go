// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/interval"
)

func (w *world) create(c Creation) CreateOutcome {
	if w.expectations.Creating == nil {
		w.expectations.Creating = map[string]time.Time{}
	}
	w.expectations.Creating[c.Pod.Name] = w.now
	w.mayCreate(c)
	for _, other := range w.pods {
		if other.Name == c.Pod.Name {
			w.calls++
			if metav1.IsControlledBy(other, w.job) {
				if w.cache[other.UID] != nil {
					w.breaks("%s was asked for although it can be seen", c.Pod.Name)
				}
				return Existed
			}
			delete(w.expectations.Creating, c.Pod.Name)
			c.Pod = c.Pod.DeepCopy()
			c.Pod.Name = fmt.Sprintf("%sr%04d", c.Pod.GenerateName, w.serial)
			w.expectations.Creating[c.Pod.Name] = w.now
		}
	}
	if w.refused("create") {
		delete(w.expectations.Creating, c.Pod.Name)
		return CreateFailed
	}
	pod := c.Pod.DeepCopy()
	w.serial++
	pod.UID = types.UID(fmt.Sprintf("u%03d", w.serial))
	pod.CreationTimestamp = metav1.NewTime(w.now)
	pod.Status.Phase = corev1.PodPending
	w.pods[pod.UID] = pod
	w.order = append(w.order, pod.UID)
	w.everMade[pod.Annotations[indexKey]]++
	w.mostRunning = max(w.mostRunning, w.running())
	w.changed(pod.UID)
	w.effect("create %s as %s", pod.Name, pod.UID)
	if w.lose != nil && w.lose("create") {
		return CreateUnknown
	}
	return Created
}

// mayCreate objects to a pod that nobody wants.
func (w *world) mayCreate(c Creation) {
	status := &w.job.Status
	switch {
	case Finished(w.job):
		w.breaks("%s was asked for by a Job that is finished", c.Pod.Name)
	case w.outcomeStored():
		w.breaks("%s was asked for by a Job of which the outcome is stored", c.Pod.Name)
	case suspended(w.job):
		w.breaks("%s was asked for by a Job that is suspended", c.Pod.Name)
	case w.job.Spec.Completions == nil && (status.Succeeded > 0 || status.UncountedTerminatedPods != nil && len(status.UncountedTerminatedPods.Succeeded) > 0):
		w.breaks("%s was asked for by a work queue of which a pod succeeded", c.Pod.Name)
	}
	patient := w.options.ExpectationTimeout >= time.Hour // otherwise waits are given up, and a pod too many is made and goes again
	succeeded, alive := int(status.Succeeded), len(w.alive())
	if u := status.UncountedTerminatedPods; u != nil {
		succeeded += len(u.Succeeded)
	}
	if patient && alive >= int(*w.job.Spec.Parallelism) {
		w.breaks("%s was asked for although %d pods run, parallelism %d", c.Pod.Name, alive, *w.job.Spec.Parallelism)
	}
	if want := w.job.Spec.Completions; patient && want != nil && CompletionMode(w.job) != batchv1.IndexedCompletion && alive+succeeded >= int(*want) {
		w.breaks("%s was asked for although %d pods run and %d succeeded, completions %d", c.Pod.Name, alive, succeeded, *want)
	}
	if CompletionMode(w.job) != batchv1.IndexedCompletion {
		return
	}
	bound := int(*w.job.Spec.Completions)
	if c.Index < 0 || c.Index >= bound {
		w.breaks("%s was asked for with index %d of %d", c.Pod.Name, c.Index, bound)
	}
	if interval.Parse(status.CompletedIndexes, bound).Has(c.Index) || interval.Parse(ptr.Deref(status.FailedIndexes, ""), bound).Has(c.Index) {
		w.breaks("%s was asked for although its index has ended", c.Pod.Name)
	}
	if !patient {
		return
	}
	if limit := w.job.Spec.BackoffLimitPerIndex; limit != nil {
		if n, sure := w.failuresOf(c.Index); sure && n > int(*limit) {
			w.breaks("%s was asked for although its index failed %d times, limit %d", c.Pod.Name, n, *limit)
		}
	}
	for _, other := range w.pods {
		ended := other.Status.Phase == corev1.PodSucceeded || other.Status.Phase == corev1.PodFailed
		leaves := other.DeletionTimestamp != nil && !replacesOnlyFailed(w.job)
		if indexOf(other) == c.Index && other.Name != c.Pod.Name && !ended && !leaves && !w.evicted.Has(other.UID) {
			w.breaks("%s was asked for although %s has its index", c.Pod.Name, other.Name)
		}
	}
}

// failuresOf an index that count towards its limit. It is not sure when a pod of it was removed before it ended,
// because with such a pod goes the count, or when the Job had fewer indexes for a while, because then it forgot the
// others.
func (w *world) failuresOf(index int) (n int, sure bool) {
	if w.shrunk {
		return 0, false
	}
	for _, pod := range w.last {
		switch {
		case indexOf(pod) != index:
		case pod.DeletionTimestamp != nil, w.evicted.Has(pod.UID):
			return 0, false
		case pod.Status.Phase == corev1.PodFailed && matchFailurePolicy(w.job.Spec.PodFailurePolicy, pod).counts():
			n++
		}
	}
	return n, true
}

// outcomeStored: the Job's status says how it ends.
func (w *world) outcomeStored() bool {
	return hasTrue(w.job.Status.Conditions, batchv1.JobFailureTarget) || hasTrue(w.job.Status.Conditions, batchv1.JobSuccessCriteriaMet)
}

// running is how many pods have not ended.
func (w *world) running() (n int) {
	for _, pod := range w.pods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			n++
		}
	}
	return n
}

func (w *world) delete(d Deletion, v Verdict) DeleteOutcome {
	if w.expectations.Deleting == nil {
		w.expectations.Deleting = map[types.UID]time.Time{}
	}
	if w.expectations.Unfinalizing == nil {
		w.expectations.Unfinalizing = sets.New[types.UID]()
	}
	if sent, again := w.expectations.Deleting[d.UID]; again && w.now.Sub(sent) < w.options.withDefaults().ExpectationTimeout {
		w.breaks("%s is deleted again before the first time can be seen", d.UID)
	}
	w.expectations.Deleting[d.UID] = w.now
	if pod := w.pods[d.UID]; !d.Unfinalize && pod != nil && HasFinalizer(pod) && !w.outcomeStored() {
		w.breaks("%s is stopped for good before the outcome is stored", d.UID)
	}
	if d.Unfinalize {
		w.expectations.Unfinalizing.Insert(d.UID)
		if w.refused("evict") {
			delete(w.expectations.Deleting, d.UID)
			w.expectations.Unfinalizing.Delete(d.UID)
			return DeleteFailed
		}
		if w.pods[d.UID] == nil {
			return Vanished
		}
		if d.ResourceVersion != w.pods[d.UID].ResourceVersion {
			delete(w.expectations.Deleting, d.UID)
			w.expectations.Unfinalizing.Delete(d.UID)
			return NotDeleted
		}
		w.evicted.Insert(d.UID)
		w.dropFinalizer(d.UID)
		w.effect("remove finalizer of %s to delete it", d.UID)
	}
	if w.refused("delete") {
		delete(w.expectations.Deleting, d.UID)
		return DeleteFailed
	}
	if w.pods[d.UID] == nil {
		return Vanished
	}
	if !d.Unfinalize {
		if !PodFinished(w.pods[d.UID]) {
			w.stoppedRunning.Insert(d.UID)
		}
		if v.Outcome == Failure {
			w.stoppedByFailure.Insert(d.UID)
		} else {
			w.stoppedBySuccess.Insert(d.UID)
		}
	}
	w.remove(d.UID)
	w.effect("delete %s", d.UID)
	return Deleted
}

// remove is DELETE: what never ran or has ended goes at once, unless a finalizer holds it.
func (w *world) remove(uid types.UID) {
	pod := w.pods[uid]
	if pod == nil {
		return
	}
	if pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now.Add(30 * time.Second)))
		pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
	}
	w.changedOrGone(uid)
}

func (w *world) changedOrGone(uid types.UID) {
	pod := w.pods[uid]
	w.last[uid] = pod.DeepCopy()
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == ""
	if pod.DeletionTimestamp != nil && over && len(pod.Finalizers) == 0 {
		delete(w.pods, uid)
	}
	w.changed(uid)
}

func (w *world) dropFinalizer(uid types.UID) {
	w.pods[uid].Finalizers = nil
	w.changedOrGone(uid)
}

func (w *world) unfinalize(ref PodRef) (bool, error) {
	if w.expectations.Unfinalizing == nil {
		w.expectations.Unfinalizing = sets.New[types.UID]()
	}
	if w.expectations.Unfinalizing.Has(ref.UID) {
		w.breaks("the finalizer of %s is removed again before the first time can be seen", ref.UID)
	}
	w.expectations.Unfinalizing.Insert(ref.UID)
	if w.refused("unfinalize") {
		w.expectations.Unfinalizing.Delete(ref.UID)
		return false, errRefused
	}
	if w.pods[ref.UID] == nil || !HasFinalizer(w.pods[ref.UID]) {
		if w.pods[ref.UID] == nil && len(w.unseen[ref.UID]) == 0 {
			w.expectations.Unfinalizing.Delete(ref.UID)
		}
		return true, nil
	}
	if ref.ResourceVersion != "" && ref.ResourceVersion != w.pods[ref.UID].ResourceVersion {
		w.expectations.Unfinalizing.Delete(ref.UID)
		return false, nil
	}
	w.released.Insert(ref.UID)
	w.dropFinalizer(ref.UID)
	w.effect("remove finalizer of %s", ref.UID)
	return true, nil
}

func (w *world) patch(ref PodRef, edit func(*corev1.Pod), what string) {
	pod := w.pods[ref.UID]
	if pod == nil || w.refused(what) || ref.ResourceVersion != "" && ref.ResourceVersion != pod.ResourceVersion {
		return
	}
	edit(pod)
	w.changed(ref.UID)
	w.effect("%s %s", what, ref.UID)
}

func (w *world) write(write Write) error {
	if write.Status == nil {
		w.expectations.Backoff = write.Backoff
		return nil
	}
	if w.refused("status") {
		return errRefused
	}
	next := w.job.DeepCopy()
	next.Status = *write.Status.DeepCopy()
	for _, v := range CheckStatus(w.job, next) {
		w.breaks("%s", v)
	}
	w.job = next
	if write.Finished && w.options.ExpectationTimeout >= time.Hour && w.running() > 0 {
		w.breaks("the Job is finished and %d pods run", w.running())
	}
	if u := next.Status.UncountedTerminatedPods; u != nil {
		recorded := len(u.Succeeded) + len(u.Failed)
		if limit := w.options.withDefaults().MaxUncounted; recorded > limit {
			w.breaks("%d pods are recorded at once, limit %d", recorded, limit)
		}
		if limit := int(ptr.Deref(next.Spec.BackoffLimit, defaultBackoffLimit)); int(next.Status.Failed)+len(u.Failed) > limit && !w.outcomeStored() && !Finished(next) {
			w.breaks("more failed pods than the limit %d, and the Job goes on", limit)
		}
	}
	w.writes++
	w.effect("write %s", statusText(write.Status))
	if w.lose != nil && w.lose("status") {
		return errRefused
	}
	w.expectations.Backoff = write.Backoff
	w.expectations.Finished = w.expectations.Finished || write.Finished
	for _, n := range write.Events {
		w.events = append(w.events, n.Reason)
	}
	return nil
}
