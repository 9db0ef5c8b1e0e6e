// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// A calendarEvent is a value of OnCalendar= in the language of Timetables: a cron expression or a single moment.
type calendarEvent struct {
	cron string
	// both tells that a day must match day of month and day of week.
	both bool
	at   string
	// zone is the time zone that the value names; "" for that of the machine.
	zone string
}

// shorthands are words that stand for a whole event.
var shorthands = map[string]string{
	"minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00", "monthly": "*-*-01 00:00:00",
	"weekly": "Mon *-*-* 00:00:00", "yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00",
	"quarterly": "*-01,04,07,10-01 00:00:00", "semiannually": "*-01,07-01 00:00:00", "semi-annually": "*-01,07-01 00:00:00",
	"biannually": "*-01,07-01 00:00:00", "bi-annually": "*-01,07-01 00:00:00",
}

// readCalendar reads a value of OnCalendar=.
func readCalendar(text string) (calendarEvent, error) {
	fail := func(format string, args ...any) (calendarEvent, error) {
		return calendarEvent{}, fmt.Errorf("OnCalendar=%s: %s", text, fmt.Sprintf(format, args...))
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return fail("there is nothing")
	}
	var event calendarEvent
	if last := words[len(words)-1]; isZone(last) {
		event.zone, words = last, words[:len(words)-1]
	}
	if len(words) == 1 {
		if full, ok := shorthands[strings.ToLower(words[0])]; ok {
			words = strings.Fields(full)
		} else if seconds, ok := strings.CutPrefix(words[0], "@"); ok {
			unix, err := strconv.ParseInt(seconds, 10, 64)
			if err != nil || unix < 0 || unix > 1<<33 {
				return fail("%s is no count of seconds since 1970", words[0])
			}
			event.at = time.Unix(unix, 0).UTC().Format("2006-01-02T15:04:05Z")
			return event, nil
		}
	}
	weekdays, date, clock := "*", "*-*-*", "00:00:00"
	if len(words) > 0 && words[0] != "" && isLetter(words[0][0]) {
		list, err := readWeekdays(strings.TrimSuffix(words[0], ","))
		if err != nil {
			return fail("%v", err)
		}
		weekdays, words = list, words[1:]
	}
	if len(words) == 1 && strings.ContainsRune(words[0], 'T') {
		words = strings.SplitN(words[0], "T", 2)
	}
	hasDate := false
	for n, word := range words {
		switch {
		case strings.ContainsRune(word, ':') && n == len(words)-1:
			clock = word
		case strings.ContainsAny(word, "-~") && n == 0 && !hasDate:
			date, hasDate = word, true
		default:
			return fail("%q is neither days of the week, a date, a time of day nor a time zone", word)
		}
	}
	fields, err := readDate(date)
	if err == nil {
		err = fields.readClock(clock)
	}
	if err != nil {
		return fail("%v", err)
	}
	if fields.single() && weekdays == "*" {
		event.at = fmt.Sprintf("%s-%02s-%02sT%02s:%02s:%02s", fields.year, fields.month, fields.day, fields.hour, fields.minute, fields.second)
		return event, nil
	}
	event.both = weekdays != "*" && fields.day != "*"
	event.cron = strings.Join([]string{fields.minute, fields.hour, fields.day, fields.month, weekdays}, " ")
	if fields.second != "0" || fields.year != "*" {
		event.cron = fields.second + " " + event.cron
	}
	if fields.year != "*" {
		event.cron += " " + fields.year
	}
	read, err := schedule.Compile(schedule.Item{Cron: event.cron}, schedule.Options{DayRule: event.dayRule()})
	if err != nil {
		return fail("%v", err)
	}
	if !read.Satisfiable() {
		return fail("there is no such day, so it never comes")
	}
	return event, nil
}

