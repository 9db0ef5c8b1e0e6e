// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// meaning is what a sentence of package words says, read back without any knowledge of the expression.
type meaning struct {
	seconds map[int]bool // of the day
	on      func(date time.Time) bool
}

var (
	yearsPart  = regexp.MustCompile(`^(.*), in the years? ([0-9].*)$`)
	monthsPart = regexp.MustCompile(`^(.*), in ((?:January|February|March|April|May|June|July|August|September|October|November|December).*)$`)
	weeksPart  = regexp.MustCompile(`^(.*); only in every ([0-9]+)(?:st|nd|rd|th) week \(Monday to Sunday\), counted from that of ([0-9-]+)$`)
)

// readBack reads a sentence of package words.
func readBack(text string) (meaning, error) {
	if strings.HasPrefix(text, "never: ") {
		return meaning{on: func(time.Time) bool { return false }}, nil
	}
	var conditions []func(time.Time) bool
	ending := eachSuch.FindStringSubmatch(text)
	if ending != nil {
		text = ending[1] + ending[4]
	}
	if m := weeksPart.FindStringSubmatch(text); m != nil {
		every, _ := strconv.Atoi(m[2])
		anchor, err := time.Parse(time.DateOnly, m[3])
		if err != nil {
			return meaning{}, err
		}
		monday := func(t time.Time) time.Time {
			return t.Truncate(24*time.Hour).AddDate(0, 0, -(int(t.Weekday())+6)%7)
		}
		conditions = append(conditions, func(t time.Time) bool {
			weeks := int(monday(t).Sub(monday(anchor)).Hours() / (7 * 24))
			return weeks%every == 0
		})
		text = m[1]
	}
	if m := yearsPart.FindStringSubmatch(text); m != nil {
		years, err := readList(m[2], "and", strconv.Atoi)
		if err != nil {
			return meaning{}, err
		}
		conditions = append(conditions, func(t time.Time) bool { return slices.Contains(years, t.Year()) })
		text = m[1]
	}
	if m := monthsPart.FindStringSubmatch(text); m != nil {
		months, err := readList(m[2], "and", monthOf)
		if err != nil {
			return meaning{}, err
		}
		conditions = append(conditions, func(t time.Time) bool { return slices.Contains(months, int(t.Month())) })
		text = m[1]
	}
	times, days, some := strings.Cut(text, " on ")
	switch {
	case some:
		on, err := readDays(days)
		if err != nil {
			return meaning{}, err
		}
		conditions = append(conditions, on)
	default:
		times = strings.TrimSuffix(times, " every day")
	}
	seconds, err := readTimes(times, ending)
	return meaning{seconds, func(t time.Time) bool {
		return !slices.ContainsFunc(conditions, func(c func(time.Time) bool) bool { return !c(t) })
	}}, err
}

func monthOf(name string) (int, error) {
	for m := time.January; m <= time.December; m++ {
		if m.String() == name {
			return int(m), nil
		}
	}
	return 0, fmt.Errorf("no month: %q", name)
}

func weekdayOf(name string) (int, error) {
	for d := range 7 {
		if time.Weekday(d).String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("no day of the week: %q", name)
}

func splitList(text, last string) []string {
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(text, " "+last+" ", ", "), ", ") {
		parts = append(parts, part)
	}
	return parts
}

// readList reads "1, 2 and 5 to 9".
func readList(text, last string, value func(string) (int, error)) ([]int, error) {
	var values []int
	for _, part := range splitList(text, last) {
		low, high, ranged := strings.Cut(part, " to ")
		if !ranged {
			high = low
		}
		from, err := value(low)
		if err != nil {
			return nil, err
		}
		to, err := value(high)
		if err != nil || to < from {
			return nil, fmt.Errorf("%q: %w", part, cmp.Or(err, errors.New("it runs backwards")))
		}
		for v := from; v <= to; v++ {
			values = append(values, v)
		}
	}
	return values, nil
}

// readDays reads "days 1 and 15 of the month OR on Fridays", "day 13 of the month, only where that is a Friday".
func readDays(text string) (func(time.Time) bool, error) {
	if first, second, ok := strings.Cut(text, " OR on "); ok {
		a, err := readDayList(first, "and")
		if err != nil {
			return nil, err
		}
		b, err := readDayList(second, "and")
		return func(t time.Time) bool { return a(t) || b(t) }, err
	}
	if first, second, ok := strings.Cut(text, ", only where that is "); ok {
		a, err := readDayList(first, "and")
		if err != nil {
			return nil, err
		}
		b, err := readDayList(second, "or")
		return func(t time.Time) bool { return a(t) && b(t) }, err
	}
	return readDayList(text, "and")
}

