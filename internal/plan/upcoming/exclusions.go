// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// An Exclusion is a period in which no time counts.
type Exclusion struct {
	// Period is its text.
	Period string
	// Calendar is the Calendar that has it, and Name what it is called there; "" for one of the Timetable itself.
	Calendar, Name string
}

// exclusion is an Exclusion that was read.
type exclusion struct {
	Exclusion
	period timeset.Period
}

func (s *Source) exclude(calendar, period, name string) {
	if read, err := timeset.ParsePeriod(period); err == nil {
		s.closed = append(s.closed, exclusion{Exclusion{Period: period, Calendar: calendar, Name: name}, read})
	}
}

// mostOmissions is how many omissions are told apart between two times.
const mostOmissions = 50

// excludedBetween tells of the times in (after, until] that an exclusion took out: those that follow each other in the
// same periods together.
func (s *Source) excludedBetween(after, until time.Time, times []Time) []Omission {
	if s.excluded == nil {
		return nil
	}
	var omissions []Omission
	told := 0 // since the last time
	for at := s.excluded.Next(after); !at.IsZero() && !at.After(until); {
		for len(times) > 0 && times[0].At.Before(at) {
			times, told = times[1:], 0
		}
		to := until
		if len(times) > 0 {
			to = times[0].At
		}
		if told == mostOmissions {
			rest := s.excludedSpan(at, to)
			omissions = append(omissions, Omission{At: rest.First, Reason: Excluded, Span: rest})
			at = s.excluded.Next(to)
			continue
		}
		by, end := s.closedAt(at)
		if end.Before(to) {
			to = end.Add(-1)
		}
		span := s.excludedSpan(at, to)
		if n := len(omissions); told > 0 && slices.Equal(omissions[n-1].By, by) {
			omissions[n-1].Span = *join(&omissions[n-1].Span, span)
		} else {
			omissions = append(omissions, Omission{At: span.First, Reason: Excluded, Span: span, By: by})
			told++
		}
		at = s.excluded.Next(span.Last)
	}
	return omissions
}

// excludedSpan is the excluded times from one of them to an instant.
func (s *Source) excludedSpan(first, to time.Time) Span {
	before := first.Add(-1)
	return Span{First: first.In(s.Zone), Last: s.excluded.LastBetween(before, to).In(s.Zone), Count: s.excluded.Count(before, to)}
}

// closedAt gives the periods that hold an instant, and an instant up to which nothing else holds than they do, later
// than it.
func (s *Source) closedAt(at time.Time) (by []Exclusion, end time.Time) {
	wall := wallOf(at, s.Zone)
	next := wall.Add(24 * time.Hour).Truncate(24 * time.Hour) // where a yearly period may end
	for _, e := range s.closed {
		if holds(e.period, wall) {
			by = append(by, e.Exclusion)
		}
		if !e.period.Yearly {
			for _, edge := range [...]int64{e.period.Start, e.period.End} {
				if t := time.Unix(edge, 0).UTC(); t.After(wall) && t.Before(next) {
					next = t
				}
			}
		}
	}
	end = at.Add(next.Sub(wall))
	if change, _ := nextChange(at, s.Zone); change.Before(end) {
		end = change
	}
	return by, end
}

// holds tells whether a period holds a wall clock time.
func holds(p timeset.Period, wall time.Time) bool {
	if !p.Yearly {
		return p.Start <= wall.Unix() && wall.Unix() < p.End
	}
	day := time.Date(2000, wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC).YearDay() - 1
	if p.FirstDay <= p.LastDay {
		return p.FirstDay <= day && day <= p.LastDay
	}
	return p.FirstDay <= day || day <= p.LastDay
}
