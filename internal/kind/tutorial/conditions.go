// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorial

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Types of status.conditions, in the API that has them (cronjob.md 2.3b).
const (
	conditionAvailable   = "Available"
	conditionProgressing = "Progressing"
	conditionDegraded    = "Degraded"
)

// Reasons of status.conditions.
const (
	reasonReconciling         = "Reconciling"
	reasonSuspended           = "Suspended"
	reasonJobsFailed          = "JobsFailed"
	reasonJobsActive          = "JobsActive"
	reasonAllJobsCompleted    = "AllJobsCompleted"
	reasonNoJobsActive        = "NoJobsActive"
	reasonJobCreated          = "JobCreated"
	reasonReconciliationError = "ReconciliationError"
	reasonInvalidSchedule     = "InvalidSchedule"
	reasonMissedSchedule      = "MissedSchedule"
	reasonJobCreationFailed   = "JobCreationFailed"
)

// maxConditionMessage is well below what the schema of conditions allows.
const maxConditionMessage = 1024

// conditions are status.conditions at the end of this sync, for a CronJob that asks for them. What the book's
// controller shows one after the other, in several writes, is set here in the same order and written once: first what
// the children say, then what went wrong, then the start. None is ever removed; a Degraded that is True stays until
// somebody takes it away, because only a human knows whether the failure was dealt with.
func conditions(stored []metav1.Condition, f cron.Facts) []metav1.Condition {
	list := conditionList{stored: stored, facts: f, now: slices.Clone(stored)}
	if len(list.now) == 0 {
		list.set(conditionProgressing, metav1.ConditionUnknown, reasonReconciling, "Seen for the first time")
	}
	switch {
	case f.Suspended:
		list.set(conditionAvailable, metav1.ConditionFalse, reasonSuspended, "Suspended: nothing starts")
	case f.Failed > 0:
		text := fmt.Sprintf("Failed Jobs that are kept: %d", f.Failed)
		list.set(conditionDegraded, metav1.ConditionTrue, reasonJobsFailed, text)
		list.set(conditionAvailable, metav1.ConditionFalse, reasonJobsFailed, text)
	case f.Unfinished > 0:
		text := fmt.Sprintf("Jobs that are not finished: %d", f.Unfinished)
		list.set(conditionProgressing, metav1.ConditionTrue, reasonJobsActive, text)
		list.set(conditionAvailable, metav1.ConditionTrue, reasonJobsActive, text)
	default:
		list.set(conditionAvailable, metav1.ConditionTrue, reasonAllJobsCompleted, "All Jobs have completed")
		list.set(conditionProgressing, metav1.ConditionFalse, reasonNoJobsActive, "No Job is active")
	}

	switch {
	case f.ReadErr != nil:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonReconciliationError, f.ReadErr.Error())
	case f.Obstacle != nil:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonInvalidSchedule, f.Obstacle.Message)
	case f.Refused != "":
		list.set(conditionDegraded, metav1.ConditionTrue, reasonInvalidSchedule, f.Refused)
	case f.CreateErr != nil:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonJobCreationFailed, f.CreateErr.Error())
	case f.TooLate:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonMissedSchedule,
			"A scheduled time was not started within .spec.startingDeadlineSeconds")
	}
	if f.Started {
		list.set(conditionProgressing, metav1.ConditionTrue, reasonJobCreated, "Created the Job of the latest scheduled time")
	}
	return list.now
}

// conditionList is a list that is being changed.
type conditionList struct {
	stored []metav1.Condition
	facts  cron.Facts
	now    []metav1.Condition
}

// set enters a condition. The time of its last transition moves only with its status.
func (l *conditionList) set(kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxConditionMessage {
		message = strings.ToValidUTF8(message[:maxConditionMessage], "")
	}
	c := metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: l.facts.Generation, LastTransitionTime: metav1.NewTime(l.facts.Now.UTC()).Rfc3339Copy()}
	i := slices.IndexFunc(l.now, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		l.now = append(l.now, c)
		return
	}
	// What was set a moment ago, in this sync, has not been seen by anybody: the transition is from what is stored.
	if before := slices.IndexFunc(l.stored, func(c metav1.Condition) bool { return c.Type == kind }); before >= 0 &&
		l.stored[before].Status == status {
		c.LastTransitionTime = l.stored[before].LastTransitionTime
	}
	l.now[i] = c
}
