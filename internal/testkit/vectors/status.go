// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// WorstTimetableStatus has as much of everything as the contract allows, in its longest words.
func WorstTimetableStatus(instant time.Time) *v1alpha1.TimetableStatus {
	now := metav1.NewTime(instant)
	name := strings.Repeat("n", 58)
	schedule := strings.Repeat("s", 32)
	message := strings.Repeat("m", 126) // with its quotes 128 bytes
	fingerprint := strings.Repeat("0", 16)
	status := &v1alpha1.TimetableStatus{
		ObservedGeneration: 1 << 40,
		LastScheduleTime:   &now, LastStartTime: &now, LastSuccessfulTime: &now, LastSuccessScheduledTime: &now,
		LastFailureTime: &now, LastMissedTime: &now, MissRecordedTime: &now, Cursor: &now,
		ConsecutiveFailures: 1 << 30, ConsecutiveReplaced: 1 << 30, ActiveCount: 100, WaitingCount: 200,
		Counts:          v1alpha1.Counts{Started: 1 << 40, Succeeded: 1 << 40, Failed: 1 << 40, Cancelled: 1 << 40, Skipped: 1 << 40, Missed: 1 << 40},
		Timing:          &v1alpha1.Timing{Fingerprint: fingerprint, Since: now},
		CheckedTemplate: fingerprint,
		Pause:           &v1alpha1.Pause{Since: &now, Generation: 1 << 40, ResumeToken: strings.Repeat("r", 64), Base: 1 << 30, Until: &now},
	}
	for _, condition := range []string{"Ready", "Healthy", "Late", "Paused", "Completed"} {
		status.Conditions = append(status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionUnknown, ObservedGeneration: 1 << 40,
			LastTransitionTime: now, Reason: "InvalidParameter", Message: strings.Repeat("m", 510)})
	}
	for range 5 {
		next := v1alpha1.NextTime{Time: now, StartsAt: &now}
		for range 16 {
			next.Schedules = append(next.Schedules, schedule)
		}
		status.Next = append(status.Next, next)
	}
	for range 100 {
		status.Active = append(status.Active, v1alpha1.ActiveRun{Name: name, UID: types.UID(strings.Repeat("u", 36)), ScheduledTime: now,
			APIVersion: strings.Repeat("g", 253) + "/v1" + strings.Repeat("1", 19), Kind: strings.Repeat("K", 63),
			Trigger: v1alpha1.TriggerSchedule, Schedule: schedule, Attempt: 11, StartTime: now, RetryAt: &now, Stopping: "Replaced"})
		status.Ledger = append(status.Ledger, v1alpha1.LedgerEntry{ScheduledTime: now, Until: &now, Count: 1 << 30, Trigger: v1alpha1.TriggerSchedule,
			Schedule: schedule, Result: v1alpha1.ResultCancelled, Reason: "CreateFailed", Run: name, Attempts: 11, StartTime: &now, EndTime: &now, Message: message})
	}
	for i := range 200 {
		waiting := v1alpha1.WaitingTime{ScheduledTime: now, StartsAt: now, Trigger: v1alpha1.TriggerSchedule, Reason: "CreateFailed", Since: &now}
		if i < 10 {
			waiting.Message = message
		}
		status.Waiting = append(status.Waiting, waiting)
	}
	return status
}
