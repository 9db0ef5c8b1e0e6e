// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// explainUnscheduled is about a time that the schedule, as it is now, does not name.
func (b *builder) explainUnscheduled(at At) {
	b.neighbours(at.From)
	if b.explainByFormerSchedule(at) {
		return
	}
	if t, ok := b.excludedIn(at); ok {
		b.explainExcluded(t)
		return
	}
	if t, ok := b.outsideWindow(at); ok {
		b.explainWindow(t)
		return
	}
	if r := b.handmadeIn(at); r != nil {
		b.conclude(RanByHand, "Manual", "%s was started by hand at %s", r.by(), b.clock(r.Created))
		b.answer.Run = r.facts()
		b.describe(r)
		b.tellEnd(r)
		b.beside()
		return
	}
	why := ""
	if at.Skipped {
		why = "clocks jump over it; "
	}
	b.conclude(NotScheduled, "", "%s%s", why, b.besideText())
	b.show("schedule", time.Time{}, "%s does not name %s", b.scheduleText(), b.clock(at.From))
	if b.Scheduled.Policy.Timing.Every != 0 {
		b.say("Times of @every follow from the run before them, so past ones are known only by the runs that are kept.")
	}
	b.beside()
	b.startedMeanwhile(at)
	if edit, ok := b.editedAfter(at.From); ok && edit.After(b.Scheduled.Owner.Created.Add(time.Minute)) {
		b.say("The schedule may have been another one then: it was written as it is now at %s at the latest.", b.when(edit))
		b.writtenBy("schedule", "schedules", "timeZone")
	}
	b.next("get "+b.resource()+" -o yaml", "the schedule as it is written")
}

// beside tells the scheduled times beside the one that was asked about.
func (b *builder) beside() {
	if p := b.answer.PreviousTime; p != nil {
		b.say("The scheduled time before it is %s.", b.when(*p))
	}
	if n := b.answer.NextTime; n != nil {
		b.say("The one after it is %s.", b.when(*n))
	} else if b.Scheduled.Policy.Timing.Every == 0 {
		b.say("There is none after it.")
	}
}

func (b *builder) besideText() string {
	p, n := b.answer.PreviousTime, b.answer.NextTime
	switch {
	case p != nil && n != nil:
		return fmt.Sprintf("before it is %s, after it %s", b.clock(*p), b.clock(*n))
	case p != nil:
		return "the last one is " + b.clock(*p)
	case n != nil:
		return "the first one is " + b.clock(*n)
	}
	return "none is known"
}

// explainByFormerSchedule is about a time that has a run or a result although the schedule does not name it any more.
func (b *builder) explainByFormerSchedule(at At) bool {
	formerly := func(t time.Time) {
		b.answer.ScheduledTime = optional(t)
		b.say("The schedule, as it is now, does not name %s: it was another one then.", b.clock(t))
	}
	for i := range b.Runs {
		t := b.Runs[i].ScheduledTime
		if !b.Runs[i].ByHand && !t.IsZero() && !t.Before(at.From) && t.Before(at.Until) {
			formerly(t)
			return b.explainRun(t)
		}
	}
	if tt := b.timetable(); tt != nil {
		if i := entryAt(tt.Status.Ledger, at.From, at.Until); i >= 0 && tt.Status.Ledger[i].Until == nil {
			t := tt.Status.Ledger[i].ScheduledTime.UTC()
			if tt.Status.Ledger[i].Reason != "Excluded" {
				formerly(t)
			}
			b.explainEntry(i, t)
			return true
		}
	}
	return false
}

// startedMeanwhile tells of runs that started in the minute that was asked about, for another time.
func (b *builder) startedMeanwhile(at At) {
	for i := range b.Runs {
		if r := &b.Runs[i]; !r.Created.Before(at.From) && r.Created.Before(at.Until) {
			b.say("%s was started then, for %s.", r.by(), b.clock(r.ScheduledTime))
			b.describe(r)
		}
	}
}

func (b *builder) handmadeIn(at At) *Run {
	for i := range b.Runs {
		if r := &b.Runs[i]; r.ByHand && !r.Created.Before(at.From) && r.Created.Before(at.Until) {
			return r
		}
	}
	return nil
}

