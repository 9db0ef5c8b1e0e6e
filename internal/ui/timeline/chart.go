// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// mostBars is how many runs, times without a run and future times of one row are drawn one by one; more are counted in
// cells.
const mostBars = 100

// Known is what is known of a row.
type Known struct {
	Row *Row
	// Runs are those that may be seen in the window, in any order.
	Runs []run.Run
	// Counts, if not nil, are the runs of which the time is in the window, which Runs lack then, by cells of the zoom: of
	// several tries of one scheduled time the last one.
	Counts []journal.Tally
	// Retrying are the scheduled times of which the last try has failed, and another one is to come.
	Retrying []time.Time
	// Stopped: the Carillon that ran them does not run; LastSign is when it gave its last sign, zero if that is not known.
	Stopped  bool
	LastSign time.Time
	// Omissions are the times without a run that may be seen in the window.
	Omissions []run.Omission
	// Waiting are scheduled times that wait for something.
	Waiting []Waiting
	// Paused says that it is paused or suspended; nil if it is not.
	Paused *status.Paused
	// Usual is how long its runs take.
	Usual journal.Usual
}

// Waiting is a scheduled time that has come and was not started yet.
type Waiting struct {
	At time.Time
	// Reason is one word, Message says it in a sentence; "" if nobody does.
	Reason, Message string
}

// Drawn is what one row shows. Either Cells has what happened, or the others do.
type Drawn struct {
	*Row
	// Lanes is how many rows of bars there are one above the other, at least 1.
	Lanes    int
	Bars     []Bar
	Overflow []Overflow
	Marks    []Mark
	Future   []Future
	Cells    []Cell
	// Shades are the spans in which it was suspended or paused.
	Shades []Shade
	// Total is all of it.
	Total Counts
}

// Bar is a run, or a time that waits.
type Bar struct {
	Lane     int
	X, Width percent
	// Run is the run; nil for a time that waits, which is Waiting.
	Run     *run.Run
	Waiting *Waiting
	// Lead is from the scheduled time to the start; nil if that was in time.
	Lead *Span
	// Open: it goes on. Rest is how long it goes on if it takes as long as usual; nil if that is not known, or is over.
	Open bool
	Rest *Span
	// from and until are the time that it takes.
	from, until time.Time
}

// Span is a part of the width.
type Span struct{ X, Width percent }

// Overflow are runs that overlap more others than there are lanes for.
type Overflow struct {
	X     percent
	Runs  []run.Run
	until time.Time
}

// Mark is a time, or several that follow each other, without a run.
type Mark struct {
	X        percent
	Omission *run.Omission
	// Through is how far it goes; nil if it is one time.
	Through *Span
}

// Future is a time to come.
type Future struct {
	X  percent
	At time.Time
	// Bar is how long the run takes if it takes as long as usual; nil if that is not known or too short to be seen.
	Bar *Span
	// Excluded: nothing will be started, since an exclusion says so.
	Excluded bool
}

// Shade is a span in which nothing starts.
type Shade struct {
	Span
	Text string
}

// draw gives what one row shows in a window.
func draw(k *Known, w window, now time.Time) Drawn {
	d := Drawn{Row: k.Row, Lanes: 1}
	bars := barsOf(k, w, now)
	omissions := omissionsIn(k.Omissions, w)
	future := futureOf(k, w, now)
	d.shade(k, w, now)
	if k.Counts != nil || len(bars)+len(omissions)+future.count > mostBars {
		d.Cells = cellsOf(k, bars, omissions, &future, w)
		for i := range d.Cells {
			d.Total.add(&d.Cells[i].Counts)
		}
		return d
	}
	for _, one := range countedOf(k, bars) {
		d.Total.addRun(one.run)
	}
	d.stack(bars)
	for i := range omissions {
		o := &omissions[i]
		d.Total.addOmission(o)
		m := Mark{X: w.X(o.ScheduledTime), Omission: o}
		if !o.Until.IsZero() && o.Until.After(o.ScheduledTime) {
			m.Through = span(w, o.ScheduledTime, o.Until)
		}
		d.Marks = append(d.Marks, m)
	}
	d.Future = future.all(k, w)
	d.Total.Due = future.due
	return d
}

func span(w window, from, until time.Time) *Span {
	x := w.X(from)
	return &Span{x, w.X(until) - x}
}

// goesOn is until when what has not ended is known to have gone on.
func (k *Known) goesOn(now time.Time) time.Time {
	if k.Stopped {
		return k.LastSign
	}
	return now
}

