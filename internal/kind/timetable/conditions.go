// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

const (
	// clockTolerance is how far the cursor may be ahead of the clock before the clock is said to have gone back.
	clockTolerance = 60 * time.Second
	// neverFinishesAfter is how many runs in a row, stopped for their successors, are a failure.
	neverFinishesAfter = 3
)

// Facts are what the conditions of a Timetable follow from.
type Facts struct {
	// Now is the clock reading of the pass.
	Now time.Time
	// Generation is that of the spec that was served.
	Generation int64
	// Obstacle is what keeps the spec from being served, the first that applies; nil if nothing does.
	Obstacle *Obstacle
	// LeftOut is what the API server leaves out of what the template makes, "" if nothing.
	LeftOut string
	// LateAfter is spec.lateAfter.
	LateAfter time.Duration
	// Suspended is spec.suspend; SuspendedUntil is spec.suspendUntil while it is to come, zero otherwise; Failures says
	// that spec.pauseAfterFailures keeps scheduled times from starting, of which PauseAfterFailures is the number.
	Suspended          bool
	SuspendedUntil     time.Time
	Failures           bool
	PauseAfterFailures int32
	// NoMoreTimes says that no scheduled time will ever come again, and that all are decided.
	NoMoreTimes bool
	// Status is what is to be written beside the conditions.
	Status *v1alpha1.TimetableStatus
}

// Conditions gives the conditions of a status (timetable.md 4.1): before, those it has, with what has changed. Each
// transition time moves only with its status. Conditions of other types stay as they are.
func Conditions(before []metav1.Condition, facts *Facts) []metav1.Condition {
	after := append(make([]metav1.Condition, 0, max(len(before), 5)), before...)
	late := facts.late()
	for _, c := range []metav1.Condition{facts.ready(), facts.healthy(late.Status == metav1.ConditionTrue), late, facts.paused(), facts.completed()} {
		c.ObservedGeneration = facts.Generation
		c.LastTransitionTime = metav1.NewTime(facts.Now.Truncate(time.Second))
		c.Message = bounded(c.Message, conditionMessageBytes)
		meta.SetStatusCondition(&after, c)
	}
	return after
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func (f *Facts) ready() metav1.Condition {
	if f.Obstacle != nil {
		return condition(v1alpha1.ConditionReady, metav1.ConditionFalse, string(f.Obstacle.Reason), f.Obstacle.Message)
	}
	if f.LeftOut != "" {
		return condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Accepted", accepted+andYet+f.LeftOut)
	}
	return condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Accepted", accepted)
}

// What the condition Ready says when it is True, and what stands before what it says beside that.
const (
	accepted = "the spec is understood and allowed"
	andYet   = "; but "
)

// healthy is the one to alert on: it tells the first of what is wrong.
func (f *Facts) healthy(late bool) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return condition(v1alpha1.ConditionHealthy, status, reason, fmt.Sprintf(format, args...))
	}
	s := f.Status
	switch {
	case s.Cursor != nil && s.Cursor.Sub(f.Now) > clockTolerance:
		return is(metav1.ConditionUnknown, "ClockWentBack", "the clock is behind %s, up to which all times are decided: nothing runs before it; "+
			"check the clock of the machine that the controller runs on", written(s.Cursor))
	case s.ConsecutiveFailures > 0:
		return is(metav1.ConditionFalse, "RunFailed", "%s failed; status.ledger says which: look at their logs",
			counted(s.ConsecutiveFailures, "the last scheduled run", "scheduled runs in a row have"))
	case f.missed():
		return is(metav1.ConditionFalse, "TimesMissed", "the scheduled time %s was missed; status.ledger says why; "+
			"the success of a later one clears this", written(s.LastMissedTime))
	case late:
		return is(metav1.ConditionFalse, "Late", "a scheduled time waits too long; see the condition Late")
	case s.ConsecutiveReplaced >= neverFinishesAfter:
		return is(metav1.ConditionFalse, "NeverFinishes", "runs are stopped for their successors again and again: "+
			"leave more time between two scheduled times, or choose another concurrency.policy than Replace")
	case f.Obstacle != nil:
		return is(metav1.ConditionFalse, "NotReady", "see the condition Ready")
	case s.LastSuccessfulTime == nil:
		return is(metav1.ConditionUnknown, "NoRunYet", "no run has succeeded or failed yet")
	}
	return is(metav1.ConditionTrue, "RunSucceeded", "the newest scheduled run that ended has succeeded, and none is missing")
}

