// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// memory reads what a status remembers. now is the timing that the spec asks for.
func memory(tt *Object, now cron.Timing) cron.Memory {
	s := &tt.Status
	m := cron.Memory{
		LastSchedule:   adapter.Time(s.LastScheduleTime),
		LastSuccessful: adapter.Time(s.LastSuccessfulTime),
		Conditions:     s.Conditions,
		Cursor:         adapter.Time(s.Cursor),
		Results: &cron.Results{
			Counts: cron.Counts(s.Counts),
			Last: cron.LastResults{
				SuccessScheduled: adapter.Time(s.LastSuccessScheduledTime), Failure: adapter.Time(s.LastFailureTime),
				Missed: adapter.Time(s.LastMissedTime), MissRecorded: adapter.Time(s.MissRecordedTime),
				Failures: int(s.ConsecutiveFailures), Replaced: int(s.ConsecutiveReplaced),
			},
		},
	}
	m.Outlook = &cron.Outlook{Pause: readPause(s), NotReady: readNotReady(s), Template: readTemplateCheck(s)}
	m.Outlook.Next = slices.Grow(m.Outlook.Next, len(s.Next))
	for i := range s.Next {
		m.Outlook.Next = append(m.Outlook.Next, s.Next[i].Time.Time)
	}
	for i := range s.Active {
		m.Active = append(m.Active, activeRun(tt, &s.Active[i]))
	}
	for _, w := range s.Waiting {
		m.Waiting = append(m.Waiting, cron.WaitingTime{Time: w.ScheduledTime.Time, Trigger: cron.Trigger(w.Trigger),
			Reason: readReason(w.Reason), Since: adapter.Time(w.Since)})
	}
	m.Results.Ledger = slices.Grow(m.Results.Ledger, len(s.Ledger))
	for i := range s.Ledger {
		m.Results.Ledger = append(m.Results.Ledger, ledgerOutcome(&s.Ledger[i]))
	}
	if t := s.Timing; t != nil {
		m.Timing.Fingerprint = t.Fingerprint
		if t.Since.After(tt.CreationTimestamp.Time) { // else it is the first one
			m.Timing.Since = new(t.Since.Time)
		}
		if t.Fingerprint == now.Fingerprint {
			m.Timing.ZoneName, m.Timing.Times = now.ZoneName, now.Times
		}
	}
	return m
}

// activeRun reads a run. The kind of its child is its own, and not that of the template, which may have been edited
// since.
func activeRun(tt *Object, a *v1alpha1.ActiveRun) cron.ActiveRun {
	apiVersion, kind := runKind(a)
	return cron.ActiveRun{
		ObjectReference: corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: tt.Namespace, Name: a.Name, UID: a.UID},
		Time:            a.ScheduledTime.Time,
		Trigger:         cron.Trigger(a.Trigger),
		Attempt:         int(a.Attempt),
		Started:         a.StartTime.Time,
		RetryAt:         adapter.Time(a.RetryAt),
		Stopping:        readReason(a.Stopping),
	}
}

// runKind is the kind of the child of a run: a status names it unless it is a Job of batch/v1.
func runKind(a *v1alpha1.ActiveRun) (apiVersion, kind string) {
	return templateKind(&v1alpha1.RunTemplate{APIVersion: a.APIVersion, Kind: a.Kind})
}

func ledgerOutcome(e *v1alpha1.LedgerEntry) cron.RunOutcome {
	o := cron.RunOutcome{Result: results[e.Result], Reason: readReason(e.Reason), Count: int(max(e.Count, 1)),
		First: e.ScheduledTime.Time, Last: e.ScheduledTime.Time,
		Trigger: cron.Trigger(e.Trigger), Run: e.Run, Attempts: int(e.Attempts), Started: adapter.Time(e.StartTime), Ended: adapter.Time(e.EndTime)}
	if e.Until != nil {
		o.Last = e.Until.Time
	}
	return o
}