// excludedIn is a time that is named and excluded.
func (b *builder) excludedIn(at At) (time.Time, bool) {
	excluded := b.Scheduled.Policy.Timing.Excluded
	if excluded == nil {
		return time.Time{}, false
	}
	t := excluded.Next(at.From.Add(-time.Nanosecond))
	return t.UTC(), !t.IsZero() && t.Before(at.Until)
}

func (b *builder) explainExcluded(t time.Time) {
	b.answer.ScheduledTime = optional(t)
	by := b.excludedBy(t)
	b.conclude(Excluded, "Excluded", "by %s", by)
	b.show("schedule", time.Time{}, "%s names %s", b.scheduleText(), b.clock(t))
	b.show("spec.exclude", time.Time{}, "%s takes it out", by)
	if i := entryAt(b.timetable().Status.Ledger, t, t.Add(time.Nanosecond)); i >= 0 {
		b.show(fmt.Sprintf("status.ledger[%d]", i), t, "%s", b.entryText(&b.timetable().Status.Ledger[i]))
	}
	b.say("It counts as skipped and is never made up for.")
	b.beside()
}

// excludedBy names the exclusion that takes a time out.
func (b *builder) excludedBy(t time.Time) string {
	tt := b.timetable()
	if tt == nil {
		return "an exclusion"
	}
	var calendars []string
	for _, e := range tt.Spec.Exclude {
		switch {
		case e.Calendar != nil:
			calendars = append(calendars, "Calendar "+*e.Calendar)
		case e.Period != nil:
			spec := tt.Spec.DeepCopy()
			spec.Exclude = []v1alpha1.Exclusion{e}
			if times := timesOf(tt, spec); times != nil && times.Excluded != nil && times.Excluded.Next(t.Add(-time.Nanosecond)).Equal(t) {
				return "the period " + string(*e.Period)
			}
		}
	}
	if len(calendars) > 0 {
		return listed(calendars)
	}
	return "an exclusion"
}

// timesOf are the times of a changed spec, without Calendars; nil if it has none.
func timesOf(tt *v1alpha1.Timetable, spec *v1alpha1.TimetableSpec) *cron.Timing {
	timing, obstacle := timetable.Timing(tt, spec, nil, 0)
	if obstacle != nil {
		return nil
	}
	set, obstacle := timetable.Times(timing)
	if obstacle != nil {
		return nil
	}
	times := &cron.Timing{Times: set}
	if excluded := set.Excluded(); excluded != nil {
		times.Excluded = excluded
	}
	return times
}

// outsideWindow is a time that is named, but for spec.window.
func (b *builder) outsideWindow(at At) (time.Time, bool) {
	tt := b.timetable()
	if tt == nil || tt.Spec.Window == nil {
		return time.Time{}, false
	}
	spec := tt.Spec.DeepCopy()
	spec.Window, spec.Exclude = nil, nil
	times := timesOf(tt, spec)
	if times == nil {
		return time.Time{}, false
	}
	t := times.Times.Next(at.From.Add(-time.Nanosecond))
	return t.UTC(), !t.IsZero() && t.Before(at.Until)
}

func (b *builder) explainWindow(t time.Time) {
	b.answer.ScheduledTime = optional(t)
	w := b.timetable().Spec.Window
	switch {
	case w.NotBefore != nil && t.Before(w.NotBefore.Time):
		b.conclude(OutsideWindow, "NotBefore", "spec.window begins %s", b.when(w.NotBefore.Time))
		b.show("spec.window.notBefore", time.Time{}, "%s", b.clock(w.NotBefore.Time))
	case w.NotAfter != nil:
		b.conclude(OutsideWindow, "NotAfter", "spec.window ended %s", b.when(w.NotAfter.Time))
		b.show("spec.window.notAfter", time.Time{}, "%s", b.clock(w.NotAfter.Time))
	default:
		b.conclude(OutsideWindow, "", "spec.window leaves it out")
	}
	b.say("%s would be a scheduled time, but for the window: it is no scheduled time at all, and is counted nowhere.", b.clock(t))
	b.beside()
}

// childCreated is a child of which only its creation is known.
func childCreated(t time.Time) cron.Child { return cron.Child{Created: t} }

func sortedResources(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}
