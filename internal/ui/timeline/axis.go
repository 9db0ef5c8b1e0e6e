// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"time"
)

// axis is the time of a window as the head of a chart shows it.
type axis struct {
	// Bands are days, or months where a window has many days. Ticks are times below them.
	Bands []band
	Ticks []Tick
	// Lines are those of the ticks and of the days, Weekends the days that are faint.
	Lines    []line
	Weekends []band
	// Changes are those of the clock.
	Changes []change
}

// band is a day or a month.
type band struct {
	X, Width percent
	// Text names it, "" where there is no room for that. Title names it in full.
	Text, Title string
	// Odd: the day has not 24 hours.
	Odd bool
}

// Tick is a time that has a label.
type Tick struct {
	X percent
	// Text is its label; Anchor is where that stands: "start", "middle" or "end" of it is at X.
	Text, Anchor string
	// Minor: a narrow window leaves it out.
	Minor bool
}

// line is a line through the chart.
type line struct {
	X percent
	// Strong: a day begins.
	Strong bool
}

// change is a change of the clock of the viewer.
type change struct {
	X percent
	// Text says it in a sentence.
	Text string
}

// newAxis gives the axis of a window.
func newAxis(w window) axis {
	var a axis
	a.addDays(w)
	a.addTicks(w)
	a.addChanges(w)
	return a
}

// Room that a label takes, of the width of a chart: of one as wide as a desk has it, and of one on a phone.
const (
	dayRoom      = 9
	oddDayRoom   = 16
	monthRoom    = 12
	phoneRoom    = 40
	oddPhoneRoom = 68
	nowRoom      = 8 // before it
	edge         = 2.5
)

func (a *axis) addDays(w window) {
	month := band{}
	for start := dayStart(w.From, w.Zone); start.Before(w.Until); {
		end := nextDay(start, w.Zone)
		local := start.In(w.Zone)
		b := band{X: w.X(start), Title: local.Format("Monday 2 January 2006")}
		b.Width = w.X(end) - b.X
		text := local.Format("Mon 2 Jan")
		if length := end.Sub(start); length != day {
			b.Odd = true
			b.Title += fmt.Sprintf(", a day of %s hours", hours(length))
			text += fmt.Sprintf(" · %s h", hours(length))
		}
		if b.Width >= dayRoom {
			b.Text = text
		}
		if weekday := local.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			a.Weekends = append(a.Weekends, band{X: b.X, Width: b.Width})
		}
		if start.After(w.From) { // of many days the weeks and the months stand out
			a.Lines = append(a.Lines, line{X: b.X, Strong: w.Zoom.tick < day || local.Weekday() == time.Monday || local.Day() == 1})
		}
		if w.Zoom.tick < day {
			a.Bands = append(a.Bands, b)
			start = end
			continue
		}
		// Of many days the months are told, and the number of each day.
		if month.Title == "" || local.Day() == 1 {
			a.addMonth(month)
			month = band{X: b.X, Title: local.Format("January 2006")}
		}
		month.Width = b.X + b.Width - month.X
		a.Ticks = append(a.Ticks, Tick{X: b.X + b.Width/2, Text: local.Format("2"), Anchor: "middle", Minor: local.Weekday() != time.Monday})
		start = end
	}
	a.addMonth(month)
}

func (a *axis) addMonth(month band) {
	if month.Title == "" {
		return
	}
	if month.Width >= monthRoom {
		month.Text = month.Title
	}
	a.Bands = append(a.Bands, month)
}

// hours writes the length of a day.
func hours(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprint(int(d / time.Hour))
	}
	return fmt.Sprintf("%.1f", d.Hours())
}

func (a *axis) addTicks(w window) {
	if w.Zoom.tick >= day {
		return
	}
	// A change of the clock moves the hours, so each tick follows from what the clock shows.
	for t := gridNext(w.From.Add(-1), w.Zoom.tick, w.Zone); t.Before(w.Until); t = gridNext(t, w.Zoom.tick, w.Zone) {
		shown := sinceMidnight(t, w.Zone)
		if x := w.X(t); shown != 0 {
			a.Lines = append(a.Lines, line{X: x})
		}
		if shown%w.Zoom.label != 0 || shown == 0 {
			continue // the day has its name there
		}
		tick := Tick{X: w.X(t), Text: t.In(w.Zone).Format("15:04"), Anchor: "middle", Minor: shown%w.Zoom.major != 0 || w.Zoom.days > 1}
		switch {
		case tick.X < edge:
			tick.Anchor = "start"
		case tick.X > 100-edge:
			tick.Anchor = "end"
		}
		a.Ticks = append(a.Ticks, tick)
	}
}

func (a *axis) addChanges(w window) {
	for t := w.From; ; {
		_, end := t.In(w.Zone).ZoneBounds()
		if end.IsZero() || !end.Before(w.Until) {
			return
		}
		before, after := end.Add(-time.Second).In(w.Zone), end.In(w.Zone)
		_, was := before.Zone()
		_, is := after.Zone()
		t = end
		if was == is {
			continue // the name alone changes
		}
		way, by := "forward", time.Duration(is-was)*time.Second
		if by < 0 {
			way, by = "back", -by
		}
		unit, count := "hour", hours(by)
		if by < time.Hour {
			unit, count = "minute", fmt.Sprint(int(by/time.Minute))
		}
		if count != "1" {
			unit += "s"
		}
		a.Changes = append(a.Changes, change{X: w.X(end), Text: fmt.Sprintf("On %s the clocks of %s go %s by %s %s, at %s.",
			before.Format("Mon 2 Jan"), w.Zone, way, count, unit, end.In(time.FixedZone("", was)).Format("15:04"))})
	}
}
