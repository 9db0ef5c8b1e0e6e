// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// A Spec is what a Set is made of, as people write it. The zero value of a field is its default.
type Spec struct {
	// Hash is whom the values of H and the jitter are hashed for.
	Hash schedule.Hash
	// Items are the schedules. Fewer than one is refused.
	Items []Item
	// TimeZone is a name of the tz database; "" is UTC. Local is refused.
	TimeZone string
	// DST says where times go that the clock skips or shows twice: those of cron items that name hours, and
	// moments. Of a moment that the clock shows twice, OverlapBoth takes the earlier one.
	DST schedule.DST
	// NotBefore and NotAfter are the first and the last instant that count; zero is none.
	NotBefore, NotAfter time.Time
	// Exclude are the exclusions: a time counts unless the wall clock shows one of them at it.
	Exclude []Exclusion
	// Jitter is the most that a start is put off; it is cut to whole seconds. The set itself does not move.
	Jitter time.Duration
	// MinInterval is how close two times of one item may be; 0 is no limit. Of a cron item its first 100 times after
	// 2000-01-01 are looked at, so that the verdict never changes.
	MinInterval time.Duration
}

// An Item is one of the schedules of a set: exactly one of Cron, Every and At is set.
type Item struct {
	// Name is what errors and [Set.Names] call it; "" is main. The values of H depend on it.
	Name string
	// Cron is a cron expression in the extended language of package schedule, DayRule how its two day fields go
	// together.
	Cron    string
	DayRule schedule.DayRule
	// EveryWeeks, if not 0, keeps the times of Cron in one week of that many, 2 or more. A week begins on Monday;
	// Anchor is a day of one that is kept.
	EveryWeeks int
	// Every is a duration ([ParseDuration]), the distance of the times in real time, from Anchor on and before it.
	Every string
	// Anchor is a moment ([ParseMoment]): a date for EveryWeeks; for Every one with a time of day, "" for
	// 1970-01-01T00:00:00Z.
	Anchor string
	// At are moments with a time of day.
	At []string
}

// An Exclusion is a period or a Calendar.
type Exclusion struct {
	// Period is the period ([ParsePeriod]); "" if it is a Calendar.
	Period string
	// Calendar is the Calendar; nil if it is a period.
	Calendar *Calendar
}

func orDefault[T ~string](text, otherwise T) T {
	if text == "" {
		return otherwise
	}
	return text
}
