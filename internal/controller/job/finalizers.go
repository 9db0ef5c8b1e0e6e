// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/job"
)

// When is the tracking finalizer of a pod removed? Once the pod is accounted for, which the core says; but when
// thousands of Jobs come at once, every call competes with every other for the API server. Work waits for its pods and
// people wait for the end of a Job; nobody waits for a finalizer. So while creations of pods and due status writes are
// in the gate, finalizers are put off (OPT-09), though never for long; those of pods that are being deleted, which wait
// for nothing else, are not.
const (
	finalizerMaxDefer = 15 * time.Second
	// finalizerRecheck is how long finalizers are put off at least before the gate is looked at again; later looks are
	// rarer, since thousands of Jobs may be waiting.
	finalizerRecheck = 250 * time.Millisecond
)

// removableFinalizers gives, of the finalizers that may go after a write, those that go now. A full list of UIDs must
// be emptied before the Job can go on counting; and a Job that has more pods to create does that first.
func (w *work) removableFinalizers(plan job.StatusPlan, creating bool) []job.PodRef {
	refs := plan.Unfinalize
	if plan.Remainder == job.RemainderUncounted || !creating && !w.gate.Busy() {
		w.carry.finalizersDeferred = time.Time{}
		return refs
	}
	if w.carry.finalizersDeferred.IsZero() {
		w.carry.finalizersDeferred = w.now
	}
	now := w.deferFinalizers(refs, w.carry.finalizersDeferred)
	if len(now) == len(refs) {
		w.carry.finalizersDeferred = time.Time{}
	}
	return now
}

// deferFinalizers gives, of finalizers that may go, those that go now, and has the Job woken when it is time to look at
// the others again. since is when the first of them could have gone.
func (w *work) deferFinalizers(refs []job.PodRef, since time.Time) []job.PodRef {
	age := w.now.Sub(since)
	if len(refs) == 0 || w.job.DeletionTimestamp != nil || age >= finalizerMaxDefer ||
		age < 0 { // the clock was set back, and nobody knows how long they have waited
		return refs
	}
	leaving := slices.DeleteFunc(slices.Clone(refs), func(ref job.PodRef) bool { return !w.isBeingDeleted(ref) })
	if len(leaving) < len(refs) {
		w.next.finalizers = w.now.Add(min(finalizerRecheck+age/2, finalizerMaxDefer-age))
	}
	return leaving
}

func (w *work) isBeingDeleted(ref job.PodRef) bool {
	pod := w.cache.pod(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	return pod != nil && pod.UID == ref.UID && pod.DeletionTimestamp != nil
}

// cleanup removes the finalizers that are left of a Job that ended.
func (w *work) cleanup(ctx context.Context, plan job.Plan) error {
	refs := plan.Cleanup
	if w.gate.Busy() {
		refs = w.deferFinalizers(refs, w.endedAt())
	}
	if limit := w.options.MaxUncounted; len(refs) > limit {
		refs = refs[:limit]
		w.continueIn(len(plan.Cleanup))
	}
	_, err := w.unfinalize(ctx, refs)
	if plan.Forget {
		w.expectations.finish(w.job.UID)
	}
	return err
}

// endedAt is when the Job ended; zero, if it does not say.
func (w *work) endedAt() time.Time {
	if c := job.FinishedCondition(w.job.Status.Conditions); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// unfinalize takes the tracking finalizer off pods that are accounted for, and returns those that have it no more.
func (w *work) unfinalize(ctx context.Context, refs []job.PodRef) (removed []types.UID, err error) {
	kept := make([]bool, len(refs))
	errs := w.each(ctx, len(refs), func(ctx context.Context, i int) error {
		ref := refs[i]
		switch _, err := w.untrack(ctx, ref, ref.ResourceVersion); {
		case err == nil:
		case ref.ResourceVersion != "" && apierrors.IsConflict(err):
			kept[i] = true // it is not any more what was decided upon, and is left to the next sync
		default:
			return fmt.Errorf("removing the tracking finalizer of pod %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		return nil
	})
	for i, ref := range refs {
		switch {
		case kept[i]:
			w.next.changed = true
		case errs[i] == nil:
			removed = append(removed, ref.UID)
		}
	}
	return removed, joinErrors(errs)
}

// untrack takes the finalizer off one pod, with a resource version only if the pod is still as it was read. It is
// expected before the call: an event that comes before the answer must not make the pod look unaccounted for.
func (w *work) untrack(ctx context.Context, ref job.PodRef, resourceVersion string) (gone bool, err error) {
	uid := w.job.UID
	w.expectations.update(uid, func(e *jobExpectations) { e.unfinalizing.Insert(ref.UID) })
	err = w.client.Patch(ctx, target(ref), untrack(ref.UID, resourceVersion))
	podWrites.WithLabelValues("untrack", outcome(client.IgnoreNotFound(err), "success", "error")).Inc()
	if err == nil {
		return false, nil
	}
	if w.podGone(ctx, ref, err) {
		return true, nil
	}
	w.expectations.update(uid, func(e *jobExpectations) { e.unfinalizing.Delete(ref.UID) })
	return false, err
}
