// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// instant writes a time in full.
func instant(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2006-01-02 " + clockOf(t) + " -07:00")
}

// clockOf is the layout of a time of day, with seconds if it has any.
func clockOf(t time.Time) string {
	if t.Second() != 0 {
		return "15:04:05"
	}
	return "15:04"
}

// shortDuration writes whole seconds without parts that are 0: "1h30m", "45s", "3d4h".
func shortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day {
		text := fmt.Sprintf("%dd", d/day)
		if hours := d % day / time.Hour; hours > 0 {
			text += fmt.Sprintf("%dh", hours)
		}
		return text
	}
	return duration.Exact(d.Round(time.Second))
}

// wrapped breaks a text into lines of a width, the first one after the given prefix, the others indented as much.
func wrapped(prefix, text string, width int) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(prefix))
	return strings.Join(paragraph.Lines(prefix, indent, text, width), "\n") + "\n"
}

// joined joins parts that are not empty.
func joined(separator string, parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}
