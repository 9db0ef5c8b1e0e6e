// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Urgency is who waits for a status write, and so for how long it may be put off; the shell knows the times. A write
// that is put off is as good as one before which the process died: the next sync finds what it says anew, and more.
type Urgency string

// The urgencies, the greatest first.
const (
	// UrgencyImmediate: the Job, its user or another controller waits. The write ends the Job, changes a condition or
	// startTime, is about a Job that is suspended or being deleted, or no pod runs whose end could join it.
	UrgencyImmediate Urgency = "immediate"
	// UrgencyStart: those who watch the Job wait to see that it started. The write says nothing else, so a Job that
	// ends soon can save it.
	UrgencyStart Urgency = "start"
	// UrgencyProgress: only readers of the counters wait. Pods still run, and their ends can join the write.
	UrgencyProgress Urgency = "progress"
	// UrgencyLazy: nobody waits. Only numbers of pods that are ready or terminating changed, or recorded pods become
	// counted. Alone among writes that are put off it does not hold up the finalizers in [StatusPlan].
	UrgencyLazy Urgency = "lazy"
)

// urgency of a status that differs from the stored one.
func (s *syncState) urgency(status *batchv1.JobStatus, a podsAfter, acc *accounting, ends bool) Urgency {
	old := &s.job.Status
	switch {
	case s.onlyStarts(status, acc):
		return UrgencyStart
	case ends, s.job.DeletionTimestamp != nil, suspended(s.job), !old.StartTime.Equal(status.StartTime),
		!slices.EqualFunc(old.Conditions, status.Conditions, sameCondition):
		return UrgencyImmediate
	case onlySettles(old, status, acc):
		return UrgencyLazy
	case a.active == 0, s.verdict.Outcome != Undecided:
		return UrgencyImmediate
	}
	return UrgencyProgress
}

// onlyStarts reports whether there is nothing to tell but that the Job started.
func (s *syncState) onlyStarts(status *batchv1.JobStatus, acc *accounting) bool {
	return s.job.Status.StartTime == nil && status.StartTime != nil && s.job.DeletionTimestamp == nil &&
		len(status.Conditions) == 0 && acc.recordedNow == 0 && len(acc.policyActions) == 0
}

// onlySettles reports whether the change decides nothing: the numbers of ready and terminating pods, and the counting
// of pods that are recorded already.
func onlySettles(old, status *batchv1.JobStatus, acc *accounting) bool {
	if old.Ready == nil || acc.recordedNow > 0 || len(acc.policyActions) > 0 || len(acc.events) > 0 {
		return false
	}
	rest := status.DeepCopy()
	rest.Ready, rest.Terminating = old.Ready, old.Terminating
	rest.Succeeded, rest.Failed = old.Succeeded, old.Failed
	rest.UncountedTerminatedPods = old.UncountedTerminatedPods
	return equality.Semantic.DeepEqual(old, rest)
}

func sameCondition(a, b batchv1.JobCondition) bool { return a.Type == b.Type && a.Status == b.Status }
