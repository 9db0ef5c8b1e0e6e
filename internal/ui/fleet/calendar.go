// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strconv"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// The measures of the calendar, in its own units.
const (
	cellSize, cellStep        = 20, 23
	calendarLeft, calendarTop = 36, 22
	// mostWritten is the largest number that a cell has room for.
	mostWritten = 99
)

// calendar is a cell for each day: weeks as columns, from Monday.
type calendar struct {
	Width, Height int
	Cells         []cell
	Months        []label
	Weekdays      []label
	Legend        []legend
	// Rows are the months, for who does not see the picture.
	Rows []monthRow
}

// cell is one day.
type cell struct {
	X, Y             int
	Class, URL       string
	Title            string
	Text             string // how many failed, where there is room
	TextX, TextY     int
	Today, Dark, Has bool
}

// monthRow is a month in a table.
type monthRow struct {
	statistics.Span
	Month string
	// Worst is the day with the most failures, nil if none failed.
	Worst *dayRow
}

// Rate is the share of runs that succeeded, in words.
func (r monthRow) Rate() string { return rateText(&r.Span) }

// The classes of days, by the share of their runs that failed.
var calendarLegend = []legend{
	{"none", "no run"}, {"well", "none failed"}, {"few", "up to 5 % failed"}, {"some", "up to 20 %"}, {"many", "up to half"}, {"most", "more"},
}

func dayClass(s *statistics.Span) string {
	failed := 1 - s.SuccessRate()
	switch {
	case s.Runs() == 0 && s.Missed == 0:
		return "none"
	case s.Judged() == 0:
		return "unjudged"
	case s.Failed == 0:
		return "well"
	case failed <= 0.05:
		return "few"
	case failed <= 0.2:
		return "some"
	case failed <= 0.5:
		return "many"
	}
	return "most"
}

// calendarOf draws the days from the week of the first with a run on, but some weeks at least.
func calendarOf(p *past, first int, c choice, now time.Time) calendar {
	weeks := (len(p.Spans) + 6) / 7
	begin := max(0, min(first/7, weeks-leastWeeks))
	v := calendar{Width: calendarLeft + (weeks-begin)*cellStep, Height: calendarTop + 7*cellStep, Legend: calendarLegend}
	for n, name := range []string{"Mon", "", "Wed", "", "Fri", "", "Sun"} {
		if name != "" {
			v.Weekdays = append(v.Weekdays, label{X: 0, Y: float64(calendarTop + n*cellStep + 14), Text: name})
		}
	}
	for n := begin * 7; n < len(p.Spans); n++ {
		s, day := &p.Spans[n], p.Days[n]
		week, weekday := n/7-begin, n%7
		x, y := calendarLeft+week*cellStep, calendarTop+weekday*cellStep
		if weekday == 0 && (day.Day() <= 7 || n == begin*7 && day.Day() <= 10) && week < weeks-begin-1 {
			v.Months = append(v.Months, label{X: float64(x), Y: 12, Text: day.Format("Jan 2006")})
		}
		cell := cell{X: x, Y: y, Class: dayClass(s), Title: day.Format("Mon 2 Jan 2006") + ": " + spanText(s), URL: dayURL(c, day), TextX: x + cellSize/2, TextY: y + 14,
			Today: n == len(p.Spans)-1, Has: s.Runs() > 0 || s.Missed > 0}
		switch {
		case s.Failed > mostWritten:
			cell.Text = "99+"
		case s.Failed > 0:
			cell.Text = strconv.Itoa(s.Failed)
		}
		v.Cells = append(v.Cells, cell)
		v.addToMonth(s, day, c)
	}
	for i, j := 0, len(v.Rows)-1; i < j; i, j = i+1, j-1 {
		v.Rows[i], v.Rows[j] = v.Rows[j], v.Rows[i]
	}
	return v
}

func (v *calendar) addToMonth(s *statistics.Span, day time.Time, c choice) {
	name := day.Format("January 2006")
	if len(v.Rows) == 0 || v.Rows[len(v.Rows)-1].Month != name {
		v.Rows = append(v.Rows, monthRow{Month: name})
	}
	row := &v.Rows[len(v.Rows)-1]
	row.Add(s)
	if s.Failed > 0 && (row.Worst == nil || s.Failed > row.Worst.Failed) {
		row.Worst = &dayRow{*s, day, dayURL(c, day)}
	}
}

// Side is the side of a cell.
func (calendar) Side() int { return cellSize }

// Summary says in a sentence what the calendar shows.
func (v calendar) Summary() string {
	var all statistics.Span
	var worst *dayRow
	for n := range v.Rows {
		all.Add(&v.Rows[n].Span)
		if w := v.Rows[n].Worst; w != nil && (worst == nil || w.Failed > worst.Failed) {
			worst = w
		}
	}
	if worst == nil {
		return spanText(&all) + "."
	}
	return fmt.Sprintf("%s. Most failed on %s: %s.", spanText(&all), worst.Day.Format("Mon 2 Jan 2006"), spanText(&worst.Span))
}
