// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// readPause reads the pause that a status tells of: its cause is the reason of the condition Paused.
func readPause(s *v1alpha1.TimetableStatus) cron.Pause {
	var p cron.Pause
	if was := s.Pause; was != nil {
		p = cron.Pause{Since: adapter.Time(was.Since), Generation: was.Generation, ResumeToken: was.ResumeToken, Base: int(was.Base),
			Until: adapter.Time(was.Until)}
	}
	switch c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionPaused); {
	case c == nil:
		p.Cause = lostCause(s, &p)
	case c.Status == metav1.ConditionTrue:
		p.Cause = cron.PauseCause(c.Reason)
	}
	return p
}

// lostCause is the cause of a pause whose condition somebody has erased, as far as the rest of the status tells: what
// passed in a pause is not to start because of that. A status without next times is that of a suspended Timetable, or
// of one that has no more times, which nothing can be started for.
func lostCause(s *v1alpha1.TimetableStatus, p *cron.Pause) cron.PauseCause {
	switch {
	case p.Until != nil:
		return cron.PauseSuspendedUntil
	case p.Since != nil:
		return cron.PauseFailures
	case s.Cursor != nil && len(s.Next) == 0:
		return cron.PauseSuspended
	}
	return ""
}

// writtenPause is the pause as a status holds it beside the condition; nil if there is nothing to hold.
func writtenPause(p *cron.Pause) *v1alpha1.Pause {
	w := v1alpha1.Pause{Since: apiTime(p.Since), Generation: p.Generation, ResumeToken: p.ResumeToken, Base: int32(p.Base), Until: apiTime(p.Until)}
	if w == (v1alpha1.Pause{}) {
		return nil
	}
	return &w
}

// readNotReady tells whether the spec could not be served so that scheduled times waited.
func readNotReady(s *v1alpha1.TimetableStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionFalse && Reason(c.Reason).Stops() != StopsNothing
}
