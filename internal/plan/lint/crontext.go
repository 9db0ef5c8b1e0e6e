// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"
)

// cronText is one cron expression of an object, cut into its five fields.
type cronText struct {
	path Path
	// text is what is written; zone what stands before it after TZ= or CRON_TZ=, and bare the text without that.
	text, zone, bare string
	// fields are minute, hour, day of month, month and day of week; nil for @every and what has another number of them.
	fields []string
	// both: days must match both day fields (dayRule of a Timetable).
	both bool
}

// macros are the five fields that a descriptor stands for.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// crons are the cron expressions of a CronJob or Timetable.
func (s *Subject) crons() []cronText {
	if s.scheduled == nil {
		return nil
	}
	if s.timetable == nil {
		if text := s.text("spec", "schedule"); text != "" {
			return []cronText{readCron(at("spec", "schedule"), text)}
		}
		return nil
	}
	var all []cronText
	items, _ := s.written("spec", "schedules")
	list, _ := items.([]any)
	for i := range list {
		if text := s.text("spec", "schedules", i, "cron"); text != "" {
			c := readCron(at("spec", "schedules", i, "cron"), text)
			c.both = s.text("spec", "schedules", i, "dayRule") == "Both"
			all = append(all, c)
		}
	}
	return all
}

// eachCron asks about each cron expression.
func eachCron(check func(*Subject, cronText) []problem) func(*Subject) []problem {
	return func(s *Subject) []problem {
		var found []problem
		for _, c := range s.crons() {
			found = append(found, check(s, c)...)
		}
		return found
	}
}

func readCron(path Path, text string) cronText {
	c := cronText{path: path, text: text, bare: strings.TrimSpace(text)}
	for _, prefix := range []string{"TZ=", "CRON_TZ="} {
		if rest, ok := strings.CutPrefix(c.bare, prefix); ok {
			zone, expression, _ := strings.Cut(rest, " ")
			c.zone, c.bare = zone, strings.TrimSpace(expression)
		}
	}
	plain := c.bare
	if five, ok := macros[strings.ToLower(plain)]; ok {
		plain = five
	}
	fields := strings.Fields(plain)
	switch len(fields) {
	case 5:
		c.fields = fields
	case 6: // seconds first
		c.fields = fields[1:]
	case 7: // and a year last
		c.fields = fields[1:6]
	}
	if strings.HasPrefix(plain, "@") {
		c.fields = nil
	}
	return c
}

// every is the length of time of an @every, as it is written.
func (c cronText) every() (string, bool) {
	rest, ok := strings.CutPrefix(c.bare, "@every")
	return strings.TrimSpace(rest), ok
}

// starred tells whether a field leaves the choice to the others: an item of it begins with * or ? and has no step
// above 1.
func starred(field string) bool {
	for item := range strings.SplitSeq(field, ",") {
		head, step, stepped := strings.Cut(item, "/")
		if (head == "*" || head == "?") && (!stepped || step == "1") {
			return true
		}
	}
	return false
}

// stepOf reads an item */N or 0/N of a field that counts from first: how far apart its values are meant to be.
func stepOf(item string, first int) (step int, ok bool) {
	head, text, stepped := strings.Cut(item, "/")
	if !stepped || head != "*" && head != "?" && head != strconv.Itoa(first) && !strings.HasPrefix(head, strconv.Itoa(first)+"-") {
		return 0, false
	}
	step, err := strconv.Atoi(text)
	return step, err == nil && step > 0
}
