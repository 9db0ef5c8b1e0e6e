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
	"github.com/carillon-dev/carillon/internal/kube/fence"
)

// delete stops pods. A pod that must not count gives up its finalizer first; a crash in between leaves a surplus pod
// that the next sync deletes.
func (w *work) delete(ctx context.Context, deletions []job.Deletion) ([]job.DeleteResult, error) {
	results := make([]job.DeleteResult, len(deletions))
	uid := w.job.UID
	errs := w.each(ctx, len(deletions), func(ctx context.Context, i int) error {
		if fence.TooOld(ctx) {
			return nil // it is not deleted, which the next sync sees
		}
		d := deletions[i]
		withdraw := func() { w.expectations.update(uid, func(e *jobExpectations) { delete(e.deleting, d.UID) }) }
		failed := func(err error) error {
			withdraw()
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
		w.expectations.update(uid, func(e *jobExpectations) { e.deleting[d.UID] = w.now })
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
		err := w.client.Delete(ctx, pod, client.Preconditions{UID: &d.UID})
		podWrites.WithLabelValues("delete", outcome(client.IgnoreNotFound(err), "success", "error")).Inc()
		switch {
		case err == nil:
			results[i].Outcome = job.Deleted
		case apierrors.IsNotFound(err), apierrors.IsConflict(err) && w.podGone(ctx, d.PodRef, err):
			withdraw()
			results[i].Outcome = job.Vanished
		default:
			return failed(err)
		}
		return nil
	})
	return results, joinErrors(errs)
}

// create makes pods in growing batches, each awaited, so that a quota or a webhook that refuses them refuses a few and
// not all. The size reached is kept for the next sync, and starts again at one after a failure.
func (w *work) create(ctx context.Context, creations []job.Creation) ([]job.CreateResult, error) {
	results := make([]job.CreateResult, len(creations))
	for begin := 0; begin < len(creations) && ctx.Err() == nil; {
		if fence.TooOld(ctx) {
			w.continueIn(0)
			break
		}
		n := min(max(1, w.carry.batch), len(creations)-begin)
		var failed atomic.Bool
		errs := w.each(ctx, n, func(ctx context.Context, i int) (err error) {
			results[begin+i], err = w.createOne(ctx, creations[begin+i])
			if o := results[begin+i].Outcome; o != job.Created && o != job.Existed {
				failed.Store(true)
			}
			return err
		})
		if failed.Load() {
			w.carry.batch = 1
			return results, joinErrors(errs)
		}
		begin += n
		w.carry.batch = max(w.carry.batch, min(2*n, maxBatch))
	}
	return results, ctx.Err()
}

// maxBatch bounds the batches of creations, and with them the calls that are in vain when a quota is reached.
const maxBatch = 64

func (w *work) createOne(ctx context.Context, creation job.Creation) (job.CreateResult, error) {
	pod := creation.Pod
	uid, name := w.job.UID, pod.Name
	w.expectations.expectCreation(uid, name, expectedPod{sent: w.now, after: w.reached()})
	defer w.gate.BeginCall()()
	err := w.client.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		existing, getErr := w.ours(ctx, creation.Pod.Namespace, name)
		switch {
		case getErr != nil:
			w.expectations.withdrawCreation(uid, name)
			return job.CreateResult{Outcome: job.CreateFailed, Message: getErr.Error()}, getErr
		case existing != nil:
			w.expect(uid, existing)
			podWrites.WithLabelValues("create", "existed").Inc()
			return job.CreateResult{Outcome: job.Existed}, nil
		}
		// Somebody else's pod sits on the name: let the server choose one.
		w.expectations.withdrawCreation(uid, name)
		pod.Name, pod.ResourceVersion, pod.UID = "", "", ""
		if err = w.client.Create(ctx, pod); err == nil {
			w.expect(uid, pod)
		}
	}
	podWrites.WithLabelValues("create", outcome(err, "success", "error")).Inc()
	result, refused := createResult(err)
	switch result {
	case job.Created:
		w.expectations.update(uid, func(e *jobExpectations) {
			if expected, ok := e.creating[pod.Name]; ok { // else it was seen meanwhile
				expected.uid = pod.UID
				e.creating[pod.Name] = expected
			}
		})
		return job.CreateResult{Outcome: result, Name: pod.Name}, nil
	case job.CreateUnknown: // it stays expected
	default:
		w.expectations.withdrawCreation(uid, name)
	}
	switch {
	case result == job.NamespaceTerminating:
		w.expectations.update(uid, func(e *jobExpectations) { e.namespaceTerminating = true })
		return job.CreateResult{Outcome: result}, nil
	case refused:
		w.refused.Store(true)
		return job.CreateResult{Outcome: result, Message: err.Error()}, nil
	}
	return job.CreateResult{Outcome: result, Message: err.Error()}, fmt.Errorf("creating a pod for Job %s: %w", w.key, err)
}

// createResult judges the server's answer to the creation of a pod. refused: the server does not want the pod, which is
// for the Job's user to mend, who hears of it by an event, and no error of this controller.
func createResult(err error) (result job.CreateOutcome, refused bool) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return job.Created, false
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return job.NamespaceTerminating, false
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "cannot create resource"), // our rights are our operator's to mend
		apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		// A quota is full, a policy or a webhook denies it, the template makes no valid pod.
		return job.CreateFailed, true
	case !errors.As(err, &status), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		apierrors.IsUnexpectedServerError(err), apierrors.IsServiceUnavailable(err):
		return job.CreateUnknown, false
	}
	return job.CreateFailed, false
}

// reached is a resource version that the pods have reached and no pod that is created from now on: how far the cache
// has come, or a live list that was newer.
func (w *work) reached() string {
	progress := w.progress()
	if order, err := resourceversion.CompareResourceVersion(w.carry.minPodVersion, progress); err == nil && order > 0 {
		return w.carry.minPodVersion
	}
	return progress
}

// expect notes a pod that was made under a name not known before the call, or by an earlier call, unless the cache
// already shows it.
func (w *work) expect(uid types.UID, pod *corev1.Pod) {
	w.expectations.expectCreation(uid, pod.Name, expectedPod{sent: w.now, uid: pod.UID})
	if cached := w.cache.pod(keyOf(pod)); cached != nil && cached.UID == pod.UID {
		w.expectations.withdrawCreation(uid, pod.Name)
	}
}

// ours reads a pod whose name is taken: this Job controls it if an earlier call made it; nil: it is somebody else's.
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

// podGone reports whether err means that this very pod is no more. A conflict can mean that, and also that the pod
// changed too often under the server's hands: then the pod itself is asked for.
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

// maxErrors is how many errors of many calls are reported in full.
const maxErrors = 3

// joinErrors makes one error of those of many calls; nil if there is none.
func joinErrors(errs []error) error {
	var some []error
	more := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case len(some) < maxErrors:
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
