// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"fmt"
	"strings"
	"time"
)

const secondsOfDay = "15:04:05"

// format is how the times of one list are written: with seconds if one of them has any.
type format struct {
	local, utc, ofDay string
	inUTC             bool
}

func (l *List) format() format {
	f := format{"Mon 2006-01-02 15:04 -07:00", "2006-01-02 15:04Z", "15:04", l.inUTC()}
	for _, t := range l.Times {
		if t.At.Second() != 0 {
			return format{"Mon 2006-01-02 15:04:05 -07:00", "2006-01-02 15:04:05Z", secondsOfDay, f.inUTC}
		}
	}
	return f
}

// inUTC tells whether the wall clock shows UTC, so that it need not be written twice.
func (l *List) inUTC() bool {
	for _, t := range l.Times {
		if _, offset := t.At.Zone(); offset != 0 {
			return false
		}
	}
	return true
}

// row is a line of the table.
func (f format) row(indent, local, utc, distance, schedules string) string {
	columns := []string{pad(local, len(f.local)), pad(utc, len(f.utc)), pad(distance, 12), schedules}
	if f.inUTC {
		columns = append(columns[:1], columns[2:]...)
	}
	return strings.TrimRight(indent+strings.Join(columns, "   "), " ")
}

func pad(text string, width int) string { return fmt.Sprintf("%-*s", width, text) }

func (f format) clock(t time.Time) string { return t.Format(f.ofDay) }

func (f format) day(t time.Time) string { return t.Format(time.DateOnly) }

// walls are some times of one day.
func (f format) walls(s Span) string {
	if s.Count == 1 {
		return f.clock(s.First)
	}
	return fmt.Sprintf("%s to %s (%d times)", f.clock(s.First), f.clock(s.Last), s.Count)
}

func (l *List) instant(t time.Time) string {
	return t.In(l.Source.Zone).Format("2006-01-02 15:04:05 -07:00")
}

// shortDuration writes whole seconds without parts that are 0: "1h30m", "1h", "45s".
func shortDuration(d time.Duration) string {
	text := d.Truncate(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
