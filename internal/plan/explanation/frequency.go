// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// walked is how many times are walked to find the distances inside days.
const walked = 50_000

const daysPerYear = 365.2425

// frequency counts the times of two years; nil if there are none ever.
func (s *subject) frequency() *Frequency {
	if s.times.Next(s.now).IsZero() {
		return nil
	}
	f := &Frequency{Runs: s.times.Count(s.now, s.until)}
	days := s.until.Sub(s.now).Hours() / 24
	f.PerDay = float64(f.Runs) / days
	f.PerMonth = f.PerDay * daysPerYear / 12
	local := s.now.In(s.zone)
	for m := range 12 * years {
		first := time.Date(local.Year(), local.Month()+time.Month(m+1), 1, 0, 0, 0, 0, s.zone)
		next := time.Date(local.Year(), local.Month()+time.Month(m+2), 1, 0, 0, 0, 0, s.zone)
		count := MonthCount{first.Format("2006-01"), s.times.Count(first.Add(-time.Second), next.Add(-time.Second))}
		if m == 0 || count.Runs < f.LeastInMonth.Runs {
			f.LeastInMonth = count
		}
		if m == 0 || count.Runs > f.MostInMonth.Runs {
			f.MostInMonth = count
		}
	}
	smallest, largest := s.distances()
	f.SmallestDistanceSeconds, f.LargestDistanceSeconds = int64(smallest/time.Second), int64(largest/time.Second)
	return f
}

// distances are the smallest and the largest distance of neighbours that begin in the two years. All times are walked
// if they are few. Of many those of the first days are, those around changes of the clock, around each midnight, and
// around each exclusion, so that a long pause is not overlooked.
func (s *subject) distances() (smallest, largest time.Duration) {
	if every := s.every(); every > 0 {
		s.usual = every
		return every, every
	}
	changes := s.changes()
	see := func(from, to time.Time) {
		if d := to.Sub(from); !to.IsZero() && d > 0 {
			if s.usual == 0 || d < s.usual {
				if !slices.ContainsFunc(changes, func(c change) bool { return c.at.After(from) && !c.at.After(to) }) {
					s.usual = d
				}
			}
			if smallest == 0 || d < smallest {
				smallest = d
			}
			largest = max(largest, d)
		}
	}
	walk := func(from, until time.Time, most int) {
		at := s.times.Next(from)
		for n := 0; n < most && !at.IsZero() && at.Before(until); n++ {
			next := s.times.Next(at)
			see(at, next)
			at = next
		}
	}
	walk(s.now, s.until, walked)
	if s.times.Count(s.now, s.until) <= walked {
		return smallest, largest
	}
	for _, c := range changes {
		walk(c.at.Add(-day), c.at.Add(day), 2*24*60)
	}
	around := func(at time.Time) {
		if last := s.times.LastBetween(s.now, at.Add(-time.Second)); !last.IsZero() {
			see(last, s.times.Next(last))
		}
	}
	local := s.now.In(s.zone)
	for d := 1; d <= 366*years; d++ {
		around(time.Date(local.Year(), local.Month(), local.Day()+d, 0, 0, 0, 0, s.zone))
	}
	for _, at := range s.exclusionsBegin() {
		if at.After(s.now) && at.Before(s.until) {
			around(at)
		}
	}
	return smallest, largest
}

// exclusionsBegin are the instants at which periods of exclude begin, but for those of every year, which begin at
// midnight.
func (s *subject) exclusionsBegin() []time.Time {
	if s.timetable == nil {
		return nil
	}
	var found []time.Time
	begin := func(text string) {
		if p, err := timeset.ParsePeriod(text); err == nil && !p.Yearly {
			wall := time.Unix(p.Start, 0).UTC()
			found = append(found, time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, s.zone))
		}
	}
	for _, e := range s.timetable.Spec.Exclude {
		switch {
		case e.Period != nil:
			begin(string(*e.Period))
		case e.Calendar != nil && s.scheduled.Calendars[*e.Calendar] != nil:
			for _, p := range s.scheduled.Calendars[*e.Calendar].Spec.Periods {
				begin(string(p.Period))
			}
		}
	}
	return found
}

// every is the period of a schedule that counts from its last run; 0 for all others.
func (s *subject) every() time.Duration {
	if len(s.items) == 1 && s.items[0].expression != nil {
		return s.items[0].expression.Every
	}
	return 0
}
