// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
)

// Compile makes a Schedule of a text in the extended language, which the package documentation shows. It reads what
// [Parse] reads, but no zone prefix, no "@every", and none of what Parse takes by accident: empty list items, text
// behind a star, a plus sign. Beyond that it takes a sixth field (seconds, first) and a seventh (the year, last),
// ranges that wrap, days such as L, 15W and TUE#2, and the hashed values H, H(A-B), H/S and H(A-B)/S.
//
// Where the text names hours, times that the clock skips or shows twice go where o.DST says. An item that compiles can
// still name no date at all; see [Schedule.Satisfiable]. The error is a [*ParseError] that names the item.
func Compile(item Item, o Options) (Schedule, error) {
	s, err := compile(item, o)
	if err != nil {
		err.Name, err.Schedule = item.Name, item.Cron
		return Schedule{}, err
	}
	return s, nil
}

func compile(item Item, o Options) (Schedule, *ParseError) {
	if err := o.check(); err != nil {
		return Schedule{}, &ParseError{Problem: err.Error()}
	}
	text := strings.Trim(item.Cron, " \t")
	switch {
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		prefix, _, _ := strings.Cut(text, " ")
		return Schedule{}, &ParseError{Field: "time zone", Value: prefix, Problem: "is no part of cron; use timeZone"}
	case text == "@every" || strings.HasPrefix(text, "@every "):
		return Schedule{}, &ParseError{Field: "descriptor", Value: "@every", Problem: "is no part of cron; use every, as in every: 90m"}
	case strings.HasPrefix(text, "@"):
		fields, ok := descriptors[text]
		if !ok {
			return Schedule{}, &ParseError{Field: "descriptor", Value: text,
				Problem: "is unknown; use @yearly, @monthly, @weekly, @daily or @hourly"}
		}
		text = fields
	}
	fields := strings.Fields(text)
	switch len(fields) {
	case 5:
		fields = append([]string{"0"}, fields...)
	case 6, 7:
	default:
		return Schedule{}, &ParseError{Problem: fmt.Sprintf("has %d fields; want the five fields minute hour day-of-month month "+
			"day-of-week; a sixth is seconds and comes first, a seventh is the year and comes last", len(fields))}
	}
	return compileFields(fields, item, o)
}

// compileFields reads the fields from the second to the day of week, and the year if there is one.
func compileFields(texts []string, item Item, o Options) (Schedule, *ParseError) {
	columns := [...]*column{&secondColumn, &minuteColumn, &hourColumn, &domColumn, &monthColumn, &dowColumn, &yearColumn}
	var bits [6]uint64
	var starred [7]bool
	var byMonth, byWeek []monthDay
	var years *yearSet
	if len(texts) == len(columns) {
		years = &yearSet{}
	}
	for i, text := range texts {
		c := columns[i]
		add := func(v int) { bits[i] |= 1 << v }
		var special func(item string) (bool, *ParseError)
		switch c {
		case &domColumn:
			special = collect(&byMonth, monthDayOf)
		case &dowColumn:
			special = collect(&byWeek, weekdayOf)
		case &yearColumn:
			add = years.add
		}
		var err *ParseError
		if starred[i], err = c.list(text, hashed{o.Hash, item.Name}, special, add); err != nil {
			err.Field = c.name
			return Schedule{}, err
		}
	}

	// A starred day field leaves the choice to the other one.
	either := o.DayRule != DayRuleBoth && !starred[3] && !starred[5]
	days := newDates(years, bits[4], func(first, length int) uint32 {
		inMonth, inWeek := uint32(bits[3]), onWeekdays(bits[5], first)
		for _, day := range byMonth {
			inMonth |= day(first, length)
		}
		for _, day := range byWeek {
			inWeek |= day(first, length)
		}
		if either {
			return inMonth | inWeek
		}
		return inMonth & inWeek
	})
	r := newRule(bits[0], bits[1], bits[2], days, zoneOf(zoneOrUTC(o.Zone)))
	if namesHours(texts[2]) {
		r.place(o.DST)
	}
	return Schedule{r}, nil
}

// collect returns a function that keeps what read makes of an item.
func collect(days *[]monthDay, read func(item string) (monthDay, *ParseError)) func(item string) (bool, *ParseError) {
	return func(item string) (bool, *ParseError) {
		day, err := read(item)
		if day != nil {
			*days = append(*days, day)
		}
		return day != nil, err
	}
}

// namesHours tells whether an hour field has no item that begins with "*" or "?".
func namesHours(list string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if strings.HasPrefix(item, "*") || strings.HasPrefix(item, "?") {
			return false
		}
	}
	return true
}
