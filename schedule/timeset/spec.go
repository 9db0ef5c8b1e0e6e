// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// A Spec is the timing of a Timetable as it was written, with the Calendars it names.
// Field by field it is what timetable.md 3 says; the zero value of a field is its default.
type Spec struct {
	// Hash is the Timetable by which H and jitter are hashed.
	Hash schedule.Hash
	// Items are the schedules. Fewer than one is refused.
	Items []Item
	// TimeZone is a name of the tz database; "" is UTC. Local is refused.
	TimeZone string
	// DST says where times go that the clock skips or shows twice.
	DST schedule.DST
	// NotBefore and NotAfter are the first and the last instant that count; zero is none.
	NotBefore, NotAfter time.Time
	// Exclude are the exclusions.
	Exclude []Exclusion
	// Jitter is the most that a start is put off; it is cut to whole seconds.
	Jitter time.Duration
	// MinInterval is how close two times of one item may be; 0 is no limit.
	MinInterval time.Duration
}

// An Item is one of the schedules of a Timetable: exactly one of Cron, Every and At is set.
type Item struct {
	// Name is "" for main.
	Name string
	// Cron is a cron expression, DayRule how its two day fields go together.
	Cron    string
	DayRule schedule.DayRule
	// EveryWeeks, if not 0, keeps the times of Cron in one week of that many.
	EveryWeeks int
	// Every is a duration, the distance of the times.
	Every string
	// Anchor is a moment: a date for EveryWeeks; for Every one with a time of day, "" for
	// 1970-01-01T00:00:00Z.
	Anchor string
	// At are moments with a time of day.
	At []string
}

// An Exclusion is a period or a Calendar.
type Exclusion struct {
	// Period is the period; "" if it is a Calendar.
	Period string
	// Calendar is the Calendar, be it that it is missing; nil if it is a period.
	Calendar *Calendar
}

func orDefault[T ~string](text, otherwise T) T {
	if text == "" {
		return otherwise
	}
	return text
}
