// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"time"
	"unicode/utf8"
)

// Tick is a round time on the axis of a timeline.
type Tick struct {
	// Place is where it is, Label how it is called: "15:00", "Mon 16", "Nov 16" or "Nov".
	Place int
	Label string
}

// step is a distance of ticks, in hours or, with days, months, on the calendar.
type step struct{ minutes, days, months int }

// steps are the distances, the smallest first. Seven days are from Monday to Monday.
var steps = []step{
	{minutes: 10}, {minutes: 30}, {minutes: 60}, {minutes: 120}, {minutes: 180}, {minutes: 360}, {minutes: 720},
	{days: 1}, {days: 2}, {days: 7}, {days: 14}, {months: 1}, {months: 2}, {months: 3}, {months: 6},
}

// Ticks are the round times of the axis in a zone, as close as their labels leave two blanks between each other. None
// has the place of now.
func (t *Timeline) Ticks(zone *time.Location) []Tick {
	for _, s := range steps {
		const narrowest = 5 // a label, "15:04"
		if s.about() < narrowest*t.place {
			continue
		}
		if ticks := t.ticks(s, zone); apart(ticks) {
			return ticks
		}
	}
	return nil
}

// about is how far apart its times are.
func (s step) about() time.Duration {
	return time.Duration(s.minutes)*time.Minute + time.Duration(s.days)*day + time.Duration(s.months)*30*day
}

// apart tells whether each label ends two places before the next one begins.
func apart(ticks []Tick) bool {
	for i := 1; i < len(ticks); i++ {
		if before := ticks[i-1]; before.Place+utf8.RuneCountInString(before.Label)+2 > ticks[i].Place {
			return false
		}
	}
	return true
}

// ticks are those of one distance.
func (t *Timeline) ticks(s step, zone *time.Location) []Tick {
	var ticks []Tick
	for n := 0; ; n++ {
		at := s.at(t.From.In(zone), n)
		switch {
		case !at.Before(t.Until):
			return ticks
		case at.Before(t.From):
			continue
		}
		label := s.label(at)
		place := int(at.Sub(t.From) / t.place)
		if place+utf8.RuneCountInString(label) <= len(t.Places) && (len(ticks) == 0 || ticks[len(ticks)-1].Place != place) {
			ticks = append(ticks, Tick{place, label})
		}
	}
}

// at is the n-th round time from one that is not after from.
func (s step) at(from time.Time, n int) time.Time {
	year, month, date := from.Date()
	switch {
	case s.months > 0:
		return time.Date(year, time.January+time.Month(int(month-1)/s.months*s.months+n*s.months), 1, 0, 0, 0, 0, from.Location())
	case s.days >= 7:
		monday := date - (int(from.Weekday())+6)%7
		return time.Date(year, month, monday+n*s.days, 0, 0, 0, 0, from.Location())
	case s.days > 0:
		return time.Date(year, month, date+n*s.days, 0, 0, 0, 0, from.Location())
	}
	return time.Date(year, month, date, 0, n*s.minutes, 0, 0, from.Location())
}

func (s step) label(at time.Time) string {
	switch {
	case s.months > 0:
		return at.Format("Jan")
	case s.days >= 7:
		return at.Format("Jan 2")
	case s.days > 0 || at.Hour() == 0 && at.Minute() == 0:
		return at.Format("Mon 2")
	}
	return at.Format("15:04")
}
