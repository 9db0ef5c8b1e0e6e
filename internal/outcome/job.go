// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// condition is what matters of a condition of a Job or JobSet.
type condition struct {
	kind, status, reason, message string
	since                         time.Time
}

// terminal tells the outcome by the first condition that is one of the two and true, which is final (cronjob.md 1.6).
// It ended when that condition was set.
func terminal(conditions []condition, succeeded, failed string) (outcome Outcome, reason string) {
	for _, c := range conditions {
		switch {
		case c.status != "True":
		case c.kind == succeeded:
			return Outcome{Phase: Succeeded, Ended: c.since}, ""
		case c.kind == failed:
			return Outcome{Phase: Failed, Ended: c.since, Message: c.message}, c.reason
		}
	}
	return Outcome{}, ""
}

// conditionsOf reads status.conditions.
func conditionsOf(object map[string]any) []condition {
	all := list(object, "status", "conditions")
	conditions := make([]condition, len(all))
	for i, c := range all {
		conditions[i] = condition{text(c, "type"), text(c, "status"), text(c, "reason"), text(c, "message"), instant(c, "lastTransitionTime")}
	}
	return conditions
}

// OfJob tells the outcome of a Job of batch/v1.
func OfJob(job *batchv1.Job) Outcome {
	conditions := make([]condition, len(job.Status.Conditions))
	for i, c := range job.Status.Conditions {
		conditions[i] = condition{string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime.Time}
	}
	var completed time.Time
	if job.Status.CompletionTime != nil {
		completed = job.Status.CompletionTime.Time
	}
	return ofJob(conditions, completed)
}

func jobOutcome(object map[string]any) Outcome {
	return ofJob(conditionsOf(object), instant(object, "status", "completionTime"))
}

// ofJob tells the outcome of a Job. One that succeeded ended at its completionTime, one that failed has none.
func ofJob(conditions []condition, completed time.Time) Outcome {
	outcome, reason := terminal(conditions, string(batchv1.JobComplete), string(batchv1.JobFailed))
	if outcome.Phase == Succeeded && !completed.IsZero() {
		outcome.Ended = completed
	}
	outcome.DeadlineExceeded = reason == batchv1.JobReasonDeadlineExceeded
	return outcome
}

func jobSetOutcome(object map[string]any) Outcome {
	outcome, _ := terminal(conditionsOf(object), "Completed", "Failed")
	return outcome
}
