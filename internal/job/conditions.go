// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FinishedCondition is the condition by which a Job has ended: the first in the list that is Complete or Failed and has
// the status True. It is nil for a Job that is not finished; nothing else counts as an end (job.md 1.1).
func FinishedCondition(conditions []batchv1.JobCondition) *batchv1.JobCondition {
	for i := range conditions {
		c := &conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// Finished reports whether the Job has ended, by its [FinishedCondition].
func Finished(job *batchv1.Job) bool { return FinishedCondition(job.Status.Conditions) != nil }

func hasTrue(conditions []batchv1.JobCondition, kind batchv1.JobConditionType) bool {
	_, ok := findTrue(conditions, kind)
	return ok
}

func findTrue(conditions []batchv1.JobCondition, kind batchv1.JobConditionType) (batchv1.JobCondition, bool) {
	for _, c := range conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return c, true
		}
	}
	return batchv1.JobCondition{}, false
}

// setCondition makes the condition of this type have this status, reason and message, in place if there is one already
// never a second entry of a type that has one). Every entry of the type is brought in line, so that none
// contradicts the first, which is the one that kubectl shows.
func setCondition(conditions []batchv1.JobCondition, kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string, now metav1.Time) []batchv1.JobCondition {
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

// setInterim writes down how the Job will end, unless it is written already.
func setInterim(status *batchv1.JobStatus, v Verdict, now metav1.Time) {
	kind := batchv1.JobSuccessCriteriaMet
	if v.Outcome == Failure {
		kind = batchv1.JobFailureTarget
	}
	if v.Outcome != Undecided && !hasTrue(status.Conditions, kind) {
		status.Conditions = setCondition(status.Conditions, kind, corev1.ConditionTrue, v.Reason, v.Message, now)
	}
}

// setTerminal ends the Job. The caller has made sure that nothing is active, terminating or uncounted.
//
// startTime is required of a finished Job; one that ends while suspended gets the time of its end, except where
// the API exempts it: suspended with nothing to complete. completionTime is never before startTime, whatever the clock
// did.
func setTerminal(job *batchv1.Job, status *batchv1.JobStatus, v Verdict, now metav1.Time) {
	if status.StartTime == nil && (!suspended(job) || job.Spec.Completions == nil || *job.Spec.Completions != 0) {
		status.StartTime = now.DeepCopy()
	}
	if v.Outcome == Failure {
		status.Conditions = setCondition(status.Conditions, batchv1.JobFailed, corev1.ConditionTrue, v.Reason, v.Message, now)
		return
	}
	if status.StartTime != nil && now.Before(status.StartTime) {
		now = *status.StartTime
	}
	status.Conditions = setCondition(status.Conditions, batchv1.JobComplete, corev1.ConditionTrue, v.Reason, v.Message, now)
	status.CompletionTime = now.DeepCopy()
}
