// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Patches implements adapter.Kind: one patch of the status.
func (k Kind) Patches(obj adapter.Object, record cron.StatusWrite) ([]adapter.CronJobPatch, error) {
	tt, ok := k.object(obj)
	if !ok {
		return nil, adapter.Wrong(info, tt, obj)
	}
	patch, err := StatusPatch(tt, &tt.Status, newStatus(tt, &record))
	if err != nil || patch == nil {
		return nil, err
	}
	return []adapter.CronJobPatch{{Subresource: "status", Type: types.MergePatchType, Data: patch}}, nil
}

// newStatus is the status that a record makes of a Timetable's: what decisions remember, and what follows from it.
func newStatus(tt *Object, record *cron.StatusWrite) *v1alpha1.TimetableStatus {
	kept := tt.Status
	kept.Conditions, kept.Active, kept.Waiting, kept.Ledger = nil, nil, nil, nil // those are written anew
	after := kept.DeepCopy()
	after.ObservedGeneration = tt.Generation
	setStatus(after, &record.Memory)
	if t := record.Memory.Timing; t.Fingerprint != "" {
		after.Timing = &v1alpha1.Timing{Fingerprint: t.Fingerprint, Since: tt.CreationTimestamp}
		if t.Since != nil {
			after.Timing.Since = *apiTime(t.Since)
		}
	}
	set, _ := record.Times.(*timeset.Set)
	d := details{before: &tt.Status, set: set, several: len(tt.Spec.Schedules) > 1}
	for i := range after.Active {
		d.ofActive(&after.Active[i])
		after.LastStartTime = latest(after.LastStartTime, &after.Active[i].StartTime)
	}
	for i := range after.Waiting {
		d.ofWaiting(&after.Waiting[i], after.Active)
	}
	for i := range after.Ledger {
		d.ofEntry(&after.Ledger[i])
		after.LastStartTime = latest(after.LastStartTime, after.Ledger[i].StartTime)
		if results := record.Memory.Results; results != nil && i < len(results.Ledger) {
			after.LastStartTime = latest(after.LastStartTime, apiTime(results.Ledger[i].LastStarted))
		}
	}
	switch cause := record.Memory.Pause().Cause; {
	case record.Undecided:
	case cause == cron.PauseSuspended, cause == cron.PauseFailures:
		after.Next = nil
	case set != nil:
		after.Next = nextTimes(tt, set, record, d.several)
	}
	Limit(after)
	if slices.EqualFunc(tt.Status.Ledger, after.Ledger, sameEntry) {
		after.Ledger = tt.Status.Ledger // which is the longest part: it is not looked at again
	}
	return after
}

// sameEntry tells whether both say the same, whatever the zone of their times.
func sameEntry(a, b v1alpha1.LedgerEntry) bool {
	if a.ScheduledTime.Equal(&b.ScheduledTime) {
		b.ScheduledTime = a.ScheduledTime
	}
	for _, at := range []struct{ a, b **metav1.Time }{{&a.Until, &b.Until}, {&a.StartTime, &b.StartTime}, {&a.EndTime, &b.EndTime}} {
		if (*at.a).Equal(*at.b) {
			*at.b = *at.a
		}
	}
	return a == b
}

// latest is the later of two times; nil is none.
func latest(a, b *metav1.Time) *metav1.Time {
	if a == nil || b != nil && a.Before(b) {
		return b.DeepCopy()
	}
	return a
}

// nextTimes are the times that are to come as a record leaves them.
func nextTimes(tt *Object, set *timeset.Set, record *cron.StatusWrite, several bool) []v1alpha1.NextTime {
	m := &record.Memory
	up := Upcoming{Now: record.Now, Several: several}
	if m.Cursor != nil {
		up.Cursor = *m.Cursor
	}
	if until := tt.Spec.SuspendUntil; until != nil {
		up.SuspendedUntil = until.Time
	}
	up.Decided = func(t time.Time) bool {
		return slices.ContainsFunc(m.Active, func(r cron.ActiveRun) bool { return r.Time.Equal(t) }) ||
			slices.ContainsFunc(m.Waiting, func(w cron.WaitingTime) bool { return w.Time.Equal(t) })
	}
	return NextTimes(set, up)
}

// details are what a status says of runs and times beyond what decisions remember: it follows from the timing, or was
// said before.
type details struct {
	before  *v1alpha1.TimetableStatus
	set     *timeset.Set
	several bool
}

// schedule is the first name of the schedules that name a time, "" if there is only one schedule.
func (d *details) schedule(at metav1.Time) string {
	if !d.several || d.set == nil {
		return ""
	}
	names := d.set.Names(at.Time)
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func (d *details) ofActive(a *v1alpha1.ActiveRun) {
	for _, was := range d.before.Active {
		if was.ScheduledTime.Equal(&a.ScheduledTime) {
			a.Schedule = was.Schedule
			return
		}
	}
	a.Schedule = d.schedule(a.ScheduledTime)
}

func (d *details) ofWaiting(w *v1alpha1.WaitingTime, active []v1alpha1.ActiveRun) {
	for _, was := range d.before.Waiting {
		if was.ScheduledTime.Equal(&w.ScheduledTime) {
			w.StartsAt = was.StartsAt
			if was.Reason == w.Reason && w.Message == "" {
				w.Message = was.Message
			}
		}
	}
	if d.set != nil {
		w.StartsAt = metav1.NewTime(d.set.PlannedStart(w.ScheduledTime.Time))
	}
	if w.Reason == "Overlap" {
		names := make([]string, 0, len(active))
		for _, a := range active {
			names = append(names, a.Name)
		}
		w.Message = "active: " + cmp.Or(strings.Join(names, ", "), "runs that this Timetable did not start")
	}
}

func (d *details) ofEntry(e *v1alpha1.LedgerEntry) {
	same := func(was v1alpha1.LedgerEntry) bool {
		return was.ScheduledTime.Equal(&e.ScheduledTime) && was.Result == e.Result && was.Reason == e.Reason && was.Run == e.Run
	}
	if i := slices.IndexFunc(d.before.Ledger, same); i >= 0 {
		e.Schedule, e.Message = d.before.Ledger[i].Schedule, d.before.Ledger[i].Message
	} else {
		e.Schedule = d.schedule(e.ScheduledTime)
	}
	if e.Count > 1 { // what only some of its times have it does not say
		e.Schedule = ""
	}
}
