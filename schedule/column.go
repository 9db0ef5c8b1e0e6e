// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
)

// column is a field of the language of timetable.md 3.1, which wraps ranges and hashes values.
type column struct {
	field
	// last is the last value there is. It is below max in the day of week, where 7 is Sunday once more.
	last int
	// hash is the field's name in hashes, and hashLast the last value of an H without a range. The year has none.
	hash     string
	hashLast int
}

var (
	secondColumn = column{field{name: "second", min: 0, max: 59}, 59, "second", 59}
	minuteColumn = column{minuteField, 59, "minute", 59}
	hourColumn   = column{hourField, 23, "hour", 23}
	domColumn    = column{domField, 31, "dayOfMonth", 28}
	monthColumn  = column{monthField, 12, "month", 12}
	dowColumn    = column{field{name: "day of week", min: 0, max: 7, note: " (0 and 7 are Sunday)", names: dowField.names}, 6, "dayOfWeek", 6}
	yearColumn   = column{field: field{name: "year", min: firstYear, max: lastYear}, last: lastYear}
)

// run is some values of a column, one after the other; behind the last comes the first.
type run struct{ start, length int }

// hashed says where an H gets its value from.
type hashed struct {
	hash     Hash
	schedule string
}

// list reads a comma list and gives each value to add, some more than once. starred tells whether an item is "*" or
// "?" without a step above 1. special, which may be nil, takes the items that are days told in another way.
func (c *column) list(text string, h hashed, special func(item string) (bool, *ParseError), add func(v int)) (starred bool, err *ParseError) {
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			return false, &ParseError{Problem: "has an empty list item; write a value between two commas, or one comma"}
		}
		if special != nil {
			taken, err := special(item)
			if err != nil {
				return false, err
			}
			if taken {
				continue
			}
		}
		star, err := c.item(item, h, add)
		if err != nil {
			return false, err
		}
		starred = starred || star
	}
	return starred, nil
}

// item reads one of "*", "?", "N", "A-B", "H" and "H(A-B)", each with an optional "/S".
func (c *column) item(item string, h hashed, add func(v int)) (starred bool, err *ParseError) {
	text, stepText, stepped := strings.Cut(item, "/")
	if strings.Contains(stepText, "/") {
		return false, &ParseError{Value: item, Problem: "has more than one step; write A-B/S"}
	}
	step := 1
	if stepped {
		if step, err = c.digits(item, stepText); err != nil {
			return false, err
		}
	}
	if text != "" && (text[0] == 'H' || text[0] == 'h') {
		return false, c.hashItem(item, text[1:], step, stepped, h, add)
	}
	if step == 0 {
		return false, &ParseError{Value: item, Problem: "has step 0; a step is at least 1"}
	}
	values := run{c.min, c.last - c.min + 1}
	switch {
	case text == "*" || text == "?":
		starred = step == 1
	case strings.HasPrefix(text, "*") || strings.HasPrefix(text, "?"):
		return false, &ParseError{Value: item, Problem: "has something behind the star; write * for all values, or A-B"}
	default:
		if values, err = c.span(item, text); err != nil {
			return false, err
		}
		if stepped && !strings.Contains(text, "-") {
			values.length = c.last - values.start + 1
		}
	}
	for i := 0; i < values.length; i += step {
		add(c.at(values, i))
		if step >= values.length {
			break // so that i cannot overflow
		}
	}
	return starred, nil
}

// hashItem reads what follows the H of an item.
func (c *column) hashItem(item, text string, step int, stepped bool, h hashed, add func(v int)) *ParseError {
	if c.hash == "" {
		return &ParseError{Value: item, Problem: fmt.Sprintf("has an H, which a %s does not take; use %d-%d", c.name, c.min, c.max)}
	}
	values := run{c.min, c.hashLast - c.min + 1}
	if text != "" {
		inside, opened := strings.CutPrefix(text, "(")
		inside, closed := strings.CutSuffix(inside, ")")
		if !opened || !closed || !strings.Contains(inside, "-") {
			return &ParseError{Value: item, Problem: "cannot be read; write H, H(A-B), H/S or H(A-B)/S"}
		}
		var err *ParseError
		if values, err = c.span(item, inside); err != nil {
			return err
		}
		values.length = min(values.length, c.last-c.min+1)
	}
	value := h.hash.Value(h.schedule, c.hash)
	if !stepped {
		add(c.at(values, int(value%uint64(values.length))))
		return nil
	}
	if step < 1 || step > values.length {
		return &ParseError{Value: item, Problem: fmt.Sprintf("has a step outside 1-%d", values.length)}
	}
	for i := int(value % uint64(step)); i < values.length; i += step {
		add(c.at(values, i))
	}
	return nil
}

// span reads "N" or "A-B", which goes round if A is above B.
func (c *column) span(item, text string) (run, *ParseError) {
	lowText, highText, ranged := strings.Cut(text, "-")
	if strings.Contains(highText, "-") {
		return run{}, &ParseError{Value: item, Problem: "has more than one hyphen; write A-B"}
	}
	low, err := c.value(item, lowText)
	if err != nil {
		return run{}, err
	}
	high := low
	if ranged {
		if high, err = c.value(item, highText); err != nil {
			return run{}, err
		}
	}
	alone := low == high
	if low > c.last {
		low = c.min // Sunday at the start is the one that begins a week
	}
	switch size := c.last - c.min + 1; {
	case alone:
		return run{low, 1}, nil
	case low <= high:
		return run{low, high - low + 1}, nil
	case c.hash == "":
		return run{}, &ParseError{Value: item, Problem: "runs backwards, and years do not come again; write A-B with A up to B"}
	default:
		return run{low, high - low + 1 + size}, nil
	}
}

// at returns a value of a run.
func (c *column) at(values run, i int) int {
	return c.min + (values.start-c.min+i)%(c.last-c.min+1)
}

// value reads a number of the column, or a name.
func (c *column) value(item, text string) (int, *ParseError) {
	if v, ok := c.names[strings.ToLower(text)]; ok {
		return v, nil
	}
	v, err := c.number(item, strings.TrimPrefix(text, "+"), c.names)
	if strings.HasPrefix(text, "+") && err == nil {
		return 0, &ParseError{Value: item, Problem: "has a plus sign; write the number alone"}
	}
	if err != nil {
		return 0, err
	}
	if v < c.min || v > c.max {
		return 0, c.outOfRange(item)
	}
	return v, nil
}

// digits reads a number without a name or a sign.
func (c *column) digits(item, text string) (int, *ParseError) {
	if strings.HasPrefix(text, "+") {
		return 0, &ParseError{Value: item, Problem: "has a plus sign; write the number alone"}
	}
	v, err := c.number(item, text, nil)
	if err != nil && err.Problem != "is negative" && err.Problem != "is too large" {
		err = &ParseError{Value: item, Problem: "has a step that is not a number; write A-B/S"}
	}
	return v, err
}

func (c *column) outOfRange(item string) *ParseError {
	return &ParseError{Value: item, Problem: fmt.Sprintf("is out of range %d-%d%s", c.min, c.max, c.note)}
}
