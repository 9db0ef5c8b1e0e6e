// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
func conditions(s *syncState) []metav1.Condition {
	in := s.in
	if !in.Policy.Conditions {
		return in.Stored.Conditions
	}
	list := conditionList{in: in, now: slices.Clone(in.Stored.Conditions)}
	if len(list.now) == 0 {
		list.set(conditionProgressing, metav1.ConditionUnknown, reasonReconciling, "Seen for the first time")
	}
	active, failed := 0, 0
	for _, c := range s.children {
		switch {
		case c.Gone:
		case !c.Phase.finished():
			active++
		case c.Phase == Failed:
			failed++
		}
	}
	switch {
	case in.Policy.Suspend:
		list.set(conditionAvailable, metav1.ConditionFalse, reasonSuspended, "Suspended: nothing starts")
	case failed > 0:
		text := fmt.Sprintf("Failed %ss that are kept: %d", in.Traits.ChildKind, failed)
		list.set(conditionDegraded, metav1.ConditionTrue, reasonJobsFailed, text)
		list.set(conditionAvailable, metav1.ConditionFalse, reasonJobsFailed, text)
	case active > 0:
		text := fmt.Sprintf("%ss that are not finished: %d", in.Traits.ChildKind, active)
		list.set(conditionProgressing, metav1.ConditionTrue, reasonJobsActive, text)
		list.set(conditionAvailable, metav1.ConditionTrue, reasonJobsActive, text)
	default:
		list.set(conditionAvailable, metav1.ConditionTrue, reasonAllJobsCompleted, "All "+in.Traits.ChildKind+"s have completed")
		list.set(conditionProgressing, metav1.ConditionFalse, reasonNoJobsActive, "No "+in.Traits.ChildKind+" is active")
	}

	switch {
	case s.observed.err != nil:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonReconciliationError, s.observed.err.Error())
	case s.ready.obstacle != nil:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonInvalidSchedule, s.ready.obstacle.Message)
	case s.start.result == startTooManyMissed:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonInvalidSchedule, manyRefusedText)
	case len(in.done.creates) > 0 && s.start.result == startFailed && s.start.err != nil:
		list.set(conditionDegraded, metav1.ConditionTrue, reasonJobCreationFailed, s.start.err.Error())
	case s.outcomes.tooLate():
		list.set(conditionDegraded, metav1.ConditionTrue, reasonMissedSchedule,
			"A scheduled time was not started within .spec.startingDeadlineSeconds")
	}
	if s.start.result == startCreated {
		list.set(conditionProgressing, metav1.ConditionTrue, reasonJobCreated, "Created the "+in.Traits.ChildKind+" of the latest scheduled time")
	}
	return list.now
}

// conditionList is a list that is being changed.
type conditionList struct {
	in  Input
	now []metav1.Condition
}

// set enters a condition. The time of its last transition moves only with its status.
func (l *conditionList) set(kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxConditionMessage {
		message = strings.ToValidUTF8(message[:maxConditionMessage], "")
	}
	c := metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: l.in.Owner.Generation, LastTransitionTime: metav1.NewTime(l.in.Now.UTC()).Rfc3339Copy()}
	i := slices.IndexFunc(l.now, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		l.now = append(l.now, c)
		return
	}
	// What was set a moment ago, in this sync, has not been seen by anybody: the transition is from what is stored.
	if before := slices.IndexFunc(l.in.Stored.Conditions, func(c metav1.Condition) bool { return c.Type == kind }); before >= 0 &&
		l.in.Stored.Conditions[before].Status == status {
		c.LastTransitionTime = l.in.Stored.Conditions[before].LastTransitionTime
	}
	l.now[i] = c
}

func sameCondition(a, b metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.ObservedGeneration == b.ObservedGeneration && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}
