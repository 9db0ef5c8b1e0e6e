// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// future are the scheduled times to come in a window.
type future struct {
	schedule    *workload.Scheduled
	from, until time.Time // from is exclusive, until inclusive
	// due are those that will be started, excluded those that will not; count is both.
	due, excluded, count int
	every                time.Duration
	first                time.Time // of due
}

// futureOf finds out what is to come. What is paused for good, gone, or cannot be served has nothing to come.
func futureOf(k *Known, w window, now time.Time) future {
	s := k.Row.Schedule
	f := future{schedule: s, from: ordering.Later(now, w.From.Add(-1)), until: w.Until.Add(-1)}
	if s == nil || s.Owner.Deleting || s.Obstacle() != "" || s.Policy.Timing.Times == nil {
		return f
	}
	if p := k.Paused; p != nil {
		if p.Until.IsZero() {
			return f
		}
		f.from = ordering.Later(f.from, p.Until.Add(-1))
	}
	if !f.from.Before(f.until) {
		return f
	}
	f.every = s.Policy.Timing.Every
	if f.first = s.FirstAfter(f.from); !f.first.IsZero() && !f.first.After(f.until) {
		f.due = f.times(f.first.Add(-1), f.until)
	}
	if excluded := s.Policy.Timing.Excluded; excluded != nil {
		f.excluded = excluded.Count(f.from, f.until)
	}
	f.count = f.due + f.excluded
	return f
}

// times counts those that are due after one time until another.
func (f *future) times(after, until time.Time) int {
	if f.every <= 0 {
		return f.schedule.Policy.Timing.Times.Count(after, until)
	}
	if f.first.IsZero() || until.Before(f.first) {
		return 0
	}
	n := int(until.Sub(f.first)/f.every) + 1
	if !after.Before(f.first) {
		n -= int(after.Sub(f.first)/f.every) + 1
	}
	return n
}

// next is the first one that is due after a time that is one of them, or before them all.
func (f *future) next(t time.Time) time.Time {
	switch {
	case f.every <= 0:
		return f.schedule.Policy.Timing.Times.Next(t)
	case t.Before(f.first):
		return f.first
	}
	return t.Add(f.every)
}

// all gives each of them, in order; it is for few.
func (f *future) all(k *Known, w window) []Future {
	if f.count == 0 {
		return nil
	}
	all := make([]Future, 0, f.count)
	for t, n := f.first, 0; n < f.due && !t.IsZero() && !t.After(f.until); t, n = f.next(t), n+1 {
		one := Future{X: w.X(t), At: t}
		if k.Usual.Runs >= leastUsual {
			if bar := span(w, t, t.Add(k.Usual.Median)); bar.Width >= leastBar {
				one.Bar = bar
			}
		}
		all = append(all, one)
	}
	if f.excluded > 0 {
		excluded := f.schedule.Policy.Timing.Excluded
		for t := excluded.Next(f.from); !t.IsZero() && !t.After(f.until); t = excluded.Next(t) {
			all = append(all, Future{X: w.X(t), At: t, Excluded: true})
		}
	}
	return all
}

// inCells counts them in cells.
func (f *future) inCells(cells []Cell) {
	if f.count == 0 {
		return
	}
	for i := range cells {
		c := &cells[i]
		after, until := ordering.Later(c.From.Add(-1), f.from), c.Until.Add(-1)
		if !after.Before(until) {
			continue
		}
		if f.due > 0 {
			c.Due = f.times(after, until)
		}
		if f.excluded > 0 {
			c.Skipped += f.schedule.Policy.Timing.Excluded.Count(after, until)
		}
	}
}
