// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"time"
)

// A finder looks for one sort of surprise.
type finder func(s *subject, e *Explanation) []Surprise

// finders are all sorts, in the order in which they are told: what keeps it from running first.
var finders = []finder{
	neverFires, deadlineNever, clockChangeDaysOnly,
	eitherDay, dayWithoutEffect, everyMinuteOfAnHour, unevenSteps, missingDays, leapDay, longGap,
	everyDrifts, everyWithoutAnchor, belowAMinute,
	clockChangeSurprise, noTimeZone, zoneInSchedule,
	overlongRuns, shortDeadline,
	herd, dayNumbers, moreFields, accidents,
}

func surprisesOf(s *subject, e *Explanation) []Surprise {
	all := []Surprise{}
	for _, find := range finders {
		all = append(all, find(s, e)...)
	}
	return all
}

func one(id, message, cure string) []Surprise {
	return []Surprise{{ID: id, Message: message, Cure: cure}}
}

// crons are the items that have fields.
func (s *subject) crons() []item {
	var found []item
	for _, i := range s.items {
		if i.expression != nil && i.expression.Every == 0 {
			found = append(found, i)
		}
	}
	return found
}

// in names the item of a Timetable with several: " (schedule night)".
func (s *subject) in(i item) string {
	if len(s.items) < 2 {
		return ""
	}
	return " (schedule " + i.name + ")"
}

// choose gives the text for the kind of the subject.
func (s *subject) choose(cronJob, timetable string) string {
	if s.asTimetable {
		return timetable
	}
	return cronJob
}

func neverFires(s *subject, e *Explanation) []Surprise {
	var found []Surprise
	for _, i := range s.crons() {
		if i.readable && !namesAnything(i) {
			found = append(found, one("never-fires", "It names no date that exists, so it never runs"+s.in(i)+".",
				"Correct the day, the month or the year.")...)
		}
	}
	if len(found) == 0 && s.times != nil && e.Next == nil {
		found = one("nothing-left", "All its times are past or left out: it never runs again.", "Name later times, or delete it.")
	}
	return found
}

// clockChangeDaysOnly: all times of the next years lie on days on which the clocks change.
func clockChangeDaysOnly(s *subject, e *Explanation) []Surprise {
	if s.all == nil || e.Frequency == nil || e.Frequency.Runs == 0 || len(e.ClockChanges) == 0 {
		return nil
	}
	dates := map[string]bool{}
	for _, c := range e.ClockChanges {
		dates[c.Date] = true
	}
	for at := s.times.Next(s.now); !at.IsZero() && at.Before(s.until); at = s.times.Next(at) {
		if !dates[at.In(s.zone).Format(time.DateOnly)] {
			return nil
		}
	}
	return one("clock-change-days-only", "All its times of the next two years lie on days on which the clocks change.",
		"Choose another day, or a time zone without daylight saving time such as Etc/UTC.")
}
