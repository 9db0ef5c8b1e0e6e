// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Types of conditions of a Timetable.
const (
	// ConditionReady: the spec is understood and allowed.
	ConditionReady = "Ready"
	// ConditionHealthy: runs succeed, and in time. It is the one to alert on.
	ConditionHealthy = "Healthy"
	// ConditionLate: a time has been waiting for spec.lateAfter.
	ConditionLate = "Late"
	// ConditionPaused: no scheduled time starts because somebody or something
	// said so.
	ConditionPaused = "Paused"
	// ConditionCompleted: no scheduled time will ever come again, and all are
	// decided.
	ConditionCompleted = "Completed"
)

// TimetableStatus explains every scheduled time: it is in next, waiting,
// active or the ledger, and counted for ever.
type TimetableStatus struct {
	// The generation of the spec that the status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Ready (the spec is understood and allowed), Healthy (the one to alert on),
	// Late, Paused and Completed.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The next scheduled times that will start if nothing else happens. Empty
	// while suspended or paused.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Next []NextTime `json:"next,omitempty"`

	// The latest scheduled time that has started.
	//
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// When the newest attempt was started.
	//
	// +optional
	LastStartTime *metav1.Time `json:"lastStartTime,omitempty"`

	// When the newest success ended.
	//
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`

	// The latest scheduled time whose run has succeeded.
	//
	// +optional
	LastSuccessScheduledTime *metav1.Time `json:"lastSuccessScheduledTime,omitempty"`

	// When the newest failure ended.
	//
	// +optional
	LastFailureTime *metav1.Time `json:"lastFailureTime,omitempty"`

	// The latest scheduled time that was missed.
	//
	// +optional
	LastMissedTime *metav1.Time `json:"lastMissedTime,omitempty"`

	// When that miss was recorded.
	//
	// +optional
	MissRecordedTime *metav1.Time `json:"missRecordedTime,omitempty"`

	// How many scheduled runs in a row have failed. Only a success sets it to 0.
	//
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`

	// How many runs in a row were stopped for their successor.
	//
	// +optional
	ConsecutiveReplaced int32 `json:"consecutiveReplaced,omitempty"`

	// How many runs have begun and not ended.
	//
	// +optional
	ActiveCount int32 `json:"activeCount,omitempty"`

	// How many scheduled times wait.
	//
	// +optional
	WaitingCount int32 `json:"waitingCount,omitempty"`

	// What became of all scheduled times so far, in numbers.
	//
	// +optional
	Counts Counts `json:"counts,omitzero"`

	// The runs that have begun and have no result.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Active []ActiveRun `json:"active,omitempty"`

	// The scheduled times that are due and wait to start.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Waiting []WaitingTime `json:"waiting,omitempty"`

	// The results, newest first, as many as spec.history.ledger says. Skipped and
	// missed times that follow each other for the same reason share an entry.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Ledger []LedgerEntry `json:"ledger,omitempty"`

	// The scheduled time up to which all are decided: they have a result, are
	// active, or wait.
	//
	// +optional
	Cursor *metav1.Time `json:"cursor,omitempty"`

	// The timing that was served last: by it an edit of the schedule is noticed.
	//
	// +optional
	Timing *Timing `json:"timing,omitempty"`

	// Which template the API server has been asked about last: a fingerprint of
	// 16 hexadecimal digits.
	//
	// +optional
	CheckedTemplate string `json:"checkedTemplate,omitempty"`

	// What is remembered of the pause that there is or was.
	//
	// +optional
	Pause *Pause `json:"pause,omitempty"`
}

// NextTime is a scheduled time that is to come.
type NextTime struct {
	// The scheduled time.
	//
	// +required
	Time metav1.Time `json:"time"`

	// When its run starts, if jitter moves it.
	//
	// +optional
	StartsAt *metav1.Time `json:"startsAt,omitempty"`

	// The names of the schedules that name it, if the spec has several.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Schedules []string `json:"schedules,omitempty"`
}

// Counts are numbers of scheduled times. Each is counted once as started,
// skipped or missed, and each that started once more by its result.
type Counts struct {
	// Times whose run was started.
	//
	// +optional
	Started int64 `json:"started,omitempty"`

	// Runs that succeeded.
	//
	// +optional
	Succeeded int64 `json:"succeeded,omitempty"`

	// Runs whose last attempt failed.
	//
	// +optional
	Failed int64 `json:"failed,omitempty"`

	// Runs that were stopped for their successor or deleted.
	//
	// +optional
	Cancelled int64 `json:"cancelled,omitempty"`

	// Times that did not start because the spec asked for it: excluded,
	// suspended, superseded, edited away.
	//
	// +optional
	Skipped int64 `json:"skipped,omitempty"`

	// Times that should have started and did not.
	//
	// +optional
	Missed int64 `json:"missed,omitempty"`
}

// Trigger says why a run was started.
type Trigger string

