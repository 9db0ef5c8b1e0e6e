// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"cmp"
	"slices"
	"time"
)

// exclusions is the mask of exclude: closed is what lies in a period.
type exclusions struct {
	// spans are the periods with a year, ascending, apart from each other.
	spans []span
	// yearly is nil without periods of dates without a year.
	yearly *yearDays
}

// span is [start, end) in seconds on the wall clock.
type span struct {
	start, end int64
}

// yearDays are the days of a leap year that lie in a yearly period (0 is 1 January).
type yearDays struct {
	closed [366]bool
	// first and end are, for each day, those of the longest span [first, end) of days
	// around it that are as closed or open.
	first, end [366]uint16
	// all tells that every day is closed.
	all bool
}

// excluding returns the mask of periods, or nil if there is none.
func excluding(periods []Period) *exclusions {
	if len(periods) == 0 {
		return nil
	}
	e := &exclusions{}
	for _, p := range periods {
		if p.Yearly {
			if e.yearly == nil {
				e.yearly = &yearDays{}
			}
			e.yearly.close(p)
			continue
		}
		e.spans = append(e.spans, span{p.Start, p.End})
	}
	e.spans = merge(e.spans)
	if e.yearly != nil {
		e.yearly.measure()
	}
	return e
}

// merge sorts spans and joins those that touch.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
		} else {
			merged = append(merged, s)
		}
	}
	return slices.Clip(merged)
}

// always tells that no time is open.
func (e *exclusions) always() bool { return e.yearly != nil && e.yearly.all }

func (e *exclusions) at(wall int64) (open bool, since, until int64) {
	since, until = -forever, forever
	i, _ := slices.BinarySearchFunc(e.spans, wall, func(s span, wall int64) int {
		if s.end <= wall {
			return -1
		}
		return 1
	})
	if i > 0 {
		since = e.spans[i-1].end
	}
	if i < len(e.spans) {
		if e.spans[i].start <= wall {
			return false, e.spans[i].start, e.spans[i].end
		}
		until = e.spans[i].start
	}
	if e.yearly == nil {
		return true, since, until
	}
	open, first, end := e.yearly.at(wall)
	if !open {
		return false, first, end
	}
	return true, max(since, first), min(until, end)
}

// close adds a period.
func (y *yearDays) close(p Period) {
	for day := p.FirstDay; ; day = (day + 1) % len(y.closed) {
		y.closed[day] = true
		if day == p.LastDay {
			return
		}
	}
}

// measure fills in what follows from closed.
func (y *yearDays) measure() {
	y.all = !slices.Contains(y.closed[:], false)
	for first := 0; first < len(y.closed); {
		end := first + 1
		for end < len(y.closed) && y.closed[end] == y.closed[first] {
			end++
		}
		for day := first; day < end; day++ {
			y.first[day], y.end[day] = uint16(first), uint16(end)
		}
		first = end
	}
}

// at is the answer of a mask. A span ends with its year at the latest.
func (y *yearDays) at(wall int64) (open bool, since, until int64) {
	day := floorDiv(wall, secondsPerDay)
	date := time.Unix(day*secondsPerDay, 0).UTC()
	year, dayOfYear := date.Year(), date.YearDay()-1
	// Days of a leap year are shifted from 1 March on in all others.
	const leapDay = 31 + 28
	leap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
	newYear := day - int64(dayOfYear)
	if !leap && dayOfYear >= leapDay {
		dayOfYear++
	}
	start := func(day uint16) int64 {
		if !leap && day > leapDay {
			day--
		}
		return (newYear + int64(day)) * secondsPerDay
	}
	return !y.closed[dayOfYear], start(y.first[dayOfYear]), start(y.end[dayOfYear])
}
