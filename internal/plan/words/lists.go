// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"strconv"
	"strings"
)

// join writes a list: "a, b and c".
func join(parts []string, last string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + last + " " + parts[len(parts)-1]
}

// span is some neighbouring values.
type span struct{ first, last int }

// spansOf joins neighbouring values, which ascend.
func spansOf(values []int) []span {
	var spans []span
	for _, v := range values {
		if n := len(spans); n > 0 && spans[n-1].last == v-1 {
			spans[n-1].last = v
		} else {
			spans = append(spans, span{v, v})
		}
	}
	return spans
}

// ranges writes ascending values, three and more neighbours as a range: "1, 2 and 5 to 9". name writes one value.
func ranges(values []int, name func(int) string) []string {
	var parts []string
	for _, s := range spansOf(values) {
		switch s.last - s.first {
		case 0:
			parts = append(parts, name(s.first))
		case 1:
			parts = append(parts, name(s.first), name(s.last))
		default:
			parts = append(parts, name(s.first)+" to "+name(s.last))
		}
	}
	return parts
}

// numbers writes values with their noun: "minute 5", "minutes 5, 6 and 10 to 20".
func numbers(noun string, values []int) string {
	if len(values) == 1 {
		return noun + " " + strconv.Itoa(values[0])
	}
	return noun + "s " + join(ranges(values, strconv.Itoa), "and")
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return strconv.Itoa(n) + "st"
	case n%10 == 2:
		return strconv.Itoa(n) + "nd"
	case n%10 == 3:
		return strconv.Itoa(n) + "rd"
	}
	return strconv.Itoa(n) + "th"
}

var (
	weekdayNames = [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	monthNames   = [13]string{"", "January", "February", "March", "April", "May", "June", "July", "August", "September",
		"October", "November", "December"}
)