func (e calendarEvent) dayRule() schedule.DayRule {
	if e.both {
		return schedule.DayRuleBoth
	}
	return schedule.DayRuleEither
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isZone tells whether a word at the end names a time zone.
func isZone(word string) bool {
	if word == "" || !isLetter(word[0]) || strings.EqualFold(word, "local") {
		return false
	}
	if _, err := readWeekdays(word); err == nil {
		return false
	}
	if _, ok := shorthands[strings.ToLower(word)]; ok {
		return false
	}
	_, err := schedule.LoadZone(word)
	return err == nil
}

// calendarFields are the parts of an event in the language of cron.
type calendarFields struct{ year, month, day, hour, minute, second string }

const (
	firstYear = 1970
	lastYear  = 2199
)

// readDate reads "2027-03-01", "*-05~07/1" and "03-01".
func readDate(text string) (calendarFields, error) {
	fields := calendarFields{year: "*"}
	end := strings.LastIndexAny(text, "-~")
	head, days, fromEnd := text[:end], text[end+1:], text[end] == '~'
	year, month, hasYear := strings.Cut(head, "-")
	if !hasYear {
		year, month = "*", head
	}
	var err error
	if fields.year, err = readComponent("year", year, firstYear, lastYear); err != nil {
		return fields, err
	}
	if fields.month, err = readComponent("month", month, 1, 12); err != nil {
		return fields, err
	}
	if fromEnd {
		fields.day, err = readFromEnd(days)
	} else {
		fields.day, err = readComponent("day", days, 1, 31)
	}
	return fields, err
}

// readClock reads "02:30" and "02:30:15".
func (f *calendarFields) readClock(text string) error {
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append(parts, "0")
	}
	if len(parts) != 3 {
		return fmt.Errorf("%q is no time of day; write it as 02:30 or 02:30:15", text)
	}
	if whole, fraction, ok := strings.Cut(parts[2], "."); ok && !strings.HasPrefix(fraction, ".") {
		if strings.Trim(fraction, "0") != "" {
			return fmt.Errorf("%q: times are whole seconds here", text)
		}
		parts[2] = whole
	}
	var err error
	if f.hour, err = readComponent("hour", parts[0], 0, 23); err != nil {
		return err
	}
	if f.minute, err = readComponent("minute", parts[1], 0, 59); err != nil {
		return err
	}
	f.second, err = readComponent("second", parts[2], 0, 59)
	return err
}

// single tells whether the fields name one moment.
func (f calendarFields) single() bool {
	return strings.Trim(f.year+f.month+f.day+f.hour+f.minute+f.second, "0123456789") == ""
}

// readComponent reads "*", and lists of "5", "5..9", "5/2" and "5..9/2".
func readComponent(name, text string, low, high int) (string, error) {
	if text == "*" {
		return "*", nil
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		first, last, ranged := strings.Cut(span, "..")
		if span == "*" && stepped {
			return "", fmt.Errorf("%s %q: a repetition begins at a number: write %d/%s", name, item, low, step)
		}
		from, err := readValue(name, first, low, high)
		to := high
		if err == nil && ranged {
			to, err = readValue(name, last, low, high)
		}
		by := 1
		if err == nil && stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 || by > 10000 {
				err = fmt.Errorf("%s %q: %q is no distance from 1 on", name, item, step)
			}
		}
		switch {
		case err != nil:
			return "", err
		case to < from:
			return "", fmt.Errorf("%s %q goes backwards", name, item)
		case !ranged && !stepped:
			items = append(items, strconv.Itoa(from))
		case stepped:
			items = append(items, fmt.Sprintf("%d-%d/%d", from, to, by))
		default:
			items = append(items, fmt.Sprintf("%d-%d", from, to))
		}
	}
	return strings.Join(items, ","), nil
}

func readValue(name, text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%s: %q is no number", name, text)
	}
	if name == "year" && len(text) <= 2 {
		if n += 2000; n >= 2070 {
			n -= 100
		}
	}
	if n < low || n > high {
		return 0, fmt.Errorf("%s: %d is out of range: it goes from %d to %d", name, n, low, high)
	}
	return n, nil
}

// readFromEnd reads days that are counted from the end of the month: 1 is the last, "7/1" are the last seven.
func readFromEnd(text string) (string, error) {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		first, step, stepped := strings.Cut(item, "/")
		last := "1"
		if low, high, ranged := strings.Cut(first, ".."); ranged { // "3..5" is from the fifth to the third day before the end
			first, last = high, low
		} else if !stepped {
			last = first
		}
		from, err := readValue("day", first, 1, 31)
		to, by := 1, 1
		if err == nil {
			to, err = readValue("day", last, 1, 31)
		}
		if err == nil && stepped {
			by, err = readValue("day", step, 1, 31)
		}
		switch {
		case err != nil:
			return "", err
		case from < to:
			return "", fmt.Errorf("day ~%s goes backwards: write ~%d..%d", item, from, to)
		}
		for n := from; n >= to; n -= by {
			if n == 1 {
				items = append(items, "L")
			} else {
				items = append(items, fmt.Sprintf("L-%d", n-1))
			}
		}
	}
	return strings.Join(items, ","), nil
}
