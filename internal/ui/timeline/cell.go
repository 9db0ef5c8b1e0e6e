// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Counts is how many there are of what.
type Counts struct {
	Succeeded, Failed, Cancelled, Unknown, Active int
	// Left are runs that had not ended when Carillon stopped.
	Left int
	// Missed and Skipped are times without a run, Due times to come, Waiting times that wait for something.
	Missed, Skipped, Due, Waiting int
}

func (c *Counts) add(other *Counts) {
	c.Succeeded += other.Succeeded
	c.Failed += other.Failed
	c.Cancelled += other.Cancelled
	c.Unknown += other.Unknown
	c.Active += other.Active
	c.Left += other.Left
	c.Missed += other.Missed
	c.Skipped += other.Skipped
	c.Due += other.Due
	c.Waiting += other.Waiting
}

// addOutcome counts runs that have an outcome.
func (c *Counts) addOutcome(o run.Outcome, n int) {
	switch o {
	case run.Succeeded:
		c.Succeeded += n
	case run.Failed:
		c.Failed += n
	case run.Cancelled:
		c.Cancelled += n
	case run.Unknown:
		c.Unknown += n
	default:
		c.Active += n
	}
}

// addRun counts a run; nil is a time that waits. One that failed and is to be tried again is active.
func (c *Counts) addRun(r *run.Run) {
	switch {
	case r == nil:
		c.Waiting++
	case r.Retrying:
		c.Active++
	case r.Left:
		c.Left++
	default:
		c.addOutcome(r.Outcome, 1)
	}
}

// counted is what counts as one: a run, of several tries of one scheduled time the last one, or, without a run, a time
// that waits.
type counted struct {
	run *run.Run
	at  time.Time
}

// countedOf gives what counts of the bars of a row.
func countedOf(k *Known, bars []Bar) []counted {
	last := run.LastTries(k.Runs)
	seen := make(map[*run.Run]bool, len(bars))
	all := make([]counted, 0, len(bars))
	for i := range bars {
		if bars[i].Run == nil {
			all = append(all, counted{at: bars[i].Waiting.At})
			continue
		}
		if r := last[bars[i].Run]; !seen[r] {
			seen[r] = true
			all = append(all, counted{r, r.Time()})
		}
	}
	return all
}

func (c *Counts) addOmission(o *run.Omission) {
	n := int(max(1, o.Count))
	if o.Missed {
		c.Missed += n
	} else {
		c.Skipped += n
	}
}

// Runs is how many runs there are.
func (c *Counts) Runs() int {
	return c.Succeeded + c.Failed + c.Cancelled + c.Unknown + c.Active + c.Left
}

// Worst is the class of what is worst: "failed" before all, then "missed"; "" if there is nothing.
func (c *Counts) Worst() string {
	for _, p := range c.Parts() {
		return p.Class
	}
	return ""
}

// Part is what has one class.
type Part struct {
	Class, Word string
	Count       int
}

// Parts are all that there is any of, the worst first.
func (c *Counts) Parts() []Part {
	all := []Part{
		{"failed", "failed", c.Failed},
		{"missed", "missed", c.Missed},
		{"waiting", "waiting", c.Waiting},
		{"active", "running", c.Active},
		{"unknown", run.LeftWords, c.Left},
		{"unknown", "unknown", c.Unknown},
		{"cancelled", "cancelled", c.Cancelled},
		{"skipped", "skipped", c.Skipped},
		{"succeeded", "succeeded", c.Succeeded},
		{"due", "due", c.Due},
	}
	parts := all[:0]
	for _, p := range all {
		if p.Count > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// Cell is what happened in a short time, where there is too much of it for a bar each.
type Cell struct {
	Counts
	X, Width    percent
	From, Until time.Time
}

// cellsOf counts everything in the cell of its time; what began before the window and reaches into it in the first one.
// Cells without anything are left out.
func cellsOf(k *Known, bars []Bar, omissions []run.Omission, future *future, w window) []Cell {
	width := w.Zoom.cell
	cells := make([]Cell, (w.Length()+width-1)/width)
	for i := range cells {
		c := &cells[i]
		c.From = w.From.Add(time.Duration(i) * width)
		c.Until = c.From.Add(width)
		if c.Until.After(w.Until) {
			c.Until = w.Until
		}
		c.X = w.X(c.From)
		c.Width = w.X(c.Until) - c.X
	}
	at := func(i int) *Cell { return &cells[min(max(i, 0), len(cells)-1)] }
	of := func(t time.Time) *Cell { return at(int(t.Sub(w.From) / width)) }
	for i := range k.Counts {
		if n := k.Counts[i].Count; k.Stopped && !k.Counts[i].Outcome.Ended() {
			at(k.Counts[i].Cell).Left += n
		} else {
			at(k.Counts[i].Cell).addOutcome(k.Counts[i].Outcome, n)
		}
	}
	for _, t := range k.Retrying {
		if c := of(t); k.Counts != nil && w.Contains(t) && c.Failed > 0 {
			c.Failed, c.Active = c.Failed-1, c.Active+1
		}
	}
	for _, one := range countedOf(k, bars) {
		if one.run == nil || k.Counts == nil || !w.Contains(one.at) {
			of(one.at).addRun(one.run)
		}
	}
	for i := range omissions {
		of(omissions[i].ScheduledTime).addOmission(&omissions[i])
	}
	future.inCells(cells)
	used := cells[:0]
	for i := range cells {
		if cells[i].Counts != (Counts{}) {
			used = append(used, cells[i])
		}
	}
	return used
}
