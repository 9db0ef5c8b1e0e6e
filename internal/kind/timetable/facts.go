// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// conditions are status.conditions at the end of a pass.
func conditions(stored []metav1.Condition, f cron.Facts) []metav1.Condition {
	status := &v1alpha1.TimetableStatus{}
	setSummary(status, f.Memory)
	pause := f.Memory.Pause()
	facts := &Facts{
		Now:         f.Now,
		Generation:  f.Generation,
		Obstacle:    obstacleOf(f.Obstacle),
		LateAfter:   f.Policy.LateAfter,
		Suspended:   pause.Cause == cron.PauseSuspended,
		Failures:    pause.Cause == cron.PauseFailures,
		NoMoreTimes: noMoreTimes(f.Policy.Timing.Times, f.Memory.Cursor),
		Status:      status,

		PauseAfterFailures: int32(f.Policy.PauseAfterFailures),
	}
	if o := f.Memory.Outlook; o != nil {
		facts.LeftOut = o.Template.LeftOut
	}
	if pause.Cause == cron.PauseSuspendedUntil && pause.Until != nil {
		facts.SuspendedUntil = *pause.Until
	}
	return Conditions(stored, facts)
}

// noMoreTimes tells whether all times are decided that there ever will be.
func noMoreTimes(times cron.Times, cursor *time.Time) bool {
	set, ok := times.(*timeset.Set)
	if !ok || cursor == nil {
		return false
	}
	_, end := set.Search(*cursor)
	return end == timeset.NoMoreTimes
}
