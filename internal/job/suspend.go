// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// markSuspension brings the Suspended condition and startTime in line with spec.suspend and gives the event about it
// (job.md 5.6). It is called only when pods were managed in this sync (managePods in podplan.go, which deletes those of a
// suspended Job), so that the condition never runs ahead of the pods; and not for a Job that is about to end. A Job that was never suspended has no such condition.
//
// While suspended there is no startTime: queueing systems may then edit the template, and the deadline starts anew on
// resume. It goes in the same write as the condition, and the new one comes in the write that flips it back: the only
// one in which the API server lets it change (INV-22).
func markSuspension(job *batchv1.Job, status *batchv1.JobStatus, now metav1.Time) []Event {
	marked := hasTrue(status.Conditions, batchv1.JobSuspended)
	switch {
	case suspended(job):
		status.StartTime = nil
		if !marked {
			status.Conditions = setCondition(status.Conditions, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended", now)
			return []Event{jobSuspended()}
		}
	case marked:
		status.StartTime = now.DeepCopy()
		status.Conditions = setCondition(status.Conditions, batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed", now)
		return []Event{jobResumed()}
	}
	return nil
}

func suspended(job *batchv1.Job) bool { return ptr.Deref(job.Spec.Suspend, false) }
