// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// A List is the next times of a source, and what became of those that one would have expected among them.
type List struct {
	Source *Source
	// Times are the times, in order, in the zone of the source.
	Times []Time
	// Omissions are what is not among them, in order of At.
	Omissions []Omission
	// End says why there are fewer times than were asked for; "" if there are not.
	End End
	// Last is the last time before those that were asked for, if there are none; zero if there was none either.
	Last time.Time
	// Beside is a zone in which the table of Text tells the times, too, under Heading, if its clocks show otherwise
	// than those that the table has anyway; nil if none is asked for.
	Beside  *time.Location
	Heading string
}

// A Time is one at which a run starts.
type Time struct {
	// At is the scheduled time.
	At time.Time
	// Names are the schedules that name it; nil unless the source has several.
	Names []string
	// PlannedStart is when its run starts if jitter puts it off; zero if none does.
	PlannedStart time.Time
	// ShiftedFrom are wall clock times that do not exist, in place of which it stands; nil if there are none.
	ShiftedFrom *Span
	// Twice says which it is of two instants at which the clock shows the same; "" if it shows it once.
	Twice Showing
	// OtherOmitted tells that the other of the two is no scheduled time.
	OtherOmitted bool
	// Suspended tells that no run starts at it.
	Suspended bool
}

// A Showing is one of two instants at which a clock that is put back shows the same.
type Showing string

// The showings.
const (
	First  Showing = "First"
	Second Showing = "Second"
)

// A Span is some times, from the first to the last.
type Span struct {
	First, Last time.Time
	// Count is how many there are, 1 or more.
	Count int
}

// An Omission is some times that follow each other and at which nothing starts.
type Omission struct {
	// At is where it belongs among the times.
	At time.Time
	// Reason says why.
	Reason Reason
	// Span are the times. Those of a Gap are on a wall clock that did not show them, written as if it was in UTC.
	Span
	// By are the periods that exclude them; nil for the rest of a great many omissions between two times.
	By []Exclusion
	// Names are the schedules that name them; nil unless the source has several.
	Names []string
}

// A Reason says why nothing starts.
type Reason string

// The reasons.
const (
	Excluded Reason = "Excluded" // an exclusion says so
	Gap      Reason = "Gap"      // the wall clock skips them
)

// End says why a list ends early.
type End string

// The ends.
const (
	NoMoreTimes  End = "NoMoreTimes"  // the schedules name no more
	WindowEnds   End = "WindowEnds"   // those that they name are after the window
	AllExcluded  End = "AllExcluded"  // exclusions take out all that is left
	Year9999     End = "Year9999"     // later ones are after the year 9999, the last that programs can write
	NothingReads End = "NothingReads" // the schedules cannot be read: Source.Obstacle
)

// lastWritable is in the last hours of the year 9999, in any zone.
const lastWritable = 253402300799 - 24*3600

// horizon is how far after the last time of a list that ends early omissions are looked for.
const horizon = 2 * 366 * 24 * time.Hour

// List gives the first count times that are not before from.
func (s *Source) List(from time.Time, count int) *List {
	l := &List{Source: s}
	if s.times == nil {
		l.End = NothingReads
		return l
	}
	after := from.In(s.Zone)
	if s.Every == 0 {
		after = after.Add(-1)
	}
	last := after
	for len(l.Times) < count {
		next := s.nextAfter(last, len(l.Times) == 0)
		if next.IsZero() {
			l.End = s.end(last)
			break
		}
		if next.Unix() > lastWritable {
			l.End = Year9999
			break
		}
		l.Times = append(l.Times, s.time(next))
		last = next
	}
	if len(l.Times) == 0 {
		if l.Last = s.times.LastBetween(firstInstant, after); !l.Last.IsZero() {
			l.Last = l.Last.In(s.Zone)
		}
	}
	until := last
	if l.End != "" {
		until = last.Add(horizon)
		if end := time.Unix(lastWritable, 0); until.After(end) {
			until = end
		}
	}
	l.Omissions = append(s.excludedBetween(after, until, l.Times), s.skippedBetween(after, until)...)
	slices.SortStableFunc(l.Omissions, func(a, b Omission) int { return a.At.Compare(b.At) })
	return l
}

// nextAfter gives the time that follows another one or, if it is to be the first one, the instant asked for.
func (s *Source) nextAfter(t time.Time, first bool) time.Time {
	if first && s.firstAfter != nil {
		return s.firstAfter(t.Add(-1)) // one at that instant counts
	}
	return s.times.Next(t)
}

func (s *Source) end(last time.Time) End {
	set, ok := s.times.(*timeset.Set)
	if !ok {
		return NoMoreTimes
	}
	if _, end := set.Search(last); end == timeset.GaveUp {
		return AllExcluded
	}
	for _, i := range s.items {
		if !s.NotAfter.IsZero() && i.instants != nil && !i.instants.Next(ordering.Later(last, s.NotAfter)).IsZero() {
			return WindowEnds
		}
	}
	return NoMoreTimes
}

func (s *Source) time(at time.Time) Time {
	t := Time{At: at.In(s.Zone), Suspended: s.Suspended || s.Paused || !s.SuspendedUntil.IsZero() && at.Before(s.SuspendedUntil)}
	if set, ok := s.times.(*timeset.Set); ok {
		if len(s.items) > 1 {
			t.Names = set.Names(at)
		}
		if planned := set.PlannedStart(at); !planned.Equal(at) {
			t.PlannedStart = planned.In(s.Zone)
		}
	}
	t.ShiftedFrom = s.shiftedTo(at)
	t.Twice, t.OtherOmitted = s.showing(at)
	return t
}

// join makes one span of two.
func join(a *Span, b Span) *Span {
	if a == nil {
		return &b
	}
	if b.First.Before(a.First) {
		a.First = b.First
	}
	a.Last = ordering.Later(a.Last, b.Last)
	a.Count += b.Count
	return a
}
