// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"fmt"
	"strconv"
	"time"
)

// ParseDuration reads a duration of the form 1h30m20s: hours, minutes and seconds in
// this order, at least one of them, each a number of at most five digits. There are
// neither days nor fractions nor signs.
func ParseDuration(text string) (time.Duration, error) {
	if len(text) > 18 {
		return 0, fmt.Errorf("%s is too long for a duration; write hours, minutes and seconds, such as 1h30m", quote(text))
	}
	var total time.Duration
	rest := text
	for _, unit := range [...]struct {
		letter byte
		length time.Duration
	}{{'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}} {
		digits := 0
		for digits < len(rest) && isDigit(rest[digits]) {
			digits++
		}
		if digits == 0 || digits > 5 || digits == len(rest) || rest[digits] != unit.letter {
			continue
		}
		n, _ := strconv.Atoi(rest[:digits])
		total += time.Duration(n) * unit.length
		rest = rest[digits+1:]
	}
	if text == "" || rest != "" {
		return 0, fmt.Errorf("%s is no duration; write hours, minutes and seconds, such as 1h30m", quote(text))
	}
	return total, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// quote puts a user's text between quotes, cut to what a message can hold.
func quote(text string) string {
	const longest = 64
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return strconv.Quote(text)
}
