// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// goneAgain is when runs are looked at again whose objects are gone and whose Pods are not.
const goneAgain = 30 * time.Second

// findGone looks for runs that the journal has as active and whose objects are gone: whenever objects of a kind have
// been listed, and when containers end of which the run is not known; first when what the node had left has been taken
// in.
func (r *Recorder) findGone(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.takenOnce:
	}
	var wait backoff
	again := time.NewTimer(0)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.look:
		case <-again.C:
		}
		unsettled, err := r.settleGone(ctx)
		if err != nil && ctx.Err() == nil {
			r.o.Logger.Info("Runs that went unseen cannot be looked for now and are later", "reason", err.Error())
			signal(r.look)
			if !pause(ctx, wait.after()) {
				return
			}
			continue
		}
		wait.reset()
		if unsettled {
			again.Reset(goneAgain)
		}
	}
}

// settleGone finds out how runs ended that are gone. unsettled says that some of them still have Pods that run.
func (r *Recorder) settleGone(ctx context.Context) (unsettled bool, err error) {
	states, err := r.o.Past.Runs(ctx, journal.Query{Namespace: r.o.Namespace, Outcomes: []run.Outcome{run.Active}})
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	late := slices.Collect(maps.Keys(r.late))
	r.mu.Unlock()
	for _, uid := range late {
		unknown, err := r.o.Past.Runs(ctx, journal.Query{UID: uid, Outcomes: []run.Outcome{run.Unknown}})
		if err != nil {
			return false, err
		}
		states = append(states, unknown...)
	}
	for i := range states {
		runs, err := r.settle(ctx, &states[i])
		if err != nil {
			return false, err
		}
		unsettled = unsettled || runs
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !unsettled {
		for _, uid := range late {
			delete(r.late, uid)
		}
	}
	return unsettled, nil
}

// settle finds out how a run ended if it is gone, and tells whether it has Pods that run.
func (r *Recorder) settle(ctx context.Context, state *run.Run) (runs bool, err error) {
	if r.isKnown(state.UID) {
		return false, nil
	}
	there, err := r.isThere(ctx, state)
	if err != nil || there || r.isKnown(state.UID) {
		return false, err
	}
	if runs, err := r.hasPods(ctx, state); runs || err != nil {
		return runs, err
	}
	// What was on its way when it was read is there now.
	now, err := r.o.Past.Runs(ctx, journal.Query{UID: state.UID, Outcomes: []run.Outcome{run.Active, run.Unknown}})
	if err != nil || len(now) == 0 {
		return false, err
	}
	attempts, err := r.o.Past.Attempts(ctx, state.UID)
	if err != nil {
		return false, err
	}
	before := *state
	if state.FoundGone(attempts); fingerprint(*state) == fingerprint(before) {
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[state.UID] == nil && !r.pending.has(state.UID) {
		r.enqueue(*state)
	}
	return false, nil
}

// hasPods asks the API server whether Pods of a run are there that have not ended.
func (r *Recorder) hasPods(ctx context.Context, state *run.Run) (bool, error) {
	label := client.MatchingLabels{batchv1.ControllerUidLabel: string(state.UID)}
	switch state.Kind {
	case podKind.Kind:
		return false, nil // it was one
	case jobKind.Kind:
		if !strings.HasPrefix(state.APIVersion, batchv1.GroupName+"/") {
			label = client.MatchingLabels{volcanoJob: state.Name}
		}
	default:
		return false, nil // whose Pods tell it in their own way
	}
	pods := &corev1.PodList{}
	err := r.o.Client.List(ctx, pods, client.InNamespace(state.Namespace), label)
	if apierrors.IsForbidden(err) {
		return false, nil // whoever may not read them has been told
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	}), nil
}

// isThere asks the API server whether the object of a run is there.
func (r *Recorder) isThere(ctx context.Context, state *run.Run) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(state.APIVersion, state.Kind))
	err := r.o.Client.Get(ctx, client.ObjectKey{Namespace: state.Namespace, Name: state.Name}, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return true, nil // nobody knows, and whoever may not read it has been told
	case err != nil:
		return false, err
	}
	return object.UID == state.UID, nil
}
