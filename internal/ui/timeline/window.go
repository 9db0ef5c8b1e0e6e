// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"math"
	"strconv"
	"time"
)

// Zoom is how much time a chart shows.
type Zoom struct {
	// Name is its name in addresses, Text in words.
	Name, Text string
	// days and span are how long it is: days of the viewer's calendar, or else a span.
	days int
	span time.Duration
	// grid is what its beginning is rounded to if it follows the time, before how much of it lies before now then.
	// Those of days begin at midnight, but for one day, which begins with an hour.
	grid, before time.Duration
	// cell is how wide the cells are into which very many runs are counted, label how far apart the labels of the axis
	// are, and major those that a narrow window keeps. tick is how far apart lines are.
	cell, tick, label, major time.Duration
	// reach is how long before the window runs are looked for that reach into it.
	reach time.Duration
}

const day = 24 * time.Hour

// zooms are all, the nearest first.
var zooms = []Zoom{
	{Name: "1h", Text: "1 hour", span: time.Hour, grid: 5 * time.Minute, before: 40 * time.Minute, cell: time.Minute,
		tick: 5 * time.Minute, label: 5 * time.Minute, major: 15 * time.Minute, reach: day},
	{Name: "6h", Text: "6 hours", span: 6 * time.Hour, grid: 30 * time.Minute, before: 4 * time.Hour, cell: 5 * time.Minute,
		tick: 30 * time.Minute, label: 30 * time.Minute, major: time.Hour, reach: 2 * day},
	{Name: "1d", Text: "1 day", days: 1, grid: time.Hour, before: 17 * time.Hour, cell: 15 * time.Minute,
		tick: time.Hour, label: 2 * time.Hour, major: 4 * time.Hour, reach: 3 * day},
	{Name: "1w", Text: "1 week", days: 7, before: 5 * day, cell: 2 * time.Hour,
		tick: 6 * time.Hour, label: 12 * time.Hour, major: 12 * time.Hour, reach: 10 * day},
	{Name: "1mo", Text: "1 month", days: 31, before: 23 * day, cell: 8 * time.Hour,
		tick: day, label: day, major: 7 * day, reach: 31 * day},
}

// standard is the zoom of who asks for none.
const standard = 2

// zoomOf gives the index of the zoom of that name; false if there is none.
func zoomOf(name string) (int, bool) {
	for i := range zooms {
		if zooms[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// window is the time that a chart shows, From inclusive, Until exclusive.
type window struct {
	From, Until time.Time
	// Zone is that of the viewer.
	Zone *time.Location
	Zoom *Zoom
}

// following gives the window around now: most of it has passed.
func following(z *Zoom, now time.Time, zone *time.Location) window {
	if z.days > 1 {
		today := dayStart(now, zone)
		local := today.In(zone)
		return windowFrom(z, dayOf(local.Year(), local.Month(), local.Day()-int(z.before/day), zone), zone)
	}
	return windowFrom(z, gridFloor(now, z.grid, zone).Add(-z.before), zone)
}

// windowFrom gives the window that begins then.
func windowFrom(z *Zoom, from time.Time, zone *time.Location) window {
	return window{From: from, Until: z.later(from, zone, 1), Zone: zone, Zoom: z}
}

// later gives the time that is n windows later, or earlier if that is negative. By days it keeps the hour, so that a
// day may have 23 or 25 hours.
func (z *Zoom) later(t time.Time, zone *time.Location, n int) time.Time {
	if z.days == 0 {
		return t.Add(time.Duration(n) * z.span)
	}
	local := t.In(zone)
	year, month, date := local.Date()
	if t.Equal(dayStart(t, zone)) {
		return dayOf(year, month, date+n*z.days, zone)
	}
	moved := time.Date(year, month, date+n*z.days, local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), zone)
	if n > 0 && !moved.After(t) || n < 0 && !moved.Before(t) { // only where a zone leaves out days
		return t.Add(time.Duration(n*z.days) * day)
	}
	return moved
}

// Length is how long the window is.
func (w window) Length() time.Duration { return w.Until.Sub(w.From) }

// Contains tells whether a time is in it.
func (w window) Contains(t time.Time) bool { return !t.Before(w.From) && t.Before(w.Until) }

// percent is a place, or a width, in the chart: 0 is its beginning, 100 its end.
type percent float64

// String writes it as SVG has it.
func (p percent) String() string {
	return strconv.FormatFloat(math.Round(float64(p)*1000)/1000, 'f', -1, 64) + "%"
}

// X is where a time is; one outside is at the border.
func (w window) X(t time.Time) percent {
	switch {
	case !t.After(w.From):
		return 0
	case !t.Before(w.Until):
		return 100
	}
	return percent(100 * float64(t.Sub(w.From)) / float64(w.Length()))
}

// dayStart is when the day of t begins in a zone.
func dayStart(t time.Time, zone *time.Location) time.Time {
	year, month, date := t.In(zone).Date()
	start := dayOf(year, month, date, zone)
	if start.After(t) { // a day that has two beginnings
		return start.Add(-day)
	}
	return start
}

// dayOf is the first instant of a day in a zone. Where the clock leaves out midnight, that is when it goes on; where it
// shows midnight twice, the first of the two.
func dayOf(year int, month time.Month, date int, zone *time.Location) time.Time {
	noon := time.Date(year, month, date, 12, 0, 0, 0, zone)
	start := time.Date(year, month, date, 0, 0, 0, 0, zone)
	if start.Day() != noon.Day() {
		if _, end := start.ZoneBounds(); !end.IsZero() && end.Before(noon) {
			return end
		}
		return start
	}
	changed, _ := start.ZoneBounds()
	if changed.IsZero() {
		return start
	}
	_, offset := start.Zone()
	_, before := changed.Add(-time.Second).In(zone).Zone()
	if first := start.Add(time.Duration(offset-before) * time.Second); first.Before(changed) && first.In(zone).Day() == noon.Day() {
		return first
	}
	// After midnight that the clock left out, the day began when it went on.
	if changed.After(start.Add(-3*time.Hour)) && changed.Before(start) && changed.In(zone).Day() == noon.Day() {
		return changed
	}
	return start
}

// nextDay is when the day after that of t begins.
func nextDay(t time.Time, zone *time.Location) time.Time {
	start := dayStart(t, zone)
	year, month, date := start.In(zone).Date()
	for n := 1; ; n++ {
		if next := dayOf(year, month, date+n, zone); next.After(t) {
			return next
		}
	}
}

// gridFloor rounds down to a grid of the clock of a zone.
func gridFloor(t time.Time, grid time.Duration, zone *time.Location) time.Time {
	return t.Add(-sinceMidnight(t, zone) % grid)
}

// gridNext is the first time of a grid of the clock of a zone later than t.
func gridNext(t time.Time, grid time.Duration, zone *time.Location) time.Time {
	next := t.Add(grid - sinceMidnight(t, zone)%grid)
	// A change of the clock begins the grid anew.
	if _, end := t.In(zone).ZoneBounds(); !end.IsZero() && end.Before(next) && end.After(t) && sinceMidnight(end, zone)%grid == 0 {
		return end
	}
	return next
}

// sinceMidnight is what the clock of a zone shows.
func sinceMidnight(t time.Time, zone *time.Location) time.Duration {
	local := t.In(zone)
	hour, minute, second := local.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + time.Duration(local.Nanosecond())
}
