// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/plan/duration"
)

const secondsOfDay = "15:04:05"

// distanceWidth is how wide the column of distances from now is.
const distanceWidth = 12

// format is how the times of one list are written: with seconds if one of them has any.
type format struct {
	local, utc, ofDay string
	// noUTC: there is no column of UTC, beside: there is one of List.Beside.
	noUTC, beside bool
}

// format chooses it for lines of at most width columns.
func (l *List) format(width int) format {
	f := format{local: "Mon 2006-01-02 15:04 -07:00", utc: "2006-01-02 15:04Z", ofDay: "15:04", noUTC: l.inUTC(), beside: l.elsewhere()}
	for _, t := range l.Times {
		if t.At.Second() != 0 {
			f.local, f.utc, f.ofDay = "Mon 2006-01-02 15:04:05 -07:00", "2006-01-02 15:04:05Z", secondsOfDay
			break
		}
	}
	if f.beside && utf8.RuneCountInString(f.row("  ", "", "", "", strings.Repeat("-", distanceWidth), "")) > width {
		f.noUTC = true // each time has its offset beside it
	}
	return f
}

// elsewhere tells whether clocks in Beside show otherwise than those of the source, and than UTC, which has its column.
func (l *List) elsewhere() bool {
	if l.Beside == nil {
		return false
	}
	local, utc := true, true
	for _, t := range l.Times {
		_, there := t.At.In(l.Beside).Zone()
		_, here := t.At.Zone()
		local, utc = local && there == here, utc && there == 0
	}
	return !local && !utc
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
func (f format) row(indent, local, beside, utc, distance, schedules string) string {
	columns := []string{pad(local, len(f.local))}
	if f.beside {
		columns = append(columns, pad(beside, len(f.local)))
	}
	if !f.noUTC {
		columns = append(columns, pad(utc, len(f.utc)))
	}
	columns = append(columns, pad(distance, distanceWidth), schedules)
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
func shortDuration(d time.Duration) string { return duration.Exact(d.Truncate(time.Second)) }
