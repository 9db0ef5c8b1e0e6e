// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// The measures of the picture.
const (
	width      = 1000.0
	laneHeight = 16
	mostLanes  = 8
	// mostShapes is how many are drawn: more are not told apart.
	mostShapes = 1500
)

// picture is a time line: runs in lanes, so that those that go on at the same time are beneath each other, and a line
// for times that do not start.
type picture struct {
	Height   int
	Outages  []shape
	Runs     []shape
	Omitted  []shape
	Ticks    []tick
	Lanes    int
	Crowded  bool // more runs went on at once than there are lanes
	Thinned  bool // runs too close together were left out
	OmittedY int
	AxisY    int
	LabelY   int
}

// shape is a bar.
type shape struct {
	X, W  float64
	Y, H  int
	Class string
	Title string
}

// tick is a place of the axis.
type tick struct {
	X     float64
	Label string
	// Anchor is how the label stands to it.
	Anchor string
	// Minor: a small picture has no room for its label.
	Minor bool
}

// pictureOf draws a result; nil if nothing happens.
func pictureOf(r *simulation.Result, zone *time.Location) *picture {
	lasts := r.Span.To.Sub(r.Span.From)
	if lasts <= 0 || len(r.Runs)+len(r.NotStarted)+len(r.Waiting) == 0 {
		return nil
	}
	at := func(t time.Time) float64 {
		return round(width * min(max(float64(t.Sub(r.Span.From))/float64(lasts), 0), 1))
	}
	p := &picture{}
	p.drawRuns(r, at, zone)
	p.Lanes = max(p.Lanes, 1)
	p.OmittedY = p.Lanes*laneHeight + 4
	p.AxisY = p.OmittedY + 14
	p.LabelY = p.AxisY + 16
	p.Height = p.AxisY + 22
	for _, o := range r.Outages {
		p.Outages = append(p.Outages, shape{X: at(o.From), W: max(1, round(at(o.To)-at(o.From))), H: p.AxisY, Class: "outage",
			Title: "no controller runs from " + clockOf(o.From.In(zone)) + " to " + clockOf(o.To.In(zone))})
	}
	last := -10.0
	for i := range r.NotStarted {
		n := &r.NotStarted[i]
		x := at(n.First)
		if len(p.Omitted) >= mostShapes || n.Count == 1 && x-last < 1 {
			p.Thinned = true
			continue
		}
		last = x
		class, word := "skipped", "skipped"
		if n.Missed {
			class, word = "missed", "missed"
		}
		p.Omitted = append(p.Omitted, shape{X: x, W: max(3, round(at(n.Last)-x)), Y: p.OmittedY, H: 8, Class: class, Title: clockOf(n.First.In(zone)) + ": " + word + ", " + simulation.ReasonWord(n.Reason)})
	}
	p.Ticks = ticksOf(r.Span, at, zone)
	return p
}

// drawRuns gives each run the first lane that is free when it starts. Of those that are closer than can be seen in a
// lane the first is drawn.
func (p *picture) drawRuns(r *simulation.Result, at func(time.Time) float64, zone *time.Location) {
	var free [mostLanes]time.Time
	var drawn [mostLanes]float64
	for n := range drawn {
		drawn[n] = -10
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		end := run.Ended
		if end.IsZero() || end.After(r.Span.To) {
			end = r.Span.To
		}
		lane := 0
		for lane < mostLanes && free[lane].After(run.Started) {
			lane++
		}
		if lane == mostLanes {
			p.Crowded = true
			continue
		}
		free[lane] = end
		p.Lanes = max(p.Lanes, lane+1)
		x, to := at(run.Started), at(end)
		if to-drawn[lane] < 0.7 || len(p.Runs) >= mostShapes {
			p.Thinned = true
			continue
		}
		drawn[lane] = to
		l := lineOfRun(run)
		title := clockOf(run.Scheduled.In(zone)) + ": " + l.Outcome
		if l.Note != "" {
			title += ", " + l.Note
		}
		y := lane*laneHeight + 2
		if run.Wait > 0 {
			p.Runs = append(p.Runs, shape{X: at(run.Scheduled), W: max(0.5, round(x-at(run.Scheduled))), Y: y + 4, H: 4, Class: "waiting", Title: title})
		}
		p.Runs = append(p.Runs, shape{X: x, W: max(1.5, round(to-x)), Y: y, H: laneHeight - 4, Class: l.Class, Title: title})
	}
}

func round(x float64) float64 { return math.Round(x*10) / 10 }

// steps are how far apart ticks may be, with how they are labelled.
var steps = []struct {
	every  time.Duration
	days   int
	layout string
}{
	{time.Minute, 0, "15:04"}, {5 * time.Minute, 0, "15:04"}, {15 * time.Minute, 0, "15:04"}, {time.Hour, 0, "15:04"}, {3 * time.Hour, 0, "15:04"}, {6 * time.Hour, 0, "Mon 15:04"},
	{12 * time.Hour, 0, "Mon 15:04"}, {0, 1, "Mon 2 Jan"}, {0, 2, "2 Jan"}, {0, 7, "2 Jan"}, {0, 14, "2 Jan"}, {0, 30, "2 Jan"}, {0, 60, "2 Jan"},
}

// mostTicks is how many labels there is room for.
const mostTicks = 9

// mostPlaces is how many places are looked at, the first at the beginning of a day: a day has fewer steps.
const mostPlaces = 2000

// ticksOf gives the places of an axis, on whole hours and days of a zone.
func ticksOf(span simulation.Span, at func(time.Time) float64, zone *time.Location) []tick {
	lasts := span.To.Sub(span.From)
	step := steps[len(steps)-1]
	for _, s := range steps {
		if every := s.every + time.Duration(s.days)*24*time.Hour; lasts/every < mostTicks {
			step = s
			break
		}
	}
	// They stand on what the clock of the zone shows, also on a day on which that changes.
	from := span.From.In(zone)
	place := func(n int) time.Time {
		hour, minute := 0, 0
		switch {
		case step.every >= time.Hour:
			hour = n * int(step.every/time.Hour)
		case step.every > 0:
			hour, minute = from.Hour(), n*int(step.every/time.Minute)
		}
		return time.Date(from.Year(), from.Month(), from.Day()+n*step.days, hour, minute, 0, 0, zone)
	}
	var ticks []tick
	for n := range mostPlaces {
		t := place(n)
		if t.After(span.To) {
			break
		}
		if t.Before(span.From) {
			continue
		}
		x, anchor := at(t), "middle"
		switch {
		case x < 40:
			anchor = "start"
		case x > width-40:
			anchor = "end"
		}
		ticks = append(ticks, tick{x, t.Format(step.layout), anchor, len(ticks)%3 != 0})
	}
	return ticks
}
