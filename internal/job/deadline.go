// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// startTime is when the Job's current run began as far as rules of this sync are concerned: the stored time, or now for
// a Job that has none or that was resumed and not yet marked so. The zero time means suspended without a start.
// (Without the second case a Job suspended by a controller that keeps startTime would run into its deadline at the
// moment it is resumed: Q-06.)
func startTime(job *batchv1.Job, now time.Time) time.Time {
	if !suspended(job) && hasTrue(job.Status.Conditions, batchv1.JobSuspended) {
		return now
	}
	switch {
	case job.Status.StartTime != nil:
		return job.Status.StartTime.Time
	case suspended(job):
		return time.Time{}
	default:
		return now
	}
}

// deadline is when spec.activeDeadlineSeconds runs out (job.md 5.5); none while suspended.
func deadline(job *batchv1.Job, start time.Time) (at time.Time, ok bool) {
	if job.Spec.ActiveDeadlineSeconds == nil || suspended(job) || start.IsZero() {
		return time.Time{}, false
	}
	// More seconds than a Duration holds is longer than any Job lives.
	seconds := min(*job.Spec.ActiveDeadlineSeconds, int64(maxDuration/time.Second))
	return start.Add(time.Duration(seconds) * time.Second), true
}

const maxDuration = time.Duration(1<<63 - 1)
