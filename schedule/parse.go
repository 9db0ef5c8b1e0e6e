// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// field describes one of the five columns of an expression.
type field struct {
	name     string
	min, max int
	names    map[string]int
	note     string // added when a value is out of range
}

var (
	minuteField = field{name: "minute", min: 0, max: 59}
	hourField   = field{name: "hour", min: 0, max: 23}
	domField    = field{name: "day of month", min: 1, max: 31}
	monthField  = field{name: "month", min: 1, max: 12, names: map[string]int{
		"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
		"jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
	}}
	dowField = field{name: "day of week", min: 0, max: 6, note: " (0 is Sunday)", names: map[string]int{
		"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6,
	}}
)

// descriptors are the whole-text shorthands, written as what they stand for.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// Parse reads a schedule in the language of Kubernetes CronJobs: five fields (minute,
// hour, day of month, month, day of week), a descriptor such as "@daily", or
// "@every D", each with an optional zone in front ("TZ=Asia/Tokyo 0 6 * * *",
// also "CRON_TZ="). loc is the zone used when the text carries none; nil means
// UTC.
//
// It accepts exactly what ParseStandard of github.com/robfig/cron v3 accepts. An
// expression that parses can still name no date at all; see
// [Schedule.Satisfiable]. The error is a [*ParseError]. Where [Compile] would take
// the text it says that a Timetable does: that is the kind of object of Carillon
// which is written in the extended language.
func Parse(expr string, loc *time.Location) (Schedule, error) {
	s, err := parse(expr, loc)
	if err != nil {
		if _, refused := compile(Item{Cron: expr}, Options{}); refused == nil {
			err.Problem += "; a Timetable takes this schedule"
		}
		return Schedule{}, err
	}
	return s, nil
}

func parse(expr string, loc *time.Location) (Schedule, *ParseError) {
	if expr == "" {
		return Schedule{}, &ParseError{Problem: "is empty; " + usage}
	}
	loc = zoneOrUTC(loc)
	rest := expr
	if strings.HasPrefix(expr, "TZ=") || strings.HasPrefix(expr, "CRON_TZ=") {
		prefix, after, found := strings.Cut(expr, " ")
		_, name, _ := strings.Cut(prefix, "=")
		if !found {
			return Schedule{}, &ParseError{Schedule: expr, Field: "time zone", Value: name,
				Problem: "is not followed by a blank and a schedule"}
		}
		var err error
		if loc, err = LoadZone(name); err != nil {
			return Schedule{}, &ParseError{Schedule: expr, Field: "time zone", Value: name, Problem: zoneProblem, Err: err}
		}
		rest = strings.TrimSpace(after)
	}

	if strings.HasPrefix(rest, "@") {
		if d, ok := strings.CutPrefix(rest, "@every "); ok {
			return parseEvery(expr, d)
		}
		fields, ok := descriptors[rest]
		if !ok {
			return Schedule{}, &ParseError{Schedule: expr, Field: "descriptor", Value: rest,
				Problem: "is unknown; use @yearly, @monthly, @weekly, @daily, @hourly or \"@every 1h30m\""}
		}
		rest = fields
	}
	return parseFields(expr, rest, loc)
}

const usage = "want five fields: minute hour day-of-month month day-of-week"

// parseEvery reads the D of "@every D". A period is whole seconds, at least one.
func parseEvery(expr, text string) (Schedule, *ParseError) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return Schedule{}, &ParseError{Schedule: expr, Field: "duration", Value: text,
			Problem: "cannot be read; write a number and a unit (s, m, h), as in 90s or 1h30m"}
	}
	return Schedule{&rule{every: max(int64(d/time.Second), 1)}}, nil
}