// barsOf gives the runs and the waiting times that are seen in a window, by their beginning.
func barsOf(k *Known, w window, now time.Time) []Bar {
	var bars []Bar
	for i := range k.Runs {
		if b, ok := barOf(&k.Runs[i], w, k.goesOn(now), k.Usual); ok {
			bars = append(bars, b)
		}
	}
	for i := range k.Waiting {
		b := Bar{Waiting: &k.Waiting[i], from: k.Waiting[i].At, until: now, Open: true}
		if b.from.After(now) || !b.from.Before(w.Until) || b.until.Before(w.From) {
			continue
		}
		bars = append(bars, b.placed(w))
	}
	slices.SortStableFunc(bars, func(a, b Bar) int { return a.from.Compare(b.from) })
	return bars
}

// Seen tells from when until when a run is seen in a chart: from its scheduled time, if it began later than that. What
// has not ended goes on until now, which of a Carillon that is stopped is its last sign; zero if that is not known.
func Seen(r *run.Run, now time.Time) (from, until time.Time) {
	from, until = r.Time(), took(r, now)
	if begun := r.Begun(); from.IsZero() || !begun.IsZero() && begun.Before(from) {
		from = begun
	}
	return from, ordering.Later(from, until)
}

// took is when a run ended, or now if it goes on.
func took(r *run.Run, now time.Time) time.Time {
	switch {
	case !r.Outcome.Ended():
		return ordering.Later(now, r.Begun())
	case r.Ended.IsZero():
		return r.Begun()
	}
	return ordering.Later(r.Begun(), r.Ended)
}

// overlaps tells whether a span of time, which may be one instant, is seen in the window.
func (w window) overlaps(from, until time.Time) bool {
	return from.Before(w.Until) && (until.After(w.From) || !until.Before(w.From) && from.Equal(until))
}

// latenessSeen is from when on a start counts as late: controllers take a moment.
const latenessSeen = 2 * time.Second

// barOf gives the bar of a run; false if nothing of it is in the window.
func barOf(r *run.Run, w window, now time.Time, usual journal.Usual) (Bar, bool) {
	first, last := Seen(r, now)
	if !w.overlaps(first, last) {
		return Bar{}, false
	}
	b := Bar{Run: r, from: r.Begun(), until: took(r, now), Open: !r.Outcome.Ended() && !r.Left}
	if b.from.IsZero() {
		b.from = first
	}
	if due := r.ScheduledTime; !due.IsZero() && r.Retry <= 1 && b.from.Sub(due) >= latenessSeen {
		if lead := span(w, due, b.from); lead.Width >= leastBar {
			b.Lead = lead
		}
	}
	if end := b.from.Add(usual.Median); b.Open && !r.Started.IsZero() && usual.Runs >= leastUsual && end.After(b.until) {
		if rest := span(w, b.until, end); rest.Width > 0 {
			b.Rest = rest
		}
	}
	return b.placed(w), true
}

// leastUsual is of how many runs it is known how long a run takes.
const leastUsual = 3

// The least width of a bar, so that it is seen, if there is room for that; what failed has a greater one. A bar that
// would lie beyond the end is moved back by least.
const (
	least       percent = 0.02
	leastBar    percent = 0.3
	leastFailed percent = 0.4
)

func (b Bar) placed(w window) Bar {
	b.X = min(w.X(b.from), 100-least)
	b.Width = max(w.X(b.until)-b.X, 0)
	return b
}

// leastWidth is how wide it is at least if there is room.
func (b *Bar) leastWidth() percent {
	if b.Run != nil && b.Run.Outcome == run.Failed {
		return leastFailed
	}
	return leastBar
}

// omissionsIn gives those that are seen in a window, the oldest first.
func omissionsIn(all []run.Omission, w window) []run.Omission {
	var seen []run.Omission
	for i := range all {
		o := all[i]
		if w.overlaps(o.ScheduledTime, ordering.Later(o.ScheduledTime, o.Until)) {
			seen = append(seen, o)
		}
	}
	slices.SortStableFunc(seen, func(a, b run.Omission) int { return a.ScheduledTime.Compare(b.ScheduledTime) })
	return seen
}

// shade marks when it was suspended, and is.
func (d *Drawn) shade(k *Known, w window, now time.Time) {
	add := func(from, until time.Time, text string) {
		if s := span(w, from, until); s.Width > 0 {
			d.Shades = append(d.Shades, Shade{*s, text})
		}
	}
	for i := range k.Omissions {
		if o := &k.Omissions[i]; (o.Reason == "Suspended" || o.Reason == "Paused") && o.Until.After(o.ScheduledTime) {
			add(o.ScheduledTime, o.Until, "nothing started: "+pausedWord(o.Reason))
		}
	}
	if p := k.Paused; p != nil {
		from, until := p.Since, p.Until
		if from.IsZero() || from.After(now) {
			from = now
		}
		if until.IsZero() {
			until = w.Until
		}
		add(from, until, "nothing starts: "+pauseWords(p))
	}
}
