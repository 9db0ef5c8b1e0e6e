// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/job"
)

// JobChild translates a batch/v1 Job.
func JobChild(job *batchv1.Job, info Info) cron.Child {
	child := Child(job, batchv1.SchemeGroupVersion.WithKind("Job"), info)
	child.Phase, child.Succeeded = jobPhase(job.Status.Conditions)
	child.Started = Time(job.Status.StartTime)
	child.Finished = Time(job.Status.CompletionTime)
	if child.Phase == cron.Unfinished && job.Spec.Suspend != nil && *job.Spec.Suspend {
		child.Status = "Suspended"
		child.Suspended = job.Status.Active == 0 // its Pods may not have been stopped yet
	}
	return child
}

// jobPhase tells the phase of a batch/v1 Job, and whether it succeeded. The first terminal condition that is True, in
// the order of the list, decides the phase; success is a Complete condition anywhere (cronjob.md 1.6).
func jobPhase(conditions []batchv1.JobCondition) (phase cron.ChildPhase, succeeded bool) {
	finished := job.FinishedCondition(conditions)
	switch {
	case finished == nil:
		return cron.Unfinished, false
	case finished.Type == batchv1.JobComplete:
		return cron.Complete, true
	}
	return cron.Failed, slices.ContainsFunc(conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
}