func parseFields(expr, rest string, loc *time.Location) (Schedule, *ParseError) {
	var texts [5]string
	n := 0
	for text := range strings.FieldsSeq(rest) {
		if n < len(texts) {
			texts[n] = text
		}
		n++
	}
	if n != len(texts) {
		problem := fmt.Sprintf("has %d fields; %s", n, usage)
		if n == len(texts)+1 {
			problem += " (there is no field for seconds, and a time zone is not part of them)"
		}
		return Schedule{}, &ParseError{Schedule: expr, Problem: problem}
	}

	var bits [5]uint64
	var starred [5]bool
	for i, f := range [...]*field{&minuteField, &hourField, &domField, &monthField, &dowField} {
		var perr *ParseError
		if bits[i], starred[i], perr = f.parse(texts[i]); perr != nil {
			perr.Schedule, perr.Field = expr, f.name
			return Schedule{}, perr
		}
	}
	// A starred day field leaves the choice to the other one; two restricted ones
	// are alternatives.
	days := newDates(nil, bits[3], daysByFields(bits[2], bits[4], !starred[2] && !starred[4]))
	return Schedule{newRule(1, bits[0], bits[1], days, zoneOf(loc))}, nil
}

// parse reads a comma list. starred tells whether an item is "*" or "?" without a
// step above 1; such an item sets every bit of the field, too. Empty items count
// for nothing, so "," is the empty set.
func (f *field) parse(list string) (bits uint64, starred bool, err *ParseError) {
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		b, star, err := f.item(item)
		if err != nil {
			return 0, false, err
		}
		bits |= b
		starred = starred || star
	}
	return bits, starred, nil
}

// item reads one of "*", "?", "N" and "A-B", each with an optional "/S".
func (f *field) item(item string) (bits uint64, starred bool, err *ParseError) {
	span, stepText, stepped := strings.Cut(item, "/")
	if strings.Contains(stepText, "/") {
		return 0, false, &ParseError{Value: item, Problem: "has more than one step; write A-B/S"}
	}
	lowText, highText, ranged := strings.Cut(span, "-")

	step := 1
	if stepped {
		var perr *ParseError
		if step, perr = f.number(item, stepText, nil); perr != nil {
			return 0, false, perr
		}
		if step == 0 {
			return 0, false, &ParseError{Value: item, Problem: "has step 0; a step is at least 1"}
		}
	}

	low, high := f.min, f.max
	if lowText == "*" || lowText == "?" {
		// Whatever follows a hyphen here is ignored, as upstream does.
		starred = step == 1
	} else {
		if strings.Contains(highText, "-") {
			return 0, false, &ParseError{Value: item, Problem: "has more than one hyphen; write A-B"}
		}
		var perr *ParseError
		if low, perr = f.number(item, lowText, f.names); perr != nil {
			return 0, false, perr
		}
		switch {
		case ranged:
			if high, perr = f.number(item, highText, f.names); perr != nil {
				return 0, false, perr
			}
		case !stepped:
			high = low
		}
		if low < f.min || low > f.max || high > f.max {
			return 0, false, &ParseError{Value: item, Problem: fmt.Sprintf("is out of range %d-%d%s", f.min, f.max, f.note)}
		}
		if low > high {
			return 0, false, &ParseError{Value: item, Problem: fmt.Sprintf("runs backwards; write %s-%d,%d-%s", lowText, f.max, f.min, highText)}
		}
	}

	// A step past the end of the field selects the start alone.
	step = min(step, f.max+1)
	for v := low; v <= high; v += step {
		bits |= 1 << v
	}
	return bits, starred, nil
}

func zoneOrUTC(loc *time.Location) *time.Location {
	if loc == nil {
		return time.UTC
	}
	return loc
}

// number reads a value or, with names, a name in any letter case.
func (f *field) number(item, text string, names map[string]int) (int, *ParseError) {
	if v, ok := names[strings.ToLower(text)]; ok {
		return v, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n >= 0:
		return n, nil
	case err == nil:
		return 0, &ParseError{Value: item, Problem: "is negative"}
	case errors.Is(err, strconv.ErrRange):
		return 0, &ParseError{Value: item, Problem: "is too large"}
	case names != nil:
		return 0, &ParseError{Value: item, Problem: fmt.Sprintf("is neither a number nor a three-letter name; use %d-%d%s", f.min, f.max, f.note)}
	default:
		return 0, &ParseError{Value: item, Problem: fmt.Sprintf("is not a number; use %d-%d%s", f.min, f.max, f.note)}
	}
}
