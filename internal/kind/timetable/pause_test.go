// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
)

// What a status says of a pause is what is read from it again: the cause from the condition, the rest from
// status.pause.
func TestPauseIsReadAsWritten(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 31, 0, 0, time.UTC)
	for name, p := range map[string]cron.Pause{
		"none":                       {},
		"suspended":                  {Cause: cron.PauseSuspended},
		"suspended until":            {Cause: cron.PauseSuspendedUntil, Until: &at},
		"failures":                   {Cause: cron.PauseFailures, Since: &at, Generation: 3, ResumeToken: "a"},
		"suspended, and failures":    {Cause: cron.PauseSuspended, Since: &at, Generation: 3},
		"one that ended, and a base": {Base: 3},
	} {
		t.Run(name, func(t *testing.T) {
			memory := &cron.Memory{Outlook: &cron.Outlook{Pause: p}}
			status := &v1alpha1.TimetableStatus{Conditions: conditions(nil, cron.Facts{Now: at.Add(-time.Second), Policy: &cron.Policy{}, Memory: memory})}
			setStatusKeepingConditions(status, memory)
			if diff := cmp.Diff(p, readPause(status)); diff != "" {
				t.Error(diff)
			}
			if empty := status.Pause == nil; empty != (p.Base == 0 && p.Since == nil && p.Until == nil) {
				t.Errorf("status.pause is %+v", status.Pause)
			}
		})
	}
}

func setStatusKeepingConditions(s *v1alpha1.TimetableStatus, m *cron.Memory) {
	kept := s.Conditions
	setStatus(s, m)
	s.Conditions = kept
}

// Scheduled times wait only for what keeps them from starting.
func TestNotReadyIsReadFromTheCondition(t *testing.T) {
	for reason, want := range map[Reason]bool{CalendarNotFound: true, InvalidTemplate: true, TemplateRejected: false} {
		status := &v1alpha1.TimetableStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(reason)}}}
		if got := readNotReady(status); got != want {
			t.Errorf("%s: %v", reason, got)
		}
	}
	ready := &v1alpha1.TimetableStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Accepted"}}}
	if readNotReady(ready) || readNotReady(&v1alpha1.TimetableStatus{}) {
		t.Error("not ready although nothing says so")
	}
}

// A suspension until a fraction of a second ends at the whole one that follows: a status holds no fractions.
func TestWholeSecond(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC)
	for _, c := range []struct{ given, want time.Time }{{at, at}, {at.Add(1), at.Add(time.Second)}, {at.Add(-1), at}} {
		if got := wholeSecond(c.given); !got.Equal(c.want) {
			t.Errorf("%v: %v", c.given, got)
		}
	}
}
