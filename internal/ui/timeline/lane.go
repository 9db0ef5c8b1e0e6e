// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// mostLanes is how many runs of one row are drawn one above the other.
const mostLanes = 4

// stack puts bars, which are in the order of their beginning, into lanes, so that those of one lane do not overlap. For
// whom there is no lane is counted.
func (d *Drawn) stack(bars []Bar) {
	var ends [mostLanes]time.Time
	for i := range bars {
		b := &bars[i]
		lane := slices.IndexFunc(ends[:], func(end time.Time) bool { return end.IsZero() || !b.from.Before(end) })
		if lane < 0 && b.Run != nil {
			d.overflow(b)
			continue
		}
		b.Lane = max(lane, 0)
		ends[b.Lane] = b.until
		if !b.until.After(b.from) {
			ends[b.Lane] = b.from.Add(1) // two at one instant overlap
		}
		d.Lanes = max(d.Lanes, b.Lane+1)
		d.Bars = append(d.Bars, *b)
	}
	d.widen()
}

// overflow counts a run with those that it overlaps.
func (d *Drawn) overflow(b *Bar) {
	if n := len(d.Overflow); n > 0 && b.from.Before(d.Overflow[n-1].until) {
		o := &d.Overflow[n-1]
		o.Runs, o.until = append(o.Runs, *b.Run), ordering.Later(o.until, b.until)
		return
	}
	d.Overflow = append(d.Overflow, Overflow{X: b.X, Runs: []run.Run{*b.Run}, until: ordering.Later(b.from.Add(1), b.until)})
}

// widen makes bars that would not be seen as wide as the next one in their lane allows.
func (d *Drawn) widen() {
	next := [mostLanes]percent{}
	for i := range next {
		next[i] = 100
	}
	for i := len(d.Bars) - 1; i >= 0; i-- {
		b := &d.Bars[i]
		if room := next[b.Lane] - b.X; b.Width < b.leastWidth() {
			b.Width = min(b.leastWidth(), room)
		} else {
			b.Width = min(b.Width, room)
		}
		next[b.Lane] = b.X
	}
}
