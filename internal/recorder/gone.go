// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// findGone looks, whenever objects of a kind have been listed, for runs that the journal has as active and whose objects
// are gone.
func (r *Recorder) findGone(ctx context.Context) {
	var wait backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.look:
		}
		if err := r.settleGone(ctx); err != nil && ctx.Err() == nil {
			r.o.Logger.Info("Runs that went unseen cannot be looked for now and are later", "reason", err.Error())
			signal(r.look)
			if !pause(ctx, wait.after()) {
				return
			}
			continue
		}
		wait.reset()
	}
}

func (r *Recorder) settleGone(ctx context.Context) error {
	active, err := r.o.Past.Runs(ctx, journal.Query{Namespace: r.o.Namespace, Outcomes: []run.Outcome{run.Active}})
	if err != nil {
		return err
	}
	for _, state := range active {
		if r.isKnown(state.UID) {
			continue
		}
		there, err := r.isThere(ctx, &state)
		if err != nil {
			return err
		}
		if there || r.isKnown(state.UID) {
			continue
		}
		// What was on its way when it was read is there now.
		now, err := r.o.Past.Runs(ctx, journal.Query{UID: state.UID, Outcomes: []run.Outcome{run.Active}})
		if err != nil {
			return err
		}
		if len(now) == 0 {
			continue
		}
		attempts, err := r.o.Past.Attempts(ctx, state.UID)
		if err != nil {
			return err
		}
		state.FoundGone(attempts)
		r.mu.Lock()
		if r.known[state.UID] == nil && !r.pending.has(state.UID) {
			r.enqueue(state)
		}
		r.mu.Unlock()
	}
	return nil
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
