// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// spanUnits are the units of a length of time, as systemd writes them.
var spanUnits = map[string]time.Duration{
	"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"us": time.Microsecond, "usec": time.Microsecond, "μs": time.Microsecond, "ms": time.Millisecond, "msec": time.Millisecond,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day, "w": 7 * day, "week": 7 * day, "weeks": 7 * day,
	"M": month, "month": month, "months": month, "y": year, "year": year, "years": year,
}

const (
	day   = 24 * time.Hour
	month = 2629800 * time.Second  // 30.4375 days
	year  = 31557600 * time.Second // 365.25 days
)

// readSpan reads a length of time such as "1h 30min"; a number without a unit is seconds. infinite tells of "infinity".
func readSpan(text string) (length time.Duration, infinite bool, err error) {
	rest := strings.TrimSpace(text)
	if rest == "infinity" {
		return 0, true, nil
	}
	fail := fmt.Errorf("%q is no length of time; write it as 90s, 15min or 1h 30min", text)
	if rest == "" {
		return 0, false, fail
	}
	for rest != "" {
		n := 0
		for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.') {
			n++
		}
		count, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, false, fail
		}
		rest = strings.TrimLeft(rest[n:], " \t")
		n = strings.IndexAny(rest, "0123456789. \t")
		if n < 0 {
			n = len(rest)
		}
		unit, ok := spanUnits[rest[:n]]
		if !ok {
			return 0, false, fail
		}
		rest = strings.TrimLeft(rest[n:], " \t")
		sum := float64(length) + count*float64(unit)
		if sum > math.MaxInt64/2 {
			return 0, false, fmt.Errorf("%q is too long", text)
		}
		length = time.Duration(sum)
	}
	return length, false, nil
}
