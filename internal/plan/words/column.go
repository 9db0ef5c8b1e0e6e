// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-dev/carillon/schedule"
)

// A column is a field of the language: its values and names.
type column struct {
	name     string
	min, max int // the values that there are
	names    map[string]int
	hash     string // the field's name in hashes; "" if it takes no H
	hashMax  int    // the last value of an H without a range
	days     func(item string) (Day, bool)
}

var (
	secondColumn = column{name: "second", max: 59, hash: "second", hashMax: 59}
	minuteColumn = column{name: "minute", max: 59, hash: "minute", hashMax: 59}
	hourColumn   = column{name: "hour", max: 23, hash: "hour", hashMax: 23}
	domColumn    = column{name: "day of month", min: 1, max: 31, hash: "dayOfMonth", hashMax: 28, days: monthDay}
	monthColumn  = column{name: "month", min: 1, max: 12, hash: "month", hashMax: 12, names: map[string]int{
		"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
	}}
	dowColumn  = column{name: "day of week", max: 6, hash: "dayOfWeek", hashMax: 6, days: weekDay, names: weekdayNumbers}
	yearColumn = column{name: "year", min: 1970, max: 2199}

	weekdayNumbers = map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
)

func (c *column) size() int { return c.max - c.min + 1 }

// at is the value that comes so many after another one; behind the last comes the first.
func (c *column) at(value, steps int) int { return c.min + (value-c.min+steps)%c.size() }

// number reads a value or a name, as it stands: 7 is not yet Sunday.
func (c *column) number(text string) int {
	if v, ok := c.names[strings.ToLower(text)]; ok {
		return v
	}
	v, _ := strconv.Atoi(text)
	return max(v, c.min)
}

// reader reads fields that package schedule has accepted.
type reader struct {
	language Language
	hash     schedule.Hash
	name     string
}

func (r reader) field(c *column, text string) Field {
	f := Field{Name: c.name, Text: text}
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			f.Accidents = append(f.Accidents, "an empty list item")
			continue
		}
		if r.language == Timetable && c.days != nil {
			if day, ok := c.days(item); ok {
				f.Days = append(f.Days, day)
				continue
			}
		}
		r.item(c, item, &f)
	}
	slices.Sort(f.Values)
	f.Values = slices.Compact(f.Values)
	f.All = len(f.Values) == c.size()
	return f
}

// item reads one of "*", "N", "A-B" and H, with or without a step.
func (r reader) item(c *column, item string, f *Field) {
	span, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		step, _ = strconv.Atoi(stepText)
		step = min(max(step, 1), c.size()) // a step beyond the end leaves the start alone
	}
	if strings.ContainsRune(item, '+') {
		f.Accidents = append(f.Accidents, "a plus sign")
	}
	start, length := c.min, c.size()
	star := false
	low, high, ranged := strings.Cut(span, "-")
	switch {
	case r.language == Timetable && strings.HasPrefix(strings.ToUpper(span), "H"):
		r.hashItem(c, item, span[1:], step, stepped, f)
		return
	case low == "*" || low == "?":
		star = true
		if ranged {
			f.Accidents = append(f.Accidents, "text behind a star")
		}
	default:
		start, length = c.span(low, high, ranged)
		if stepped && !ranged {
			length = c.max - start + 1
		}
	}
	f.Starred = f.Starred || star && step == 1
	var values []int
	for i := 0; i < length; i += step {
		values = append(values, c.at(start, i))
	}
	if step > 1 {
		f.Steps = append(f.Steps, Step{Item: item, Step: step, Values: values, Star: star})
	}
	f.Values = append(f.Values, values...)
}

// span reads N or A-B, which goes round if A is above B.
func (c *column) span(low, high string, ranged bool) (start, length int) {
	start, end := c.number(low), c.number(high)
	alone := !ranged || start == end
	if start > c.max {
		start = c.min // Sunday at the start is the one that begins a week
	}
	if alone {
		return start, 1
	}
	if end < start {
		end += c.size()
	}
	return start, end - start + 1
}

// hashItem reads what follows the H of an item.
func (r reader) hashItem(c *column, item, text string, step int, stepped bool, f *Field) {
	start, length := c.min, c.hashMax-c.min+1
	if inside := strings.Trim(text, "()"); inside != "" {
		low, high, ranged := strings.Cut(inside, "-")
		start, length = c.span(low, high, ranged)
		length = min(length, c.size())
	}
	value := r.hash.Value(r.name, c.hash)
	var values []int
	if !stepped {
		values = []int{c.at(start, int(value%uint64(max(length, 1))))}
	} else {
		for i := int(value % uint64(step)); i < length; i += step {
			values = append(values, c.at(start, i))
		}
	}
	f.Hashed = append(f.Hashed, Hashed{Item: item, Values: values})
	f.Values = append(f.Values, values...)
}
