// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/job"
)

// work is one sync of one Job under way.
type work struct {
	*controller
	key types.NamespacedName
	// job is the Job as last read or written.
	job   *batchv1.Job
	carry *carry
	now   time.Time
	next  nextSync
	// refused: the server did not want a pod.
	refused atomic.Bool
}

// apply carries a plan out in the order that makes a crash after any step harmless: remove finalizers that serve
// nobody, claim, delete or create, write the status, remove the finalizers of what it records.
func (w *work) apply(ctx context.Context, plan job.Plan) error {
	w.next.plan = plan.Wake
	if plan.RelistPods {
		w.carry.minPodVersion = w.job.ResourceVersion
		w.continueIn(0)
	}
	_, cleanupErr := w.unfinalize(ctx, plan.Cleanup)
	if changed, err := w.claim(ctx, plan.Claim); err != nil || changed {
		w.next.changed = true
		return errors.Join(err, cleanupErr)
	}
	var results job.Results
	var podErr error
	results.Delete, podErr = w.delete(ctx, plan.Delete)
	if slices.ContainsFunc(results.Delete, func(r job.DeleteResult) bool { return r.Outcome == job.NotDeleted }) {
		w.next.changed = true
	}
	if podErr == nil {
		results.Create, podErr = w.create(ctx, plan.Create)
	}
	status := plan.PlanStatus(results)
	w.publish(status.Events)
	countCreations(status.PodsCreation)
	podErr = errors.Join(podErr, cleanupErr)
	creating := len(plan.Create) >= w.options.MaxPodChanges
	if err := w.applyStatus(ctx, status, creating); err != nil {
		return errors.Join(err, podErr)
	}
	if creating {
		w.awaitCreations()
	}
	return podErr
}

// awaitCreations lets the pod that the cache shows last wake the Job; if it shows all, it goes on soon.
func (w *work) awaitCreations() {
	if !w.expectations.awaitCreations(w.job.UID) {
		_, pods := w.expectations.lastSync(w.job.UID)
		w.continueIn(pods)
	}
}
