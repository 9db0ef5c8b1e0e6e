// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// Period says a distance that comes again and again, behind the word "every", in the largest unit that fits: "24
// hours", "90 minutes".
func Period(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return every(int(d/time.Hour), "hour")
	case d >= time.Minute && d%time.Minute == 0 && d < 3*time.Hour:
		return every(int(d/time.Minute), "minute")
	case d == time.Second:
		return "second"
	}
	return Duration(d)
}

func every(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return quantity.Count(n, noun)
}

// Duration says a duration in full: "1 hour and 30 minutes". Days are 24 hours. What is less than a second is left out;
// a negative one counts as none.
func Duration(d time.Duration) string {
	seconds := max(int64(d/time.Second), 0)
	var parts []string
	for _, unit := range [...]struct {
		name   string
		length int64
	}{{"day", 24 * 60 * 60}, {"hour", 60 * 60}, {"minute", 60}, {"second", 1}} {
		if n := seconds / unit.length; n > 0 {
			parts = append(parts, quantity.Count(int(n), unit.name))
			seconds -= n * unit.length
		}
	}
	if len(parts) == 0 {
		return "0 seconds"
	}
	return join(parts, "and")
}
