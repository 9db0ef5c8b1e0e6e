// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/job"
)

// What a sync does, in the order in which it does it; how, is in a file each:
//
//	claim.go    adopt and release pods
//	pods.go     delete and create pods, remove finalizers
//	record.go   write the status and tell of it, or put that off

// work is one sync of one Job under way.
type work struct {
	*controller
	key types.NamespacedName
	// job is the Job as last read or written.
	job *batchv1.Job
	mem *memory
	now time.Time
	// wake is when to look again; zero: when something happens.
	wake time.Time
	// refused: the server did not want a pod.
	refused atomic.Bool
}

// apply carries a plan out in the order that makes a crash after any step
// harmless: claim, delete or create, record, remove finalizers.
func (w *work) apply(ctx context.Context, plan job.Plan) error {
	w.wakeAt(plan.Wake)
	if plan.PodsStale {
		w.mem.floor = w.job.ResourceVersion
		w.wakeIn(w.pace.window(0))
	}
	_, cleanupErr := w.unfinalize(ctx, plan.Cleanup)
	if changed, err := w.claim(ctx, plan.Claim); err != nil || changed {
		w.wakeIn(w.options.SyncPeriod)
		return errors.Join(err, cleanupErr)
	}
	var results job.Results
	var podErr error
	results.Delete, podErr = w.delete(ctx, plan.Delete)
	for _, r := range results.Delete {
		if r.Outcome == job.NotDeleted {
			w.wakeIn(w.options.SyncPeriod)
			break
		}
	}
	if podErr == nil {
		results.Create, podErr = w.create(ctx, plan.Create)
	}
	record := plan.Record(results)
	w.speak(record.Events)
	countCreations(record.PodsCreation)
	podErr = errors.Join(podErr, cleanupErr)
	creating := len(plan.Create) >= w.options.MaxPodChanges
	if err := w.record(ctx, record, creating); err != nil {
		return errors.Join(err, podErr)
	}
	if creating && !w.memory.block(w.job.UID) {
		w.wakeIn(w.pace.window(w.memory.size(w.job.UID)))
	}
	return podErr
}

func (w *work) wakeAt(at time.Time) {
	if !at.IsZero() && (w.wake.IsZero() || at.Before(w.wake)) {
		w.wake = at
	}
}

func (w *work) wakeIn(d time.Duration) { w.wakeAt(w.now.Add(d)) }

// retryRefused wakes the Job when refused pods are to be tried again: later each
// time, as after an error, and sooner if something else happens to it, such as the
// end of a pod that took up the quota. It returns errRefused for the metrics.
func (w *work) retryRefused() error {
	if !w.refused.Load() {
		w.mem.refusals = 0
		return nil
	}
	delay := w.options.RetryMax
	if n := w.mem.refusals; n < 32 {
		delay = min(w.options.RetryBase<<n, delay)
	}
	w.mem.refusals++
	w.wakeIn(delay)
	return errRefused
}