// missed tells whether a scheduled time was missed after the latest one that succeeded. Where missRecordedTime is
// absent somebody has erased it, and the miss with it.
func (f *Facts) missed() bool {
	s := f.Status
	return s.LastMissedTime != nil && s.MissRecordedTime != nil &&
		(s.LastSuccessScheduledTime == nil || s.LastMissedTime.After(s.LastSuccessScheduledTime.Time))
}

// late tells whether a punctual time has been waiting for lateAfter without interruption.
func (f *Facts) late() metav1.Condition {
	first := firstWaiting(f.Status.Waiting)
	if first == nil || f.isPaused() || f.Now.Before(first.Since.Add(f.LateAfter)) {
		return condition(v1alpha1.ConditionLate, metav1.ConditionFalse, "OnTime", "no scheduled time has been waiting for spec.lateAfter")
	}
	return condition(v1alpha1.ConditionLate, metav1.ConditionTrue, first.Reason,
		fmt.Sprintf("a scheduled time has been waiting since %s%s", written(first.Since), lateAdvice[first.Reason]))
}

// lateAdvice says what to do about what a time waits for.
var lateAdvice = map[string]string{
	"Overlap":      " for an earlier run to end: see status.active; spec.timeout bounds how long one may take",
	"Stopping":     " for an earlier run to be gone: see which finalizers or Pods keep it",
	"CreateFailed": " because its object cannot be created: status.waiting and the event CreateFailed have the answer of the API server",
	"NameTaken":    " because an object of somebody else has the name of its object: delete that",
	"NotReady":     " because the spec cannot be served: see the condition Ready",
}

// firstWaiting is the time that has waited longest, of those that came while somebody looked.
func firstWaiting(waiting []v1alpha1.WaitingTime) *v1alpha1.WaitingTime {
	var first *v1alpha1.WaitingTime
	for i := range waiting {
		if w := &waiting[i]; w.Since != nil && (first == nil || w.Since.Before(first.Since)) {
			first = w
		}
	}
	return first
}

func (f *Facts) isPaused() bool { return f.Suspended || !f.SuspendedUntil.IsZero() || f.Failures }

func (f *Facts) paused() metav1.Condition {
	is := func(reason, format string, args ...any) metav1.Condition {
		return condition(v1alpha1.ConditionPaused, metav1.ConditionTrue, reason, fmt.Sprintf(format, args...))
	}
	switch {
	case f.Suspended:
		return is("Suspended", "spec.suspend is true: set it to false to go on")
	case !f.SuspendedUntil.IsZero():
		return is("SuspendedUntil", "spec.suspendUntil is %s: scheduled times start again then", f.SuspendedUntil.UTC().Format(time.RFC3339))
	case f.Failures:
		return is("Failures", "%s failed (spec.pauseAfterFailures): mend the cause, then set the annotation %s to any new value, or change the spec",
			counted(f.PauseAfterFailures, "a scheduled run", "scheduled runs in a row"), v1alpha1.AnnotationResume)
	}
	return condition(v1alpha1.ConditionPaused, metav1.ConditionFalse, "Active", "scheduled times start")
}

func (f *Facts) completed() metav1.Condition {
	if f.NoMoreTimes && f.Status.ActiveCount == 0 && f.Status.WaitingCount == 0 {
		return condition(v1alpha1.ConditionCompleted, metav1.ConditionTrue, "NoMoreTimes",
			"no scheduled time will come again, and all are decided: the Timetable can be deleted, or given other schedules")
	}
	return condition(v1alpha1.ConditionCompleted, metav1.ConditionFalse, "TimesAhead", "scheduled times are to come, or not all have ended")
}

// counted says how many, in words.
func counted(n int32, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func written(t *metav1.Time) string { return t.UTC().Format(time.RFC3339) }