// The triggers.
const (
	TriggerSchedule Trigger = "Schedule" // its time came
	TriggerCatchUp  Trigger = "CatchUp"  // its time came while nobody looked
)

// ActiveRun is a run that has begun and has no result.
type ActiveRun struct {
	// The name of the object of its newest attempt.
	//
	// +required
	Name string `json:"name"`

	// The UID of that object; absent between attempts.
	//
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// The API version of that object; absent with kind, for a Job of batch/v1.
	//
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// The kind of that object; absent for a Job of batch/v1.
	//
	// +optional
	Kind string `json:"kind,omitempty"`

	// The scheduled time.
	//
	// +required
	ScheduledTime metav1.Time `json:"scheduledTime"`

	// Why it was started: Schedule or CatchUp.
	//
	// +required
	Trigger Trigger `json:"trigger"`

	// The first schedule that names the time, if the spec has several.
	//
	// +optional
	Schedule string `json:"schedule,omitempty"`

	// The number of its newest attempt, from 1.
	//
	// +required
	Attempt int32 `json:"attempt"`

	// When that attempt was started.
	//
	// +required
	StartTime metav1.Time `json:"startTime"`

	// When its next attempt starts, while it waits for that.
	//
	// +optional
	RetryAt *metav1.Time `json:"retryAt,omitempty"`

	// Why it is being stopped, if it is: Replaced, Timeout or Deleted.
	//
	// +optional
	Stopping string `json:"stopping,omitempty"`
}

// WaitingTime is a scheduled time that is due and waits to start.
type WaitingTime struct {
	// The scheduled time.
	//
	// +required
	ScheduledTime metav1.Time `json:"scheduledTime"`

	// When its run was to start: the scheduled time, moved by jitter.
	//
	// +required
	StartsAt metav1.Time `json:"startsAt"`

	// Why its run will be started: Schedule or CatchUp.
	//
	// +required
	Trigger Trigger `json:"trigger"`

	// What it waits for: Overlap, Stopping, CreateFailed, NameTaken, NotReady or
	// Suspended.
	//
	// +required
	Reason string `json:"reason"`

	// Since when a time has been waiting without interruption; a successor
	// inherits it.
	//
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// What it waits for, in words, for the first ones only.
	//
	// +optional
	Message string `json:"message,omitempty"`
}

// Result is what became of a scheduled time.
type Result string

// The results.
const (
	ResultSucceeded Result = "Succeeded"
	ResultFailed    Result = "Failed"
	ResultCancelled Result = "Cancelled" // stopped for its successor, or deleted
	ResultSkipped   Result = "Skipped"   // not started, as the spec asks
	ResultMissed    Result = "Missed"    // not started, though it should have been
)

// LedgerEntry is the result of a scheduled time, or of several that follow
// each other with the same result and reason.
type LedgerEntry struct {
	// The scheduled time, the first one if there are several.
	//
	// +required
	ScheduledTime metav1.Time `json:"scheduledTime"`

	// The last scheduled time, if there are several.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// How many scheduled times there are; absent: 1.
	//
	// +optional
	Count int32 `json:"count,omitempty"`

	// Why the run was started: Schedule or CatchUp.
	//
	// +optional
	Trigger Trigger `json:"trigger,omitempty"`

	// The first schedule that names the time, if the spec has several.
	//
	// +optional
	Schedule string `json:"schedule,omitempty"`

	// What became of it: Succeeded, Failed, Cancelled, Skipped (as the spec asks)
	// or Missed (which should not be).
	//
	// +required
	Result Result `json:"result"`

	// Why, such as RunFailed, Timeout, Replaced, Suspended, Excluded, Superseded,
	// Outage or Deadline.
	//
	// +optional
	Reason string `json:"reason,omitempty"`

	// The name of the object of its newest attempt.
	//
	// +optional
	Run string `json:"run,omitempty"`

	// How many attempts there were; absent: 1.
	//
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// When the first of its attempts was started that was still there at its end.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// When it ended.
	//
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// Why, in words.
	//
	// +optional
	Message string `json:"message,omitempty"`
}

// Timing is the timing that was served last.
type Timing struct {
	// A fingerprint of schedules, time zone, dst, window, exclusions and
	// Calendars: 16 hexadecimal digits.
	//
	// +required
	Fingerprint string `json:"fingerprint"`

	// Since when it has been served.
	//
	// +required
	Since metav1.Time `json:"since"`
}

// Pause is what is remembered of the pause that there is or was.
type Pause struct {
	// Since when spec.pauseAfterFailures keeps scheduled times from starting;
	// absent if it does not.
	//
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// The generation of the spec at which that began: another one ends it.
	//
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// The value of the annotation carillon.dev/resume at which that began:
	// another one ends it.
	//
	// +optional
	ResumeToken string `json:"resumeToken,omitempty"`

	// How many of consecutiveFailures do not count any more for
	// spec.pauseAfterFailures, because a pause has ended since.
	//
	// +optional
	Base int32 `json:"base,omitempty"`

	// The spec.suspendUntil that was served last.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}
