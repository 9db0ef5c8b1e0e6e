// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"time"
)

// monthDay is a day of a month that is told by the month's end or by its weekdays: its bit, by the weekday of the
// month's first day (0 is Sunday) and the month's length, or 0 in a month that has none.
type monthDay func(first, length int) uint32

// lastDay is the day so many days before the last one.
func lastDay(before int) monthDay {
	return func(_, length int) uint32 { return dayBit(length-before, length) }
}

// nearestWeekday is the weekday, Monday to Friday, that is nearest to a day and in the same month.
func nearestWeekday(day int) monthDay {
	return func(first, length int) uint32 {
		if day > length {
			return 0
		}
		return dayBit(day+toWeekday(day, first, length), length)
	}
}

// lastWeekday is the last of Monday to Friday.
func lastWeekday(first, length int) uint32 {
	return dayBit(length+toWeekday(length, first, length), length)
}

// toWeekday returns how many days a day of a month is from the weekday nearest to it.
func toWeekday(day, first, length int) int {
	switch time.Weekday((first + day - 1) % 7) {
	case time.Saturday:
		if day == 1 {
			return 2
		}
		return -1
	case time.Sunday:
		if day == length {
			return -2
		}
		return 1
	default:
		return 0
	}
}

// nthWeekday is the n-th (from 1) of a weekday.
func nthWeekday(weekday, n int) monthDay {
	return func(first, length int) uint32 { return dayBit(1+(weekday-first+7)%7+7*(n-1), length) }
}

// lastOfWeekday is the last of a weekday.
func lastOfWeekday(weekday int) monthDay {
	return func(first, length int) uint32 { return dayBit(length-(first+length-1-weekday+7)%7, length) }
}

func dayBit(day, length int) uint32 {
	if day < 1 || day > length {
		return 0
	}
	return 1 << day
}

// monthDayOf reads "L", "L-N", "NW" and "LW". It is nil for other items.
func monthDayOf(item string) (monthDay, *ParseError) {
	upper := strings.ToUpper(item)
	if !strings.ContainsAny(upper, "LW") {
		return nil, nil
	}
	before, fromLast := strings.CutPrefix(upper, "L-")
	day, nearest := strings.CutSuffix(upper, "W")
	switch {
	case upper == "L":
		return lastDay(0), nil
	case upper == "LW":
		return lastWeekday, nil
	case strings.Contains(upper, "/"):
		return nil, &ParseError{Value: item, Problem: "has a step, which L and W do not take"}
	case nearest && !fromLast && strings.Contains(day, "-"):
		return nil, &ParseError{Value: item, Problem: "is a range with W; W takes one day"}
	case fromLast && isNumber(before):
		if n, err := domColumn.number(item, before, nil); err == nil && n >= 1 && n <= 30 {
			return lastDay(n), nil
		}
		return nil, &ParseError{Value: item, Problem: "is out of range L-1 to L-30"}
	case nearest && isNumber(day):
		if n, err := domColumn.number(item, day, nil); err == nil && n >= 1 && n <= 31 {
			return nearestWeekday(n), nil
		}
		return nil, &ParseError{Value: item, Problem: "is out of range 1W to 31W"}
	default:
		return nil, &ParseError{Value: item, Problem: "cannot be read; write L, L-3, 15W or LW, which take no step and no range"}
	}
}

// weekdayOf reads "D#N", "D#L" and "DL". It is nil for other items.
func weekdayOf(item string) (monthDay, *ParseError) {
	upper := strings.ToUpper(item)
	day, which, numbered := strings.Cut(upper, "#")
	if !numbered {
		var last bool
		if day, last = strings.CutSuffix(upper, "L"); !last {
			if strings.Contains(upper, "L/") {
				return nil, &ParseError{Value: item, Problem: "has a step, which L does not take"}
			}
			return nil, nil
		}
		which = "L"
	}
	switch {
	case day == "" && !numbered:
		return nil, &ParseError{Value: item, Problem: "alone means two things; write 6 for Saturday or 5L for the last Friday"}
	case strings.Contains(upper, "/"):
		return nil, &ParseError{Value: item, Problem: "has a step, which # and L do not take"}
	case strings.Contains(day, "-"):
		return nil, &ParseError{Value: item, Problem: "is a range with # or L, which take one day"}
	}
	weekday, err := dowColumn.value(item, day)
	if err != nil {
		return nil, err
	}
	weekday %= 7
	switch {
	case which == "L":
		return lastOfWeekday(weekday), nil
	case len(which) == 1 && which[0] >= '1' && which[0] <= '5':
		return nthWeekday(weekday, int(which[0]-'0')), nil
	case isNumber(which) && strings.Trim(which, "0") != "":
		return nil, &ParseError{Value: item, Problem: fmt.Sprintf(": no month has a sixth %s; use 1-5 or L", time.Weekday(weekday))}
	default:
		return nil, &ParseError{Value: item, Problem: ": what follows # is 1-5, or L for the last"}
	}
}

// isNumber tells whether a text is made of digits.
func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
