// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/schedule"
)

// AnnotationTimetable is the annotation of ours on a CronJob that remembers which schedule and time zone it was last
// served with, and since when (cronjob.md B2).
const AnnotationTimetable = "carillon.dev/timetable"

// servedSchedule is the value of the annotation.
type servedSchedule struct {
	Schedules []string `json:"schedules"`
	TimeZone  string   `json:"timeZone,omitempty"`
	// Since is when it replaced another one; absent when it is the first that we know of.
	Since *time.Time `json:"since,omitempty"`
	// Presumed: nobody saw a change, but there may have been one, until Since at the latest.
	Presumed bool `json:"presumed,omitempty"`
	// Missed is the latest scheduled time that is known to have been missed and was reported (missed.go); absent when
	// lastScheduleTime is later.
	Missed *time.Time `json:"missed,omitempty"`
}

// scheduleOf is the schedule that a spec asks for.
func scheduleOf(spec Spec) servedSchedule {
	t := servedSchedule{Schedules: spec.Schedules}
	if spec.TimeZone != nil {
		t.TimeZone = *spec.TimeZone
	}
	return t
}

// same tells whether both name the same scheduled times.
func (t servedSchedule) same(other servedSchedule) bool {
	return slices.Equal(t.Schedules, other.Schedules) && t.TimeZone == other.TimeZone
}

// equal tells whether both would be written the same way.
func (t servedSchedule) equal(other servedSchedule) bool {
	return t.same(other) && t.Presumed == other.Presumed && sameTime(t.Since, other.Since) && sameTime(t.Missed, other.Missed)
}

// text is the annotation's value, "" if it cannot be written (a year beyond 9999).
func (t servedSchedule) text() string {
	data, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return string(data)
}

// parseSchedule reads what text wrote; anything else is as good as nothing.
func parseSchedule(text string) (t servedSchedule, ok bool) {
	if text == "" || json.Unmarshal([]byte(text), &t) != nil {
		return servedSchedule{}, false
	}
	return t, len(t.Schedules) > 0
}

// edit says whether the schedule was changed, and what to remember of that.
type edit struct {
	// since: scheduled times up to and including this one belong to an older schedule and start nothing.
	since time.Time
	// after: the change was made no earlier than this. Scheduled times of the present schedule from here to since may
	// have been meant, and start nothing all the same; they are reported as missed.
	after time.Time
	// fresh: this sync is the first to see the change. before is what was served until then, if that is known.
	fresh  bool
	before *servedSchedule
	// now is the present schedule, with the misses that were reported before; stored is the one in the annotation.
	now       servedSchedule
	stored    servedSchedule
	hasStored bool
	// malformed: the annotation is there and tells nothing.
	malformed bool
}

// maxLead is how far a remembered edit may lie in the future and still be believed: a clock that was set back has
// such an edit, and so has garbage, which must not silence a CronJob for ever.
const maxLead = 24 * time.Hour

