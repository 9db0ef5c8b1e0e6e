// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
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
}

// apply carries a plan out in the order that makes a crash after any step
// harmless: claim, delete or create, record, remove finalizers.
func (w *work) apply(ctx context.Context, plan job.Plan) error {
	w.wakeAt(plan.Wake)
	if plan.LookAgain {
		w.mem.floor = w.job.ResourceVersion
		w.wakeIn(w.pace.window(0))
	}
	if changed, err := w.claim(ctx, plan.Claim); err != nil || changed {
		w.wakeIn(w.options.SyncPeriod)
		return err
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
	w.speak(record.Notes)
	countCreations(record.PodsCreation)
	if err := w.record(ctx, record); err != nil {
		return errors.Join(err, podErr)
	}
	if len(plan.Create) >= w.options.MaxPodChanges && !w.memory.block(w.job.UID) {
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
