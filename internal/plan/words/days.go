// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"slices"
	"strconv"
)

// fewMonths is in how many months one day is written as a date.
const fewMonths = 4

// daysWords say on which days, with a blank in front; "" for every day.
func (e *Expression) daysWords() string {
	month, week := e.DayOfMonth, e.DayOfWeek
	switch {
	case e.EitherDay && (month.All || week.All), month.All && week.All:
		return ""
	case e.asDates():
		return " on " + join(e.dates(), "and")
	case e.EitherDay && month.Empty(), !e.EitherDay && month.All:
		return " on " + weekdays(week)
	case e.EitherDay && week.Empty(), !e.EitherDay && week.All:
		return " on " + monthDays(month)
	case e.EitherDay:
		return " on " + monthDays(month) + " OR on " + weekdays(week)
	}
	return " on " + monthDays(month) + ", only where that is " + oneOfWeekdays(week)
}

// asDates tells that the days are best written with their months: "on 29 February".
func (e *Expression) asDates() bool {
	return !e.EitherDay && e.DayOfWeek.All && len(e.DayOfMonth.Values) == 1 && len(e.DayOfMonth.Days) == 0 &&
		len(e.Month.Values) <= fewMonths
}

func (e *Expression) dates() []string {
	var parts []string
	for _, month := range e.Month.Values {
		parts = append(parts, fmt.Sprintf("%d %s", e.DayOfMonth.Values[0], monthNames[month]))
	}
	return parts
}

// monthDays say the days of a month.
func monthDays(f Field) string {
	if len(f.Days) == 0 {
		if step, first, last := equalSteps(f.Values); step > 1 {
			return fmt.Sprintf("every %s day from day %d to day %d of the month", ordinal(step), first, last)
		}
		return numbers("day", f.Values) + " of the month"
	}
	var parts []string
	for _, s := range spansOf(f.Values) {
		if s.first == s.last {
			parts = append(parts, "day "+strconv.Itoa(s.first))
		} else {
			parts = append(parts, fmt.Sprintf("days %d to %d", s.first, s.last))
		}
	}
	for _, day := range f.Days {
		if text := day.words(); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return join(parts, "and") + " of the month"
}

// equalSteps is the distance of five values and more if it is always the same; 0 for others.
func equalSteps(values []int) (step, first, last int) {
	if len(values) < longStretch {
		return 0, 0, 0
	}
	step = values[1] - values[0]
	for i := range values[1:] {
		if values[i+1]-values[i] != step {
			return 0, 0, 0
		}
	}
	return step, values[0], values[len(values)-1]
}

// fromMonday are days of the week in the order of a week, Sunday as 7.
func fromMonday(values []int) []int {
	var week []int
	for _, v := range values {
		if v == 0 {
			v = 7
		}
		week = append(week, v)
	}
	slices.Sort(week)
	return week
}

var mondayToFriday = []int{1, 2, 3, 4, 5}

// weekdays say days of the week: "Mondays and the last Friday of the month".
func weekdays(f Field) string {
	week := fromMonday(f.Values)
	var parts []string
	switch {
	case slices.Equal(week, mondayToFriday):
		parts = []string{"weekdays (Monday to Friday)"}
	default:
		parts = ranges(week, func(v int) string { return weekdayNames[v%7] + "s" })
	}
	return join(append(parts, ofMonth(f.Days, parts)...), "and")
}

// oneOfWeekdays says that a day is one of some: "a Monday or the last Friday of the month".
func oneOfWeekdays(f Field) string {
	week := fromMonday(f.Values)
	var parts []string
	if slices.Equal(week, mondayToFriday) {
		parts = []string{"a weekday (Monday to Friday)"}
	} else {
		for _, v := range week {
			parts = append(parts, "a "+weekdayNames[v%7])
		}
	}
	return join(append(parts, ofMonth(f.Days, parts)...), "or")
}

func ofMonth(days []Day, besides []string) []string {
	var parts []string
	for _, day := range days {
		if text := day.words() + " of the month"; !slices.Contains(parts, text) && !slices.Contains(besides, text) {
			parts = append(parts, text)
		}
	}
	return parts
}

// monthsWords say in which months; "" for all, and where the days name them.
func (e *Expression) monthsWords() string {
	if e.Month.All || e.daysWords() != "" && e.asDates() {
		return ""
	}
	return ", in " + join(ranges(e.Month.Values, func(m int) string { return monthNames[m] }), "and")
}

// yearsWords say in which years; "" for all.
func (e *Expression) yearsWords() string {
	switch {
	case !e.HasYear:
		return ""
	case len(e.Year.Values) == 1:
		return ", in the year " + strconv.Itoa(e.Year.Values[0])
	}
	return ", in the years " + join(ranges(e.Year.Values, strconv.Itoa), "and")
}
