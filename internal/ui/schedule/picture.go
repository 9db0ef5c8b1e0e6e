// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// picture is the latest runs as columns, the oldest first, each as high as it took long.
type picture struct {
	// Width and Height are those of the coordinates, not of the screen.
	Width, Height float64
	Columns       []column
	// Median and Percentile95 are where their lines are; 0 for none.
	Median, Percentile95 float64
	// Top and Half are the durations at the upper edge and in the middle.
	Top, Half time.Duration
	// From and Until are the times of the first and of the last column.
	From, Until time.Time
	// Partial: the columns do not fill it, and stand at its right edge.
	Partial bool
	// Sentence says what is to be seen. Cut: columns are higher than the picture.
	Sentence string
	Cut      bool
}

// column is a run, or a time without one.
type column struct {
	X, Y, Width, Height float64
	// Class is that of an outcome, Title what appears when one points at it.
	Class, Title string
	Run          *run.Run
	Omission     *run.Omission
	// Cut: it is higher than the picture.
	Cut bool
}

// The picture's measures: how many columns it shows, and has place for at least, and how wide one is.
const (
	mostColumns  = 80
	leastColumns = 32
	columnWidth  = 12.0
	columnGap    = 3.0
	pictureHigh  = 160.0
	leastHigh    = 4.0
	labelled     = 8.0 // above the highest column
)

// pictureOf draws entries, which are given newest first; at most the newest are shown. clock writes a time.
func pictureOf(entries []history.Entry, took history.Durations, now time.Time, clock func(time.Time) string) picture {
	entries = slices.Clone(entries[:min(len(entries), mostColumns)])
	slices.Reverse(entries)
	p := picture{Width: float64(max(len(entries), leastColumns)) * columnWidth, Height: pictureHigh}
	if len(entries) == 0 {
		return p
	}
	p.From, p.Until = entries[0].Time(), entries[len(entries)-1].Time()
	p.Top = topOf(entries, took, now)
	p.Half = p.Top / 2
	p.Median = p.high(took.Median)
	if took.Runs >= leastForPercentile {
		p.Percentile95 = p.high(took.Percentile95)
	}
	spare := max(0, leastColumns-len(entries))
	p.Partial = spare > 0
	for i := range entries {
		c := p.columnOf(&entries[i], now, clock)
		c.X, c.Width = float64(spare+i)*columnWidth+columnGap/2, columnWidth-columnGap
		p.Cut = p.Cut || c.Cut
		p.Columns = append(p.Columns, c)
	}
	p.Sentence = sentenceOf(entries, took)
	return p
}

// leastForPercentile is from how many runs on 95 of 100 say more than the longest does.
const leastForPercentile = 20

// topOf is the duration at the upper edge: that of the longest run, unless it took so much longer than the others that
// these could not be seen.
func topOf(entries []history.Entry, took history.Durations, now time.Time) time.Duration {
	var longest time.Duration
	for i := range entries {
		if r := entries[i].Run; r != nil {
			longest = max(longest, r.Duration(now))
		}
	}
	if longest == 0 {
		return time.Second
	}
	if took.Median == 0 {
		return longest
	}
	most := 6 * took.Median
	if took.Runs >= leastForPercentile {
		most = max(4*took.Median, took.Percentile95*3/2)
	}
	return min(longest, most)
}

// high is where a duration ends, from the upper edge.
func (p *picture) high(d time.Duration) float64 {
	if d <= 0 || p.Top <= 0 {
		return 0
	}
	return max(0, p.Height-(p.Height-labelled)*float64(d)/float64(p.Top))
}

func (p *picture) columnOf(e *history.Entry, now time.Time, clock func(time.Time) string) column {
	if o := e.Omission; o != nil {
		c := column{Omission: o, Class: "skipped", Height: p.Height}
		if o.Missed {
			c.Class = "missed"
		}
		c.Title = clock(o.ScheduledTime) + ": " + omissionText(o)
		return c
	}
	r := e.Run
	took := r.Duration(now)
	outcome := page.OutcomeOf(r)
	c := column{Run: r, Class: outcome.Class, Title: clock(r.Time()) + ": " + outcome.Text}
	if took > 0 {
		c.Title += ", " + lasted(took)
	}
	if late := r.Lateness(); late > history.Late {
		c.Title += ", started " + duration.Short(late) + " late"
	}
	c.Height = max(leastHigh, (p.Height-labelled)*min(1, float64(took)/float64(p.Top)))
	if c.Cut = took > p.Top; c.Cut {
		c.Height = p.Height
	}
	c.Y = p.Height - c.Height
	return c
}

// omissionText says in a few words what became of times without a run.
func omissionText(o *run.Omission) string {
	word := "skipped"
	if o.Missed {
		word = "missed"
	}
	if o.Count > 1 {
		word = quantity.CountGrouped(int(o.Count), "time") + " " + word
	}
	if text := run.OmissionText(o.Reason); text != "" {
		return word + ": " + text
	}
	if text := strings.TrimSuffix(o.Message, "."); text != "" {
		return word + ": " + text
	}
	return word
}

// sentenceOf is the picture for who cannot see it.
func sentenceOf(entries []history.Entry, took history.Durations) string {
	var runs []run.Run
	var without int64
	for i := range entries {
		if o := entries[i].Omission; o != nil {
			without += max(1, o.Count)
			continue
		}
		runs = append(runs, *entries[i].Run)
	}
	sum := history.Summarize(runs, nil, time.Time{}) // which counts all tries of one time once
	parts := []string{}
	add := func(n int, word string) {
		if n > 0 {
			parts = append(parts, quantity.Grouped(n)+" "+word)
		}
	}
	add(sum.Succeeded, "succeeded")
	add(sum.Failed, "failed")
	if slices.ContainsFunc(runs, func(r run.Run) bool { return r.Left }) {
		add(sum.Active, run.LeftWords)
	} else {
		add(sum.Active, "not ended")
	}
	add(sum.Cancelled+sum.Unknown, "cancelled or of unknown end")
	text := "The last " + quantity.CountGrouped(sum.Runs, "run")
	if sum.Runs == 1 {
		text = "The last run"
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if sum.Runs == 0 {
		text = "No run"
	}
	if without > 0 {
		text += fmt.Sprintf("; %s without a run between them", quantity.CountGrouped(int(without), "time"))
	}
	if took.Runs > 1 {
		text += "; half of them took no longer than " + lasted(took.Median)
	}
	return text + "."
}

// lasted writes how long something took: of a few seconds also the tenths.
func lasted(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return duration.Short(d)
}
