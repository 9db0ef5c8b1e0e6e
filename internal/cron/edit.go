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
	var t timetable
	if text == "" || json.Unmarshal([]byte(text), &t) != nil || len(t.Schedules) == 0 {
		return timetable{}, false
	}
	return t, true
}

// edit says whether the schedule was changed, and what to remember of that.
type edit struct {
	// since: scheduled times up to and including this one belong to an older timetable and start nothing.
	since time.Time
	// fresh: this pass is the first to see the change.
	fresh bool
	// text is the timetable to be remembered.
	text string
	// due: the annotation has to be written for it; otherwise writing is worth it only if it costs nothing.
	due bool
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
// Without any memory, after generations of edits, one trace is left: a lastScheduleTime at which today's schedule
// does not fire.
func noticeEdit(in Input) edit {
	now := timetable{Schedules: in.Spec.Schedules}
	if in.Spec.TimeZone != nil {
		now.TimeZone = *in.Spec.TimeZone
	}
	stored, hasStored := parseTimetable(in.State.Timetable)
	before, hasBefore := parseTimetable(in.Seen)

	var e edit
	for _, t := range []timetable{stored, before} {
		if t.Since != nil && t.Since.After(e.since) && t.Since.Sub(in.Now) <= maxLead {
			e.since = *t.Since
		}
	}
	if !hasBefore {
		before, hasBefore = stored, hasStored
	}
	if hasBefore {
		e.fresh = !before.same(now)
	} else {
		e.fresh = in.Owner.Generation > 1 && offSchedule(in)
	}
	if e.fresh {
		at := in.Now
		if touched := in.Owner.Touched; !touched.IsZero() && touched.Before(at) {
			at = touched
		}
		if at.After(e.since) {
			e.since = at
		}
	}
	if !e.since.IsZero() {
		since := e.since.UTC()
		now.Since = &since
	}
	e.text = now.text()
	e.due = !e.since.IsZero() && e.text != "" && e.text != in.State.Timetable
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
