// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"slices"
	"time"
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

// distances are the smallest and the largest distance of neighbours that begin in the two years. All times are walked if
// they are few. Of many those of the first days are, those around changes of the clock, and those around each midnight,
// so that a long pause is not overlooked.
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
	local := s.now.In(s.zone)
	for d := 1; d <= 366*years; d++ {
		midnight := time.Date(local.Year(), local.Month(), local.Day()+d, 0, 0, 0, 0, s.zone).Add(-time.Second)
		if last := s.times.LastBetween(s.now, midnight); !last.IsZero() {
			see(last, s.times.Next(last))
		}
	}
	return smallest, largest
}

// every is the period of a schedule that counts from its last run; 0 for all others.
func (s *subject) every() time.Duration {
	if len(s.items) == 1 && s.items[0].expression != nil {
		return s.items[0].expression.Every
	}
	return 0
}
