// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Mark is what one place of a timeline shows.
type Mark string

// The marks, from the one that is shown least to the one that is shown first where several meet.
const (
	// Nothing: nothing was scheduled, and nothing ran.
	Nothing Mark = ""
	// Running: a run that began before goes on.
	Running Mark = "Running"
	// NotKnown: a scheduled time of which nothing is known any more.
	NotKnown  Mark = "NotKnown"
	ToCome    Mark = "ToCome"
	Succeeded Mark = "Succeeded"
	Skipped   Mark = "Skipped"
	Cancelled Mark = "Cancelled"
	// Unseen: a run of which nobody saw how it ended.
	Unseen Mark = "Unseen"
	Active Mark = "Active"
	Missed Mark = "Missed"
	Failed Mark = "Failed"
)

// Marks are all of them that a legend may name, in the order in which it does.
var Marks = []Mark{Succeeded, Failed, Active, Running, Missed, Skipped, Cancelled, Unseen, NotKnown, ToCome}

// weights order the marks.
var weights = map[Mark]int{Running: 1, NotKnown: 2, ToCome: 3, Succeeded: 4, Skipped: 5, Cancelled: 6, Unseen: 7, Active: 8, Missed: 9, Failed: 10}

// MarkOf is the mark of an outcome.
func MarkOf(outcome run.Outcome) Mark {
	switch outcome {
	case run.Succeeded:
		return Succeeded
	case run.Failed:
		return Failed
	case run.Cancelled:
		return Cancelled
	case run.Unknown:
		return Unseen
	}
	return Active
}

// Timeline is what was, and what is to come, on a line: a place for each stretch of time.
type Timeline struct {
	// From and Until are its ends, and Now, which is between two places, parts what was from what is to come.
	From  time.Time `json:"from"`
	Now   time.Time `json:"now"`
	Until time.Time `json:"until"`
	// PlaceSeconds is how long the stretch of one place is.
	PlaceSeconds float64 `json:"placeSeconds"`
	// Places are all of them, one after the other. Past is how many are before Now.
	Places []Mark `json:"places"`
	Past   int    `json:"past"`
	// Counts are how often each mark occurs, also where another one is shown; Running is not counted.
	Counts map[Mark]int `json:"counts"`

	place time.Duration
}

// lengths are how much of the past a timeline may show.
var lengths = []time.Duration{time.Hour, 6 * time.Hour, day, week, 5 * week, 366 * day}

const (
	day  = 24 * time.Hour
	week = 7 * day
	// enough is how many scheduled times or runs make a timeline worth its place.
	enough = 7
	// ahead is which part of the places is for the time to come: one of so many.
	ahead = 7
)

// history is what a timeline is made of.
type history struct {
	runs      []run.Run
	omissions []run.Omission
	// times are the scheduled times, nil if there are none; next gives those to come. Before since nothing was
	// scheduled.
	times cron.Times
	next  func(time.Time) time.Time
	since time.Time
}

// timeline puts the history on a line with so many places, at least 14. length is how much of the past it shows.
func timeline(h history, now time.Time, length time.Duration, places int) *Timeline {
	places = max(places, 2*ahead)
	t := &Timeline{Now: now, Places: make([]Mark, places), Past: places - places/ahead, Counts: map[Mark]int{}}
	t.place = length / time.Duration(t.Past)
	t.PlaceSeconds = t.place.Seconds()
	t.From, t.Until = now.Add(-t.place*time.Duration(t.Past)), now.Add(t.place*time.Duration(places-t.Past))
	for _, tries := range run.Times(h.runs) {
		t.addRun(tries)
	}
	for i := range h.omissions {
		t.addOmission(&h.omissions[i], h.times)
	}
	t.addNotKnown(h)
	t.addToCome(h)
	return t
}

// empty tells whether nothing is on it.
func (t *Timeline) empty() bool {
	for _, mark := range t.Places {
		if mark != Nothing {
			return false
		}
	}
	return true
}

// index is the place of an instant; ok is false if it is on neither side of the line. What has happened is in the past,
// also if a clock says otherwise.
func (t *Timeline) index(at time.Time) (index int, ok bool) {
	if at.Before(t.From) {
		return 0, false
	}
	if !at.Before(t.Now) {
		return t.Past - 1, true
	}
	return min(int(at.Sub(t.From)/t.place), t.Past-1), true
}

func (t *Timeline) set(index int, mark Mark) {
	if weights[mark] > weights[t.Places[index]] {
		t.Places[index] = mark
	}
}

