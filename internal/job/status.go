// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// upsert makes the condition of this type have this status, reason and message,
// in place if there is one already (Q-08: never a second entry of a type that
// has one). Every entry of the type is brought in line, so that none
// contradicts the first, which is the one that kubectl shows.
func upsert(conditions []batchv1.JobCondition, kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string, now metav1.Time) []batchv1.JobCondition {
	want := batchv1.JobCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastProbeTime: now, LastTransitionTime: now,
	}
	found := false
	for i := range conditions {
		c := &conditions[i]
		if c.Type != kind {
			continue
		}
		found = true
		if c.Status != status || c.Reason != reason || c.Message != message {
			*c = want
		}
	}
	if !found {
		conditions = append(conditions, want)
	}
	return conditions
}

// interim writes down how the Job will end, unless it is written already.
func interim(status *batchv1.JobStatus, v Verdict, now metav1.Time) {
	kind := batchv1.JobSuccessCriteriaMet
	if v.Outcome == Failure {
		kind = batchv1.JobFailureTarget
	}
	if v.Outcome != Undecided && !hasTrue(status.Conditions, kind) {
		status.Conditions = upsert(status.Conditions, kind, corev1.ConditionTrue, v.Reason, v.Message, now)
	}
}

// terminal ends the Job. The caller has made sure that nothing is active,
// terminating or uncounted.
//
// startTime is required of a finished Job; one that ends while suspended gets
// the time of its end, except where the API exempts it: suspended with
// nothing to complete. completionTime is never before startTime, whatever the
// clock did.
func terminal(job *batchv1.Job, status *batchv1.JobStatus, v Verdict, now metav1.Time) {
	if status.StartTime == nil && (!suspended(job) || job.Spec.Completions == nil || *job.Spec.Completions != 0) {
		status.StartTime = now.DeepCopy()
	}
	if v.Outcome == Failure {
		status.Conditions = upsert(status.Conditions, batchv1.JobFailed, corev1.ConditionTrue, v.Reason, v.Message, now)
		return
	}
	if status.StartTime != nil && now.Before(status.StartTime) {
		now = *status.StartTime
	}
	status.Conditions = upsert(status.Conditions, batchv1.JobComplete, corev1.ConditionTrue, v.Reason, v.Message, now)
	status.CompletionTime = now.DeepCopy()
}