// setStatus writes what is remembered into a status. What a Memory does not have is not touched.
func setStatus(s *v1alpha1.TimetableStatus, m *cron.Memory) {
	setSummary(s, m)
	s.Conditions = m.Conditions
	s.Active = slices.Grow([]v1alpha1.ActiveRun(nil), len(m.Active))
	for i := range m.Active {
		r := &m.Active[i]
		run := v1alpha1.ActiveRun{Name: r.Name, UID: r.UID, ScheduledTime: metav1.NewTime(r.Time), Trigger: v1alpha1.Trigger(r.Trigger),
			Attempt: int32(max(r.Attempt, 1)), StartTime: metav1.NewTime(r.Started), RetryAt: apiTime(r.RetryAt), Stopping: writtenReason(r.Stopping)}
		if apiVersion, kind := templateKind(&v1alpha1.RunTemplate{}); r.APIVersion != apiVersion || r.Kind != kind {
			run.APIVersion, run.Kind = r.APIVersion, r.Kind
		}
		s.Active = append(s.Active, run)
	}
	s.Ledger = nil
	if r := m.Results; r != nil {
		s.Ledger = slices.Grow(s.Ledger, len(r.Ledger))
		for i := range r.Ledger {
			s.Ledger = append(s.Ledger, ledgerEntry(&r.Ledger[i]))
		}
	}
}

// setSummary writes what is remembered but for conditions, active runs and ledger: what conditions follow from.
func setSummary(s *v1alpha1.TimetableStatus, m *cron.Memory) {
	s.LastScheduleTime, s.LastSuccessfulTime, s.Cursor = apiTime(m.LastSchedule), apiTime(m.LastSuccessful), apiTime(m.Cursor)
	if o := m.Outlook; o != nil {
		s.Pause, s.CheckedTemplate = writtenPause(&o.Pause), o.Template.Template
	}
	s.Waiting = slices.Grow([]v1alpha1.WaitingTime(nil), len(m.Waiting))
	for _, w := range m.Waiting {
		s.Waiting = append(s.Waiting, v1alpha1.WaitingTime{ScheduledTime: metav1.NewTime(w.Time), StartsAt: metav1.NewTime(w.Time),
			Trigger: v1alpha1.Trigger(w.Trigger), Reason: writtenReason(w.Reason), Since: apiTime(w.Since), Message: w.Message})
	}
	s.ActiveCount, s.WaitingCount = int32(len(m.Active)), int32(len(m.Waiting))
	if r := m.Results; r != nil {
		s.Counts = v1alpha1.Counts(r.Counts)
		s.LastSuccessScheduledTime, s.LastFailureTime = apiTime(r.Last.SuccessScheduled), apiTime(r.Last.Failure)
		s.LastMissedTime, s.MissRecordedTime = apiTime(r.Last.Missed), apiTime(r.Last.MissRecorded)
		s.ConsecutiveFailures, s.ConsecutiveReplaced = int32(r.Last.Failures), int32(r.Last.Replaced)
	}
}

func ledgerEntry(o *cron.RunOutcome) v1alpha1.LedgerEntry {
	e := v1alpha1.LedgerEntry{ScheduledTime: metav1.NewTime(o.First), Trigger: v1alpha1.Trigger(o.Trigger), Result: writtenResults[o.Result],
		Reason: writtenReason(o.Reason), Run: o.Run, StartTime: apiTime(o.Started), EndTime: apiTime(o.Ended)}
	if o.Count > 1 {
		e.Count, e.Until = int32(min(o.Count, maxCount)), new(metav1.NewTime(o.Last))
	}
	if o.WaitedFor != "" && o.WaitedFor != o.Reason {
		e.Message = "waited: " + writtenReason(o.WaitedFor)
	}
	if o.Attempts > 1 {
		e.Attempts = int32(o.Attempts)
	}
	return e
}

func apiTime(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return new(metav1.NewTime(t.UTC().Truncate(time.Second)))
}
