// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/cron"
)

// JobChild translates a batch/v1 Job; stamp is the annotation that holds the scheduled time.
func JobChild(job *batchv1.Job, info Info, stamp string) cron.Child {
	child := Child(job, info, stamp)
	child.Phase, child.Succeeded = jobPhase(job)
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
func jobPhase(job *batchv1.Job) (phase cron.Phase, succeeded bool) {
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			succeeded = true
			if phase == cron.Unfinished {
				phase = cron.Complete
			}
		case batchv1.JobFailed:
			if phase == cron.Unfinished {
				phase = cron.Failed
			}
		}
	}
	return phase, succeeded
}
