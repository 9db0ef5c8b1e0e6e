// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"strings"
	"time"
)

const day = 24 * time.Hour

// clock writes an instant in the zone of the answer, with its offset.
func (b *builder) clock(t time.Time) string { return clockIn(t, b.answer.zone) }

func clockIn(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	layout := "2006-01-02 15:04 -07:00"
	if t.Second() != 0 {
		layout = "2006-01-02 15:04:05 -07:00"
	}
	text := t.Format(layout)
	if strings.HasSuffix(text, " +00:00") {
		return strings.TrimSuffix(text, " +00:00") + " UTC"
	}
	return text
}

// when writes an instant and how far away it is.
func (b *builder) when(t time.Time) string {
	return b.clock(t) + " (" + distance(t, b.Now) + ")"
}

// distance is how far an instant is from now: "5m ago", "in 3h20m", "now".
func distance(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d >= time.Second:
		return "in " + span(d)
	case d <= -time.Second:
		return span(-d) + " ago"
	}
	return "now"
}

// span writes a duration that is not negative by its two largest units.
func span(d time.Duration) string {
	two := func(n time.Duration, unit string, rest time.Duration, small string) string {
		if rest == 0 {
			return fmt.Sprintf("%d%s", n, unit)
		}
		return fmt.Sprintf("%d%s%d%s", n, unit, rest, small)
	}
	switch {
	case d < time.Second:
		return "less than 1s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return two(d/time.Minute, "m", d%time.Minute/time.Second, "s")
	case d < 2*day:
		return two(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
	}
	return fmt.Sprintf("%d days", (d+day/2)/day)
}

// counted is "1 run" or "3 runs".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// firstLine is the first line of a message, without a full stop at its end.
func firstLine(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimRight(strings.TrimSpace(message), ".")
}

// listed joins the first of some names.
func listed(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
