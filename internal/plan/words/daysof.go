// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"strconv"
	"strings"
)

// A DayKind says how a Day is told.
type DayKind int

const (
	// BeforeLast is the day so many days before the last one of the month; 0 is the last day itself.
	BeforeLast DayKind = iota
	// NearestWeekday is the weekday (Monday to Friday) that is nearest to a day and in the same month.
	NearestWeekday
	// LastWeekday is the last of Monday to Friday.
	LastWeekday
	// NthOfMonth is the n-th of a day of the week in the month.
	NthOfMonth
	// LastOfMonth is the last of a day of the week in the month.
	LastOfMonth
)

// A Day is a day of a month that is told by the month's end or by its weekdays.
type Day struct {
	Kind DayKind
	// Number is the days before the last one, the day of the month, or which of the month, from 1.
	Number int
	// Weekday is the day of the week of NthOfMonth and LastOfMonth, 0 to 6 from Sunday on.
	Weekday int
}

// monthDay reads L, L-3, 15W and LW, which package schedule has accepted.
func monthDay(item string) (Day, bool) {
	upper := strings.ToUpper(item)
	if !strings.ContainsAny(upper, "LW") {
		return Day{}, false
	}
	if upper == "L" {
		return Day{Kind: BeforeLast}, true
	}
	if upper == "LW" {
		return Day{Kind: LastWeekday}, true
	}
	if before, ok := strings.CutPrefix(upper, "L-"); ok {
		n, _ := strconv.Atoi(before)
		return Day{Kind: BeforeLast, Number: n}, true
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(upper, "W"))
	return Day{Kind: NearestWeekday, Number: n}, true
}

// weekDay reads FRI#2, FRI#L and 5L, which package schedule has accepted.
func weekDay(item string) (Day, bool) {
	upper := strings.ToUpper(item)
	day, which, numbered := strings.Cut(upper, "#")
	if !numbered {
		var last bool
		if day, last = strings.CutSuffix(upper, "L"); !last {
			return Day{}, false
		}
		which = "L"
	}
	weekday, ok := weekdayNumbers[strings.ToLower(day)]
	if !ok {
		weekday, _ = strconv.Atoi(day)
		weekday %= 7 // 7 is Sunday, too
	}
	if n, err := strconv.Atoi(which); err == nil {
		return Day{Kind: NthOfMonth, Number: n, Weekday: weekday}, true
	}
	return Day{Kind: LastOfMonth, Weekday: weekday}, true
}

// words are the day without the words "of the month".
func (d Day) words() string {
	switch d.Kind {
	case BeforeLast:
		switch d.Number {
		case 0:
			return "the last day"
		case 1:
			return "the day before the last day"
		}
		return fmt.Sprintf("the day %d days before the last day", d.Number)
	case NearestWeekday:
		return fmt.Sprintf("the weekday (Monday to Friday) nearest to day %d", d.Number)
	case LastWeekday:
		return "the last weekday (Monday to Friday)"
	case NthOfMonth:
		return "the " + ordinal(d.Number) + " " + weekdayNames[d.Weekday]
	default:
		return "the last " + weekdayNames[d.Weekday]
	}
}