var (
	everyNthDay  = regexp.MustCompile(`^every ([0-9]+)(?:st|nd|rd|th) day from day ([0-9]+) to day ([0-9]+) of the month$`)
	numberedDays = regexp.MustCompile(`^days? ([0-9, toand]+) of the month$`)
	beforeLast   = regexp.MustCompile(`^the day ([0-9]+) days before the last day$`)
	dayOrDays    = regexp.MustCompile(`^days? ([0-9 to]+)$`)
	nearest      = regexp.MustCompile(`^the weekday \(Monday to Friday\) nearest to day ([0-9]+)$`)
	nth          = regexp.MustCompile(`^the ([0-9])(?:st|nd|rd|th) ([A-Z][a-z]+)$`)
	lastOf       = regexp.MustCompile(`^the last ([A-Z][a-z]+)$`)
)

func readDayList(text, last string) (func(time.Time) bool, error) {
	if m := numberedDays.FindStringSubmatch(text); m != nil {
		days, err := readList(m[1], "and", strconv.Atoi)
		return func(t time.Time) bool { return slices.Contains(days, t.Day()) }, err
	}
	if m := everyNthDay.FindStringSubmatch(text); m != nil {
		step, _ := strconv.Atoi(m[1])
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[3])
		return func(t time.Time) bool { d := t.Day(); return d >= from && d <= to && (d-from)%step == 0 }, nil
	}
	var any []func(time.Time) bool
	for _, part := range splitList(text, last) {
		on, err := readDay(strings.TrimSuffix(strings.TrimPrefix(part, "a "), " of the month"))
		if err != nil {
			return nil, err
		}
		any = append(any, on)
	}
	return func(t time.Time) bool {
		return slices.ContainsFunc(any, func(on func(time.Time) bool) bool { return on(t) })
	}, nil
}

func readDay(text string) (func(time.Time) bool, error) {
	lengthOf := func(t time.Time) int { return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }
	working := func(t time.Time) bool { return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday }
	if day, month, ok := strings.Cut(text, " "); ok {
		if d, err := strconv.Atoi(day); err == nil { // 29 February
			m, err := monthOf(month)
			return func(t time.Time) bool { return t.Day() == d && int(t.Month()) == m }, err
		}
	}
	if m := dayOrDays.FindStringSubmatch(text); m != nil {
		days, err := readList(m[1], "and", strconv.Atoi)
		return func(t time.Time) bool { return slices.Contains(days, t.Day()) }, err
	}
	before := -1
	switch text {
	case "the last day":
		before = 0
	case "the day before the last day":
		before = 1
	case "the last weekday (Monday to Friday)":
		return func(t time.Time) bool {
			for d := lengthOf(t); ; d-- {
				if at := time.Date(t.Year(), t.Month(), d, 0, 0, 0, 0, time.UTC); working(at) {
					return t.Day() == d
				}
			}
		}, nil
	case "weekdays (Monday to Friday)", "weekday (Monday to Friday)":
		return working, nil
	}
	if m := beforeLast.FindStringSubmatch(text); m != nil {
		before, _ = strconv.Atoi(m[1])
	}
	if before >= 0 {
		return func(t time.Time) bool { return t.Day() == lengthOf(t)-before }, nil
	}
	if m := nearest.FindStringSubmatch(text); m != nil {
		day, _ := strconv.Atoi(m[1])
		return func(t time.Time) bool {
			if day > lengthOf(t) {
				return false
			}
			for _, away := range []int{0, -1, 1, -2, 2} {
				d := day + away
				if d >= 1 && d <= lengthOf(t) && working(time.Date(t.Year(), t.Month(), d, 0, 0, 0, 0, time.UTC)) {
					return t.Day() == d
				}
			}
			return false
		}, nil
	}
	if m := nth.FindStringSubmatch(text); m != nil {
		weekday, err := weekdayOf(m[2])
		return func(t time.Time) bool { return int(t.Weekday()) == weekday && strconv.Itoa((t.Day()+6)/7) == m[1] }, err
	}
	if m := lastOf.FindStringSubmatch(text); m != nil {
		weekday, err := weekdayOf(m[1])
		return func(t time.Time) bool { return int(t.Weekday()) == weekday && t.Day()+7 > lengthOf(t) }, err
	}
	low, high, ranged := strings.Cut(strings.TrimSuffix(text, "s"), "s to ")
	if !ranged {
		high = low
	}
	from, err := weekdayOf(low)
	if err != nil {
		return nil, fmt.Errorf("no day: %q", text)
	}
	to, err := weekdayOf(high)
	return func(t time.Time) bool { // in a week that begins on a Monday
		day := (int(t.Weekday()) + 6) % 7
		return (from+6)%7 <= day && day <= (to+6)%7
	}, err
}
