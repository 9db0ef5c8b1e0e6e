// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"fmt"
	"strings"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// A Period is a span of wall clock time, or one of days that comes every year.
type Period struct {
	// Yearly tells that the period is of dates without a year.
	Yearly bool
	// FirstDay and LastDay are the days of a yearly period, both included, as days of a leap
	// year (0 is 1 January, 365 is 31 December). LastDay may be before FirstDay: the period
	// goes over the turn of the year.
	FirstDay, LastDay int
	// Start and End are the span [Start, End) of a period that is not yearly, in seconds since
	// 1970-01-01T00:00 on the wall clock.
	Start, End int64
}

// ParsePeriod reads a period: 2026-12-25, 2026-12-24/2027-01-02 (whole days, both included),
// 12-25 and 12-24/01-02 (the same every year; may go over the turn of the year), or
// 2026-12-24T18:00/2026-12-27T06:00 (from the first until just before the second).
// Dates must exist, and the end may not be before the beginning.
func ParsePeriod(text string) (Period, error) {
	first, last, isRange := strings.Cut(text, "/")
	switch len(first) {
	case len("12-25"):
		if !isRange {
			last = first
		}
		from, err := yearDay(first)
		if err != nil {
			return Period{}, err
		}
		to, err := yearDay(last)
		return Period{Yearly: true, FirstDay: from, LastDay: to}, err
	case len("2026-12-25"):
		if !isRange {
			last = first
		}
		from, err := wallTime(dateLayout, first)
		if err != nil {
			return Period{}, err
		}
		to, err := wallTime(dateLayout, last)
		if err != nil {
			return Period{}, err
		}
		if to < from {
			return Period{}, fmt.Errorf("%s ends before it begins", quote(text))
		}
		return Period{Start: from, End: to + secondsPerDay}, nil
	case len("2026-12-24T18:00"):
		from, err := wallTime(minuteLayout, first)
		if err != nil {
			return Period{}, err
		}
		to, err := wallTime(minuteLayout, last)
		if err != nil {
			return Period{}, err
		}
		if to <= from {
			return Period{}, fmt.Errorf("%s ends before it begins, or is empty", quote(text))
		}
		return Period{Start: from, End: to}, nil
	}
	return Period{}, errNoPeriod(text)
}

func errNoPeriod(text string) error {
	return fmt.Errorf("%s is no period; write 2026-12-25, 2026-12-24/2027-01-02, 12-25, 12-24/01-02 or "+
		"2026-12-24T18:00/2026-12-27T06:00", quote(text))
}

// wallTime reads a date, or a date and a time of day, as seconds on the wall clock.
func wallTime(layout, text string) (int64, error) {
	if !looksLike(text, layout) {
		return 0, errNoPeriod(text)
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return 0, fmt.Errorf("%s is no date: there is no such day or time of day", text)
	}
	return t.Unix(), nil
}

// yearDay reads MM-DD as a day of a leap year, 0 for 1 January.
func yearDay(text string) (int, error) {
	if !looksLike(text, "01-02") {
		return 0, errNoPeriod(text)
	}
	t, err := time.Parse(dateLayout, "2000-"+text)
	if err != nil {
		return 0, fmt.Errorf("%s is no date: there is no such day or time of day", text)
	}
	return t.YearDay() - 1, nil
}
