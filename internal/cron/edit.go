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

// timetable is the value of the annotation.
type timetable struct {
	Schedules []string `json:"schedules"`
	TimeZone  string   `json:"timeZone,omitempty"`
	// Since is when it replaced another one; absent when it is the first that we know of.
	Since *time.Time `json:"since,omitempty"`
	// Presumed: nobody saw a change, but there may have been one, until Since at the latest.
	Presumed bool `json:"presumed,omitempty"`
}

func (t timetable) same(other timetable) bool {
	return slices.Equal(t.Schedules, other.Schedules) && t.TimeZone == other.TimeZone
}

// text is the annotation's value, "" if it cannot be written (a year beyond 9999).
func (t timetable) text() string {
	data, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return string(data)
}

// parseTimetable reads what text wrote; anything else is as good as nothing.
func parseTimetable(text string) (timetable, bool) {
	t := parseMemo(text).timetable
	return t, len(t.Schedules) > 0
}

// edit says whether the schedule was changed, and what to remember of that.
type edit struct {
	// since: scheduled times up to and including this one belong to an older timetable and start nothing.
	since time.Time
	// fresh: this pass is the first to see the change.
	fresh bool
	// now is the present timetable, text the annotation for it.
	now  timetable
	text string
	// due: the annotation has to be written for it; otherwise writing is worth it only if it costs nothing.
	due bool
	// garbage: the annotation is there and tells nothing.
	garbage bool
}

// maxLead is how far a remembered edit may lie in the future and still be believed: a clock that was set back has
// such an edit, and so has garbage, which must not silence a CronJob for ever.
const maxLead = 24 * time.Hour

// noticeEdit compares the timetable with the one that was served before: in this process (Input.Seen), or according to
// the annotation. Nobody who edits a schedule means a time that has already passed (cronjob.md B2, users of
// kubernetes#63371), so times up to the edit start nothing.
//
// When the edit was made: managed fields tell it to the second, and not too early, because a manager's entry moves
// forward with every change that it makes. Without them it is now.
//
// An edit from the future was made by a clock that has been set back since, and counts as made now; unless the CronJob
// was read live, which may be long after Now if the pass was held up.
//
// Without any memory, a CronJob whose spec was changed at some time may have had another schedule. Then a
// lastScheduleTime at which today's schedule does not fire proves it; failing that, whatever managed fields say about
// the last change counts as one, as a precaution that costs no write.
func noticeEdit(in Input) edit {
	now := timetable{Schedules: in.Spec.Schedules}
	if in.Spec.TimeZone != nil {
		now.TimeZone = *in.Spec.TimeZone
	}
	stored, hasStored := parseTimetable(in.State.Timetable)
	before := in.memo.timetable
	hasBefore := len(before.Schedules) > 0

	e := edit{garbage: in.State.Timetable != "" && !hasStored}
	for _, t := range []timetable{stored, before} {
		if t.Since != nil && t.Since.After(e.since) && t.Since.Sub(in.Now) <= maxLead {
			e.since = *t.Since
		}
	}
	if !hasBefore {
		before, hasBefore = stored, hasStored
	}
	touched := in.Owner.Touched
	if touched.After(in.Now) && (!in.looked.owner || touched.Sub(in.Now) > maxLead) {
		touched = in.Now
	}
	switch {
	case hasBefore && before.same(now):
		now.Presumed = before.Presumed
	case hasBefore, in.Owner.Generation > 1 && offSchedule(in):
		e.fresh = true
		e.since = maxTime(e.since, touched)
		if touched.IsZero() {
			e.since = maxTime(e.since, in.Now)
		}
	case in.Owner.Generation > 1 && !touched.IsZero():
		now.Presumed = true
		e.since = touched
	}
	if !e.since.IsZero() {
		since := e.since.UTC()
		now.Since = &since
	}
	e.now, e.text = now, now.text()
	e.due = !e.since.IsZero() && !now.Presumed && e.text != "" && e.text != in.State.Timetable
	return e
}

// offSchedule tells whether lastScheduleTime is no scheduled time of the present schedule. It says no when it cannot
// know: nothing recorded, a schedule that does not parse, or one without a grid of its own.
func offSchedule(in Input) bool {
	last := in.State.LastSchedule
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
