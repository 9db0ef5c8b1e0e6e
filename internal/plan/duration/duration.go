// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package duration writes durations for people, in the same short form in all answers: "45s", "1h30m", "12 days".
package duration

import (
	"fmt"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	year = 365*day + day/4
)

// Short writes a duration by its two largest units: "less than 1s", "45s", "25m10s", "3h20m"; from two days on days,
// rounded, from two years on whole years. A negative one counts as none.
func Short(d time.Duration) string {
	two := func(unit time.Duration, name string, smaller time.Duration, smallerName string) string {
		text := fmt.Sprintf("%d%s", d/unit, name)
		if rest := d % unit / smaller; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, smallerName)
		}
		return text
	}
	switch {
	case d < time.Second:
		return "less than 1s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return two(time.Minute, "m", time.Second, "s")
	case d < 2*day:
		return two(time.Hour, "h", time.Minute, "m")
	case d < 2*year:
		return fmt.Sprintf("%d days", (d+day/2)/day)
	}
	return fmt.Sprintf("%d years", d/year)
}

// Exact writes a duration as Go does, without the zeros that it appends: "1h30m", "24h", "45s".
func Exact(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// FromNow writes how far an instant is from now, to the minute where it is ten minutes or more: "in 3h20m", "5m ago",
// "now".
func FromNow(t, now time.Time) string {
	if years := t.Year() - now.Year(); years > 200 || years < -200 { // what a Duration cannot hold
		if years > 0 {
			return fmt.Sprintf("in %d years", years)
		}
		return fmt.Sprintf("%d years ago", -years)
	}
	short := func(d time.Duration) string {
		if d >= 10*time.Minute {
			d = d.Truncate(time.Minute)
		}
		return Short(d)
	}
	switch d := t.Sub(now); {
	case d >= time.Second:
		return "in " + short(d)
	case d <= -time.Second:
		return short(-d) + " ago"
	}
	return "now"
}
