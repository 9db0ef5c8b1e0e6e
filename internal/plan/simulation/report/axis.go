// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// axis maps a span onto columns, all of which stand for the same time but the last, which may stand for less.
type axis struct {
	span simulation.Span
	// start is when the first column begins: no later than the span, at a time of day that is a multiple of a column.
	start   time.Time
	columns int
	cell    time.Duration
	zone    *time.Location
}

// cells are what a column may stand for: times that people count in.
var cells = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 28 * 24 * time.Hour,
}

// newAxis gives the axis with the finest cells of which no more than most are needed.
func newAxis(span simulation.Span, zone *time.Location, most int) axis {
	a := axis{span: span, zone: zone}
	for _, a.cell = range cells {
		if a.align(); a.columns <= most {
			return a
		}
	}
	a.cell = (span.To.Sub(span.From)/time.Duration(most-1)/(24*time.Hour) + 1) * 24 * time.Hour
	a.align()
	return a
}

// align sets what follows from the span and the length of a column.
func (a *axis) align() {
	from := a.span.From.In(a.zone)
	midnight := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, a.zone)
	a.start = midnight.Add(from.Sub(midnight) / a.cell * a.cell)
	a.columns = int((a.span.To.Sub(a.start) + a.cell - 1) / a.cell)
}

// column is that of an instant, which may lie outside.
func (a axis) column(t time.Time) int {
	d := t.Sub(a.start)
	if d < 0 {
		return -1
	}
	return int(d / a.cell)
}

// at is the instant at which a column begins.
func (a axis) at(column int) time.Time { return a.start.Add(time.Duration(column) * a.cell) }

// spacing is how many columns lie from one label to the next: as many as it takes to get to a time that people count
// in, and no fewer than a label needs.
func (a axis) spacing() int {
	const least, most = 8, 16
	for n := least; n <= most; n++ {
		if slices.Contains(cells, a.cell*time.Duration(n)) {
			return n
		}
	}
	return least + 2
}

// firstLabel is the first column that begins at a multiple of step, or at midnight where that is longer than a day; the
// first one if there is none before the next label.
func (a axis) firstLabel(step time.Duration) int {
	for column := range min(a.spacing(), a.columns) {
		t := a.at(column).In(a.zone)
		sinceMidnight := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
		if sinceMidnight%min(step, 24*time.Hour) == 0 {
			return column
		}
	}
	return 0
}

// labels are what is written over the columns, each at the column where it begins: the time of day, or the day where a
// label is a day or more after the one before.
func (a axis) labels() (texts []string, columns []int) {
	const day = 24 * time.Hour
	var before time.Time
	step := a.cell * time.Duration(a.spacing())
	for column := a.firstLabel(step); column < a.columns; column += a.spacing() {
		t := a.at(column).In(a.zone)
		layout := "15:04"
		switch {
		case step >= 200*day:
			layout = "Jan 2006"
		case step >= day:
			layout = "Jan _2"
		case before.IsZero() && a.span.To.Sub(a.span.From) > day, !before.IsZero() && t.YearDay() != before.YearDay():
			layout = "Jan _2"
			if t.Hour() != 0 || t.Minute() != 0 {
				layout = "15:04"
			}
		case step < time.Minute:
			layout = "15:04:05"
		}
		texts, columns, before = append(texts, t.Format(layout)), append(columns, column), t
	}
	return texts, columns
}
