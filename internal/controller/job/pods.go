// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/job"
)

// delete stops pods. A pod that must not count gives up its finalizer first; a
// crash in between leaves a surplus pod that the next sync deletes.
func (w *work) delete(ctx context.Context, deletions []job.Deletion) ([]job.DeleteResult, error) {
	results := make([]job.DeleteResult, len(deletions))
	uid := w.job.UID
	errs := w.each(ctx, len(deletions), func(ctx context.Context, i int) error {
		d := deletions[i]
		failed := func(err error) error {
			w.memory.notDeleting(uid, d.UID)
			results[i] = job.DeleteResult{Outcome: job.DeleteFailed, Message: err.Error()}
			return fmt.Errorf("deleting pod %s/%s: %w", d.Namespace, d.Name, err)
		}
		if d.Unfinalize {
			switch gone, err := w.untrack(ctx, d.PodRef, d.ResourceVersion); {
			case apierrors.IsConflict(err):
				// Not the pod that was decided upon; it may even have succeeded. It is left to the next sync.
				return nil
			case err != nil:
				return failed(err)
			case gone:
				results[i].Outcome = job.Vanished
				return nil
			}
		}
		w.memory.deleting(uid, d.UID, w.now)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
		err := w.client.Delete(ctx, pod, client.Preconditions{UID: &d.UID})
		podWrites.WithLabelValues("delete", outcome(client.IgnoreNotFound(err), "success", "error")).Inc()
		switch {
		case err == nil:
			results[i].Outcome = job.Deleted
		case apierrors.IsNotFound(err), apierrors.IsConflict(err) && w.podGone(ctx, d.PodRef, err):
			w.memory.notDeleting(uid, d.UID)
			results[i].Outcome = job.Vanished
		default:
			return failed(err)
		}
		return nil
	})
	return results, tell(errs)
}

// create makes pods in growing batches, each awaited, so that a quota or a
// webhook that refuses them refuses a few and not all. The size reached is kept
// for the next sync, and starts again at one after a failure.
func (w *work) create(ctx context.Context, creations []job.Creation) ([]job.CreateResult, error) {
	results := make([]job.CreateResult, len(creations))
	for begin := 0; begin < len(creations) && ctx.Err() == nil; {
		n := min(max(1, w.mem.window), len(creations)-begin)
		var failed atomic.Bool
		errs := w.each(ctx, n, func(ctx context.Context, i int) (err error) {
			results[begin+i], err = w.createOne(ctx, creations[begin+i])
			if o := results[begin+i].Outcome; o != job.Created && o != job.Existed {
				failed.Store(true)
			}
			return err
		})
		if failed.Load() {
			w.mem.window = 1
			return results, tell(errs)
		}
		begin += n
		w.mem.window = max(w.mem.window, min(2*n, maxWindow))
	}
	return results, ctx.Err()
}

// maxWindow bounds the batches of creations, and with them the calls that are
// in vain when a quota is reached.
const maxWindow = 64

func (w *work) createOne(ctx context.Context, creation job.Creation) (job.CreateResult, error) {
	pod := creation.Pod
	uid, name := w.job.UID, pod.Name
	w.memory.creating(uid, name, expected{sent: w.now, floor: w.reached()})
	defer w.gate.Call()()
	err := w.client.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		existing, lookErr := w.ours(ctx, creation.Pod.Namespace, name)
		switch {
		case lookErr != nil:
			w.memory.notCreating(uid, name)
			return job.CreateResult{Outcome: job.CreateFailed, Message: lookErr.Error()}, lookErr
		case existing != nil:
			w.expect(uid, existing)
			podWrites.WithLabelValues("create", "existed").Inc()
			return job.CreateResult{Outcome: job.Existed}, nil
		}
		// Somebody else's pod sits on the name: let the server choose one.
		w.memory.notCreating(uid, name)
		pod.Name, pod.ResourceVersion, pod.UID = "", "", ""
		if err = w.client.Create(ctx, pod); err == nil {
			w.expect(uid, pod)
		}
	}
	podWrites.WithLabelValues("create", outcome(err, "success", "error")).Inc()
	if err == nil {
		w.memory.created(uid, pod.Name, pod.UID)
		return job.CreateResult{Outcome: job.Created, Name: pod.Name}, nil
	}
	failed := fmt.Errorf("creating a pod for Job %s: %w", w.key, err)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		w.memory.notCreating(uid, name)
		w.memory.doom(uid)
		return job.CreateResult{Outcome: job.NamespaceTerminating}, nil
	case refusal(err):
		w.memory.notCreating(uid, name)
		w.refused.Store(true)
		return job.CreateResult{Outcome: job.CreateFailed, Message: err.Error()}, nil
	case unanswered(err):
		return job.CreateResult{Outcome: job.CreateUnknown, Message: err.Error()}, failed
	default:
		w.memory.notCreating(uid, name)
		return job.CreateResult{Outcome: job.CreateFailed, Message: err.Error()}, failed
	}
}

