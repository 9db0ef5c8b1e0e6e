// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/job"
)

// claim adopts and releases pods. changed tells that one of them, or the Job, is not what it was when the plan was
// made.
func (w *work) claim(ctx context.Context, claim job.Claim) (changed bool, err error) {
	if len(claim.Adopt) == 0 && len(claim.Release) == 0 {
		return false, nil
	}
	if len(claim.Adopt) > 0 {
		if err = w.mayAdopt(ctx); err != nil {
			// Releases are tried all the same: one error delays no other pod.
			claim.Adopt = nil
		}
	}
	var vanished atomic.Bool
	adopted := w.each(ctx, len(claim.Adopt), func(ctx context.Context, i int) error {
		ref := claim.Adopt[i]
		err := w.client.Patch(ctx, target(ref), adopt(w.job, ref.UID, ref.ResourceVersion))
		podWrites.WithLabelValues("adopt", outcome(err, "success", "error")).Inc()
		switch {
		case err == nil:
			return nil
		case w.podGone(ctx, ref, err):
			vanished.Store(true)
			return nil
		}
		return fmt.Errorf("adopting pod %s/%s: %w", ref.Namespace, ref.Name, err)
	})
	released := w.each(ctx, len(claim.Release), func(ctx context.Context, i int) error {
		ref := claim.Release[i]
		err := w.client.Patch(ctx, target(ref), release(w.job.UID, ref.UID))
		podWrites.WithLabelValues("release", outcome(err, "success", "error")).Inc()
		if err == nil || apierrors.IsInvalid(err) || w.podGone(ctx, ref, err) {
			return nil
		}
		return fmt.Errorf("releasing pod %s/%s: %w", ref.Namespace, ref.Name, err)
	})
	return vanished.Load(), errors.Join(err, joinErrors(adopted), joinErrors(released))
}

// mayAdopt asks the server, once per sync, whether the Job is still there and wanted: a pod must not be given to a Job
// that is being deleted.
func (w *work) mayAdopt(ctx context.Context) error {
	var live batchv1.Job
	if err := w.live.Get(ctx, w.key, &live); err != nil {
		return fmt.Errorf("reading Job %s before it adopts pods: %w", w.key, err)
	}
	if live.UID != w.job.UID {
		return fmt.Errorf("Job %s was replaced by another one of this name: not adopting pods", w.key)
	}
	if live.DeletionTimestamp != nil {
		return fmt.Errorf("Job %s is being deleted: not adopting pods", w.key)
	}
	return nil
}
