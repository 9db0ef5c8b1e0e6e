// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"iter"
	"math"
	"time"
)

// A Set is the set of scheduled times of a timing. Make one with [Compile]. It is
// immutable: use it from as many goroutines as you like. The zero Set has no times.
//
// A scheduled time is an instant on a whole second that an item names, inside the window
// and in no exclusion. Methods return instants in the location of their first argument.
// The zero time.Time means "there is none".
type Set struct {
	loc   *time.Location
	names []string
	items union
	// kept is what counts; excluded is what only an exclusion takes out, nil without any.
	kept, excluded source
	// closed tells that all times are excluded, for ever, and that there is no last one.
	closed bool
	// jitter is the offset of the planned start, in seconds.
	jitter int64
}

// An End says why a search found nothing.
type End int

// The ends of a search.
const (
	// Found says that it found something.
	Found End = iota
	// NoMoreTimes says that the set has no time there: the items or the window have ended,
	// even if what is left of them is excluded.
	NoMoreTimes
	// GaveUp says that 10,000 exclusions followed each other without a time between them. Whoever
	// reports it calls it [AllExcluded].
	GaveUp
)

// Location returns the time zone of the timing.
func (s *Set) Location() *time.Location {
	if s.loc == nil {
		return time.UTC
	}
	return s.loc
}

// times is what counts.
func (s *Set) times() source {
	if s.kept == nil {
		return moments(nil)
	}
	return s.kept
}

// Next returns the first scheduled time later than t.
func (s *Set) Next(t time.Time) time.Time {
	next, _ := s.Search(t)
	return next
}

// Search returns the first scheduled time later than t, or why there is none.
func (s *Set) Search(t time.Time) (time.Time, End) {
	if s.closed {
		return time.Time{}, GaveUp
	}
	switch sec, end := s.times().after(seconds(t)); end {
	case found:
		return inZoneOf(sec, t), Found
	case gaveUp:
		return time.Time{}, GaveUp
	}
	return time.Time{}, NoMoreTimes
}

// Prev returns the last scheduled time earlier than t.
func (s *Set) Prev(t time.Time) time.Time {
	if s.closed {
		return time.Time{}
	}
	return result(s.times(), secondsUp(t), t)
}

// LastBetween returns the last scheduled time in (after, until].
func (s *Set) LastBetween(after, until time.Time) time.Time {
	last := s.Prev(until.Add(1))
	if !last.After(after) {
		return time.Time{}
	}
	return last.In(after.Location())
}

// Count returns how many scheduled times lie in (after, until]. For one schedule it takes
// a step for each exclusion, open week and change of the clock between the two, however
// many times there are. For several it takes one for each day, and walks the times of one
// of each kind of days. A count too large for an int is the largest int.
func (s *Set) Count(after, until time.Time) int { return countIn(s.times(), after, until) }

// Between returns the scheduled times in (after, until], in order.
func (s *Set) Between(after, until time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := s.Next(after); !t.IsZero() && !t.After(until); t = s.Next(t) {
			if !yield(t) {
				return
			}
		}
	}
}

// Has tells whether t is a scheduled time.
func (s *Set) Has(t time.Time) bool {
	return t.Nanosecond() == 0 && !s.closed && has(s.times(), seconds(t))
}

// Names returns the names of the items that name an instant, in the order of the spec:
// none if no item does. Window and exclusions play no part.
func (s *Set) Names(t time.Time) []string {
	if t.Nanosecond() != 0 {
		return nil
	}
	var names []string
	for i, item := range s.items.sources {
		if has(item, seconds(t)) {
			names = append(names, s.names[i])
		}
	}
	return names
}

// PlannedStart returns when the run of a scheduled time is to start: at the time, put off
// by the jitter, but before the next scheduled time.
func (s *Set) PlannedStart(t time.Time) time.Time {
	offset := s.jitter
	if offset == 0 {
		return t
	}
	if next := s.Next(t); !next.IsZero() {
		offset = min(offset, next.Unix()-t.Unix()-1)
	}
	return t.Add(time.Duration(max(offset, 0)) * time.Second)
}

// Excluded returns the set of the times that only an exclusion takes out: those that are
// counted as skipped. It has no jitter.
func (s *Set) Excluded() *Set {
	kept := s.excluded
	if kept == nil {
		kept = moments(nil)
	}
	return &Set{loc: s.loc, names: s.names, items: s.items, kept: kept}
}

func countIn(s source, after, until time.Time) int {
	from, to := seconds(after)+1, seconds(until)+1
	if from >= to {
		return 0
	}
	return int(min(s.count(from, to), math.MaxInt))
}

// result is the last instant of a source before sec.
func result(s source, sec int64, t time.Time) time.Time {
	last, end := s.before(sec)
	if end != found {
		return time.Time{}
	}
	return inZoneOf(last, t)
}

// seconds returns t in seconds since 1970, rounded down: an instant is later than t if and
// only if it is later than that.
func seconds(t time.Time) int64 { return min(max(t.Unix(), minInstant), maxInstant) }

// secondsUp is rounded up: an instant is earlier than t if and only if it is earlier than that.
func secondsUp(t time.Time) int64 {
	sec := seconds(t)
	if t.Nanosecond() > 0 {
		sec++
	}
	return sec
}

// inZoneOf returns an instant in the location of t.
func inZoneOf(sec int64, t time.Time) time.Time { return time.Unix(sec, 0).In(t.Location()) }