// reached is a resource version that the pods have reached and no pod that is
// created from now on: how far the cache has come, or a live look that was newer.
func (w *work) reached() string {
	progress := w.progress()
	if order, err := resourceversion.CompareResourceVersion(w.mem.floor, progress); err == nil && order > 0 {
		return w.mem.floor
	}
	return progress
}

// expect notes a pod that was made under a name not known before the call, or by
// an earlier call, unless the cache already shows it.
func (w *work) expect(uid types.UID, pod *corev1.Pod) {
	w.memory.creating(uid, pod.Name, expected{sent: w.now, uid: pod.UID})
	if cached := w.cache.pod(keyOf(pod)); cached != nil && cached.UID == pod.UID {
		w.memory.notCreating(uid, pod.Name)
	}
}

// ours reads a pod whose name is taken: this Job controls it if an earlier call
// made it; nil: it is somebody else's.
func (w *work) ours(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := w.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &pod)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("pod %s/%s existed a moment ago and is gone: trying again", namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod %s/%s, whose name is taken: %w", namespace, name, err)
	}
	if !metav1.IsControlledBy(&pod, w.job) {
		return nil, nil
	}
	return &pod, nil
}

// refusal reports whether the server does not want the pod: a quota is full, a
// policy or a webhook denies it, the template makes no valid pod. That is for the
// Job's user to mend, who hears of it by an event, and no error of this
// controller. Missing rights are for its operator.
func refusal(err error) bool {
	if apierrors.IsForbidden(err) {
		return !strings.Contains(err.Error(), "cannot create resource")
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// unanswered reports whether it is unknown what became of a call.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsUnexpectedServerError(err) || apierrors.IsServiceUnavailable(err)
}

// unfinalize takes the tracking finalizer off pods that are accounted for, and
// returns those that have it no more.
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
			w.wakeIn(w.options.SyncPeriod)
		case errs[i] == nil:
			removed = append(removed, ref.UID)
		}
	}
	return removed, tell(errs)
}

// untrack takes the finalizer off one pod, with a resource version only if the
// pod is still as it was read. It is noted before the call: an event that comes
// before the answer must not make the pod look unaccounted for.
func (w *work) untrack(ctx context.Context, ref job.PodRef, resourceVersion string) (gone bool, err error) {
	uid := w.job.UID
	w.memory.unfinalizing(uid, ref.UID)
	err = w.client.Patch(ctx, target(ref), untrack(ref.UID, resourceVersion))
	podWrites.WithLabelValues("untrack", outcome(client.IgnoreNotFound(err), "success", "error")).Inc()
	if err == nil {
		return false, nil
	}
	if w.podGone(ctx, ref, err) {
		return true, nil
	}
	w.memory.notUnfinalizing(uid, ref.UID)
	return false, err
}

// podGone reports whether err means that this very pod is no more. A conflict can mean
// that, and also that the pod changed too often under the server's hands: then
// the pod itself is asked for.
func (c *controller) podGone(ctx context.Context, ref job.PodRef, err error) bool {
	if !gone(err) {
		return false
	}
	if !apierrors.IsConflict(err) {
		return true
	}
	pod := target(ref)
	err = c.live.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	return apierrors.IsNotFound(err) || err == nil && pod.UID != ref.UID
}

// told is how many errors of many calls are told in full.
const told = 3

// tell makes one error of those of many calls; nil if there is none.
func tell(errs []error) error {
	var some []error
	more := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case len(some) < told:
			some = append(some, err)
		default:
			more++
		}
	}
	if more > 0 {
		some = append(some, fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(some...)
}
