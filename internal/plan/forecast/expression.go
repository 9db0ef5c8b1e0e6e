// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// An expression is the text of a cron schedule, cut at its minute.
type expression struct {
	// before and after are the text around the minute, with the blanks.
	before, minute, after string
}

// descriptors are the shorthands that start at minute 0, as what they stand for.
var descriptors = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseExpression reads the text of a schedule that is known to be one; false for those that have no minute of their
// own, such as "@every 5m".
func parseExpression(text string) (expression, bool) {
	zone := ""
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		prefix, rest, found := strings.Cut(text, " ")
		if !found {
			return expression{}, false
		}
		zone, text = prefix+" ", rest
	}
	if long, ok := descriptors[strings.ToLower(strings.TrimSpace(text))]; ok {
		text = long
	}
	fields := strings.Fields(text)
	if len(fields) < 5 || len(fields) > 7 {
		return expression{}, false
	}
	n := 0
	if len(fields) > 5 {
		n = 1 // that before the minute is the second
	}
	before := zone
	if n > 0 {
		before += fields[0] + " "
	}
	return expression{before: before, minute: fields[n], after: " " + strings.Join(fields[n+1:], " ")}, true
}

// with is the text with another minute.
func (e expression) with(minute string) string { return e.before + minute + e.after }

// even reads the minute as first, first+step and so on through the hour, each with the same distance to the next, also
// over the end of the hour. One single minute has step 60. False for anything else, and for every minute.
func (e expression) even() (first, step int, ok bool) {
	set, ok := minutes(e.minute)
	if !ok || set == 0 {
		return 0, 0, false
	}
	n := bits.OnesCount64(set)
	if n == 60 || 60%n != 0 {
		return 0, 0, false
	}
	first, step = bits.TrailingZeros64(set), 60/n
	for m := first; m < 60; m += step {
		if set&(1<<m) == 0 {
			return 0, 0, false
		}
	}
	return first, step, first < step
}

// minutes reads a minute field into a set of bits. False for what it does not know, hashed values among it.
func minutes(text string) (set uint64, ok bool) {
	for item := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		step := 1
		if stepped {
			if step, ok = number(stepText); !ok || step == 0 {
				return 0, false
			}
		}
		first, last := 0, 59
		if span != "*" && span != "?" {
			low, high, ranged := strings.Cut(span, "-")
			if first, ok = number(low); !ok {
				return 0, false
			}
			switch {
			case ranged:
				if last, ok = number(high); !ok || last < first {
					return 0, false
				}
			case !stepped:
				last = first
			}
		}
		for m := first; m <= last; m += step {
			set |= 1 << m
		}
	}
	return set, true
}

// number reads a minute, or a step of minutes.
func number(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 8)
	return int(n), err == nil && n < 60
}

// evenMinutes writes what even reads.
func evenMinutes(first, step int) string {
	switch {
	case step >= 20:
		texts := []string{}
		for m := first; m < 60; m += step {
			texts = append(texts, strconv.Itoa(m))
		}
		return strings.Join(texts, ",")
	case first == 0:
		return fmt.Sprintf("*/%d", step)
	}
	return fmt.Sprintf("%d-59/%d", first, step)
}

// hashedMinutes writes the same with a minute that is hashed.
func hashedMinutes(step int) string {
	if step == 60 {
		return "H"
	}
	return fmt.Sprintf("H/%d", step)
}