// noticeEdit compares the schedule with the one that was served before: in this process (Input.Carry), or according to
// the annotation. Nobody who edits a schedule means a time that has already passed (cronjob.md B2, users of
// kubernetes#63371), so times up to the edit start nothing.
//
// When the edit was made: one that is seen while this process runs was made now. One that is found after a restart is
// dated by managed fields, if they can tell. They are true to the second where a manager set the value that is there:
// its entry moves forward with every change that it makes. But the entry of a manager that gives up the only field it
// owned vanishes, and what is left tells of earlier changes only. So the date must be later than anything that was
// recorded under the former schedule, and a time zone that is gone has none; then the edit was made now, too. What may
// be passed over by that is reported (edit.after).
//
// Without any memory, a CronJob whose spec was changed at some time may have had another schedule. Then a
// lastScheduleTime at which today's schedule does not fire proves it; failing that, whatever managed fields say about
// the last change counts as one, as a precaution. That is so once in the life of a CronJob: the first record of its
// status has the schedule.
func noticeEdit(in Input) edit {
	now := scheduleOf(in.Spec)
	before := in.Carry.schedule
	carried := len(before.Schedules) > 0
	var e edit
	e.stored, e.hasStored = parseSchedule(in.StoredStatus.Timetable)
	e.malformed = in.StoredStatus.Timetable != "" && !e.hasStored
	for _, t := range []servedSchedule{e.stored, before} {
		if t.Since != nil && t.Since.After(e.since) && t.Since.Sub(in.Now) <= maxLead {
			e.since = *t.Since
		}
		if t.Missed != nil && (now.Missed == nil || t.Missed.After(*now.Missed)) {
			now.Missed = t.Missed
		}
	}
	recorded := maxTime(baseOf(in, in.StoredStatus), e.since) // the former schedule was in force until then at least
	if !carried {
		before = e.stored
	}
	unchangedSince := in.Owner.ScheduleUnchangedSince
	if unchangedSince.After(in.Now) { // by a clock that has been set back since, or that is ahead of ours
		unchangedSince = in.Now
	}
	known := carried || e.hasStored
	switch {
	case known && before.same(now):
		now.Presumed = before.Presumed
	case carried:
		e.fresh, e.before = true, new(before)
		e.since = maxTime(e.since, in.Now)
		e.after = e.since
		if unchangedSince.Unix() > in.Carry.scheduleUnchangedSince && unchangedSince.Before(e.since) {
			e.after = unchangedSince
		}
	case known, in.Owner.Generation > 1 && offSchedule(in):
		e.fresh = true
		zoneGone := known && before.TimeZone != "" && now.TimeZone == ""
		if known {
			e.before = new(before)
		}
		if unchangedSince.After(recorded) && !zoneGone {
			e.since = maxTime(e.since, unchangedSince)
			e.after = e.since
		} else {
			e.since = maxTime(e.since, in.Now)
			e.after = recorded
		}
	case in.Owner.Generation > 1 && !unchangedSince.IsZero():
		now.Presumed = true
		e.since, e.after = unchangedSince, recorded
	}
	if !e.since.IsZero() {
		since := e.since.UTC()
		now.Since = &since
	}
	e.now = now
	return e
}

// withMissed is the schedule with the latest miss that is reported; the zero time is none that is new.
func (t servedSchedule) withMissed(missedUpto time.Time) servedSchedule {
	if !missedUpto.IsZero() {
		t.Missed = &missedUpto
	}
	return t
}

// asStored is the schedule as the annotation is to have it beside that status.
func (t servedSchedule) asStored(status Status) servedSchedule {
	if t.Missed != nil && status.LastSchedule != nil && !t.Missed.After(*status.LastSchedule) {
		t.Missed = nil
	}
	return t
}

// needsWrite tells whether t has to be written for its own sake: it tells of an edit, or of misses that nothing else
// tells of. Otherwise writing it is worth it only with a write that is made anyway.
func (e edit) needsWrite(t servedSchedule) bool {
	if t.equal(e.stored) {
		return false
	}
	if t.Missed != nil && (e.stored.Missed == nil || t.Missed.After(*e.stored.Missed)) {
		return true
	}
	return t.Since != nil && !t.Presumed && (!t.same(e.stored) || !sameTime(t.Since, e.stored.Since))
}

// calendarOf reads a schedule that was served, as far as that is possible.
func calendarOf(in Input, t *servedSchedule) calendar {
	if t == nil {
		return nil
	}
	spec := in
	spec.Spec.Schedules, spec.Spec.TimeZone = t.Schedules, nil
	if t.TimeZone != "" {
		spec.Spec.TimeZone = &t.TimeZone
	}
	zone, err := zoneOf(spec)
	if err != nil {
		return nil
	}
	var c calendar
	for _, text := range t.Schedules {
		if s, err := schedule.Parse(text, zoneFor(in, text, zone)); err == nil && s.Satisfiable() {
			c = append(c, s)
		}
	}
	return c
}

// offSchedule tells whether lastScheduleTime is no scheduled time of the present schedule. It says no when it cannot
// know: nothing recorded, a schedule that does not parse, or one without a grid of its own.
func offSchedule(in Input) bool {
	last := in.StoredStatus.LastSchedule
	if last == nil || last.IsZero() {
		return false
	}
	zone, err := zoneOf(in)
	if err != nil {
		return false
	}
	for _, text := range in.Spec.Schedules {
		s, err := schedule.Parse(text, zoneFor(in, text, zone))
		if err != nil {
			return false
		}
		if _, every := s.Every(); every || s.LastBetween(last.Add(-time.Second), *last).Equal(*last) {
			return false
		}
	}
	return len(in.Spec.Schedules) > 0
}
