// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A column is one of the five fields of a time.
type column struct {
	name     string
	from, to int
	names    []string // of the values, the first for from
	base     int      // the value of the first of names
}

var columns = [5]column{
	{name: "minute", from: 0, to: 59},
	{name: "hour", from: 0, to: 23},
	{name: "day of month", from: 1, to: 31},
	{name: "month", from: 1, to: 12, base: 1,
		names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", from: 0, to: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

const dayOfWeek = 4

// A field is what one of the five says.
type field struct {
	// values has a bit for each value that matches; Sunday is 0.
	values uint64
	// star tells that the text begins with "*", which is all that cron looks at where it asks for a star.
	star bool
	// full tells that every value matches.
	full bool
	// text says the same in the language of CronJobs and Timetables.
	text string
	// chosen are the values that stand for random ones, in words.
	chosen []string
}

// readField reads a field as the crons of distributions do. seed tells which value stands for a random one.
func readField(c *column, text, seed string) (field, error) {
	f := field{star: strings.HasPrefix(text, "*"), text: text}
	rewrite := false
	for item := range strings.SplitSeq(text, ",") {
		values, other, err := f.item(c, item, seed)
		if err != nil {
			return field{}, err
		}
		f.values |= values
		rewrite = rewrite || other
	}
	all := uint64(1)<<(c.to+1) - uint64(1)<<c.from
	if c == &columns[dayOfWeek] {
		f.values = f.values&0x7f | f.values>>7
		all = 0x7f
	}
	f.full = f.values == all
	if rewrite {
		f.text = listOf(f.values)
	}
	return f, nil
}

// item reads one item of a list. other tells that CronJobs do not read its text, or read it in another way.
func (f *field) item(c *column, item, seed string) (values uint64, other bool, err error) {
	fault := func(format string, args ...any) (uint64, bool, error) {
		return 0, false, fmt.Errorf("%s %q %s", c.name, item, fmt.Sprintf(format, args...))
	}
	span, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		if step, err = number(stepText); err != nil || step < 1 {
			return fault("has a step that is no number from 1 on; write it as in */5 or 10-50/5")
		}
	}
	random := strings.Contains(span, "~") || span == "H" || strings.HasPrefix(span, "H(")
	if random {
		return f.random(c, item, span, step, stepped, seed)
	}
	if span == "*" {
		return every(c.from, c.to, step), false, nil
	}
	low, high, ranged := strings.Cut(span, "-")
	first, err := c.value(low)
	if err != nil {
		return fault("%v", err)
	}
	if !ranged {
		if stepped {
			return fault("is read in different ways: some crons run at %s only and ignore the step, others refuse it; write %s-%d/%d, or %s alone",
				low, low, c.last(), step, low)
		}
		return every(first, first, 1), first == 7 && c.to == 7, nil
	}
	last, err := c.value(high)
	if err != nil {
		return fault("%v", err)
	}
	if c.to == 7 && last == 0 && first > 0 {
		last, other = 7, true // fri-sun
	}
	if last < first {
		return fault("goes backwards; write %s-%s,%s-%s", low, c.called(c.last()), c.called(c.from), high)
	}
	return every(first, last, step), other || last == 7 && c.to == 7, nil
}

// random reads the ranges of which cron draws a value when it reads the crontab (cronie, OpenBSD), and H of Jenkins.
// The value is a function of the line, so that it stays the same.
func (f *field) random(c *column, item, span string, step int, stepped bool, seed string) (uint64, bool, error) {
	low, high := c.from, c.last()
	var err error
	switch {
	case span == "H" && c.name == "day of month":
		high = 28
	case span == "H", span == "~":
	case strings.HasPrefix(span, "H(") && strings.HasSuffix(span, ")"):
		low, high, err = c.bounds(span[2:len(span)-1], "-", low, high)
	default:
		low, high, err = c.bounds(span, "~", low, high)
	}
	if err == nil && high < low {
		err = fmt.Errorf("goes backwards")
	}
	if err != nil {
		return 0, false, fmt.Errorf("%s %q %w", c.name, item, err)
	}
	sum := sha256.Sum256([]byte(seed + "\n" + c.name + "\n" + item))
	drawn := binary.BigEndian.Uint64(sum[:8])
	if stepped {
		step = min(step, high-low+1)
		first := low + int(drawn%uint64(step))
		f.chosen = append(f.chosen, fmt.Sprintf("%s %s became %d and every %d from there", c.name, item, first, step))
		return every(first, high, step), true, nil
	}
	value := low + int(drawn%uint64(high-low+1))
	f.chosen = append(f.chosen, fmt.Sprintf("%s %s became %d", c.name, item, value))
	return every(value, value, 1), true, nil
}

// bounds reads the two ends of a range, each of which may be left out.
func (c *column) bounds(text, separator string, low, high int) (int, int, error) {
	from, to, ok := strings.Cut(text, separator)
	if !ok {
		return 0, 0, fmt.Errorf("is no range; write it as in H(0-29) or 0~29")
	}
	var err error
	if from != "" {
		if low, err = c.value(from); err != nil {
			return 0, 0, err
		}
	}
	if to != "" {
		if high, err = c.value(to); err != nil {
			return 0, 0, err
		}
	}
	return low, high, nil
}

// last is the highest value, with Sunday as 0.
func (c *column) last() int {
	if c.to == 7 {
		return 6
	}
	return c.to
}

// called is the name of a value, or its number.
func (c *column) called(value int) string {
	if n := value - c.base; c.names != nil && n < len(c.names) {
		return c.names[n]
	}
	return strconv.Itoa(value)
}

// value reads a number or a name.
func (c *column) value(text string) (int, error) {
	if text == "" {
		return 0, fmt.Errorf("has an empty part; take the comma or hyphen out")
	}
	for n, name := range c.names {
		if strings.EqualFold(text, name) {
			return n + c.base, nil
		}
	}
	n, err := number(text)
	switch {
	case err != nil && strings.ContainsAny(text, "LW#?"):
		return 0, fmt.Errorf("is a word of other schedulers, which cron does not know; a Timetable does: write one with cron: \"… L …\" or its like")
	case err != nil && c.names != nil:
		return 0, fmt.Errorf("is not a number from %d to %d, nor a name of three letters such as %s", c.from, c.to, c.names[1])
	case err != nil:
		return 0, fmt.Errorf("is not a number from %d to %d", c.from, c.to)
	case n < c.from || n > c.to:
		return 0, fmt.Errorf("is out of range: it goes from %d to %d", c.from, c.to)
	}
	return n, nil
}

// number reads digits alone.
func number(text string) (int, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" || len(text) > 6 {
		return 0, fmt.Errorf("no number")
	}
	return strconv.Atoi(text)
}

func every(first, last, step int) uint64 {
	var values uint64
	for n := first; n <= last; n += step {
		values |= 1 << n
	}
	return values
}

// listOf writes values as a list of numbers and ranges.
func listOf(values uint64) string {
	var items []string
	for values != 0 {
		first := bits.TrailingZeros64(values)
		last := first + bits.TrailingZeros64(^(values >> first)) - 1
		switch last - first {
		case 0:
			items = append(items, strconv.Itoa(first))
		case 1:
			items = append(items, strconv.Itoa(first), strconv.Itoa(last))
		default:
			items = append(items, fmt.Sprintf("%d-%d", first, last))
		}
		values &^= 1<<(last+1) - 1
	}
	return strings.Join(items, ",")
}