// addRun adds a run with all its tries, of which the last one says what became of it.
func (t *Timeline) addRun(tries []run.Run) {
	last := &tries[len(tries)-1]
	index, on := t.index(last.Time())
	if on {
		t.set(index, markOf(last))
		t.Counts[markOf(last)]++
	} else if markOf(last) == Active {
		t.set(index, Active) // it began before the line does
		t.Counts[Active]++
	}
	for i := range tries {
		t.addSpan(&tries[i])
	}
}

// markOf is the mark of a run: one that is to be tried again has not failed yet.
func markOf(r *run.Run) Mark {
	if r.Retrying {
		return Active
	}
	return MarkOf(r.Outcome)
}

// addSpan marks the places in which a run went on.
func (t *Timeline) addSpan(r *run.Run) {
	begun, end := r.Begun(), r.Ended
	if end.IsZero() && !r.Outcome.Ended() {
		end = t.Now
	}
	if begun.IsZero() || end.Before(t.From) || r.Suspended {
		return
	}
	first, _ := t.index(begun)
	last, _ := t.index(end)
	for i := first; i <= last; i++ {
		place := t.From.Add(t.place * time.Duration(i))
		from, until := ordering.Later(begun, place), ordering.Earlier(end, place.Add(t.place))
		if 2*until.Sub(from) >= t.place { // less of a place would make a short run look long
			t.set(i, Running)
		}
	}
}

func (t *Timeline) addOmission(o *run.Omission, times cron.Times) {
	mark := Skipped
	if o.Missed {
		mark = Missed
	}
	last := o.ScheduledTime
	if o.Until.After(last) {
		last = o.Until
	}
	if last.Before(t.From) {
		return
	}
	t.Counts[mark] += int(max(1, o.Count))
	first, _ := t.index(o.ScheduledTime)
	end, _ := t.index(last)
	for i := first; i <= end; i++ {
		if i == first && !o.ScheduledTime.Before(t.From) || i == end || times == nil || t.names(times, i) {
			t.set(i, mark)
		}
	}
}

// names tells whether a scheduled time is in a place.
func (t *Timeline) names(times cron.Times, index int) bool {
	begin := t.From.Add(t.place * time.Duration(index))
	next := times.Next(begin.Add(-time.Nanosecond))
	return !next.IsZero() && next.Before(begin.Add(t.place))
}

// addNotKnown marks the past places with scheduled times of which there is neither a run nor an omission.
func (t *Timeline) addNotKnown(h history) {
	if h.times == nil {
		return
	}
	for i := range t.Past {
		begin := t.From.Add(t.place * time.Duration(i))
		end := begin.Add(t.place)
		if t.Places[i] != Nothing && t.Places[i] != Running || !end.After(h.since) {
			continue
		}
		if next := h.times.Next(ordering.Later(begin, h.since).Add(-time.Nanosecond)); next.IsZero() || !next.Before(end) {
			continue
		}
		t.set(i, NotKnown)
		t.Counts[NotKnown]++
	}
}

// addToCome marks the places in which the next times are.
func (t *Timeline) addToCome(h history) {
	if h.next == nil {
		return
	}
	for at := h.next(t.Now); !at.IsZero() && at.Before(t.Until); {
		index := max(t.Past, min(int(at.Sub(t.From)/t.place), len(t.Places)-1))
		t.set(index, ToCome)
		t.Counts[ToCome]++
		end := t.From.Add(t.place * time.Duration(index+1))
		at = h.next(end.Add(-time.Nanosecond)) // one of each place is enough
	}
}

// lengthOf chooses how much of the past is shown: so much that there is something to see.
func lengthOf(h history, every time.Duration, now time.Time) time.Duration {
	for _, length := range lengths {
		if h.happened(now.Add(-length), now) >= enough {
			return length
		}
		switch {
		case every > 0 && length/every >= enough:
			return length
		case every == 0 && h.times != nil && h.times.Count(now.Add(-length), now) >= enough:
			return length
		}
	}
	if h.times == nil || h.happened(now.Add(-lengths[len(lengths)-1]), now) == 0 {
		return week
	}
	return lengths[len(lengths)-1]
}

// happened counts the runs and omissions of an interval.
func (h *history) happened(from, until time.Time) (n int) {
	for i := range h.runs {
		if at := h.runs[i].Time(); at.After(from) && !at.After(until) {
			n++
		}
	}
	for i := range h.omissions {
		if at := h.omissions[i].ScheduledTime; at.After(from) && !at.After(until) {
			n++
		}
	}
	return n
}
