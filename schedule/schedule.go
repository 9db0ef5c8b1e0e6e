// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"iter"
	"math"
	"time"
)

// A Schedule is a set of instants, each on a whole second. Make one with [Parse] or [Compile].
//
// It is immutable and the size of a pointer: pass it by value, use it from as many
// goroutines as you like. The zero Schedule has no ticks.
//
// Methods return instants in the location of their first argument, without a
// monotonic reading. The zero time.Time means "there is none". Instants more than
// a billion years from 1970 have no ticks.
type Schedule struct {
	rule *rule
}

// Next returns the first tick strictly later than t, or the zero time if there is
// none ever. For an "@every" schedule that is t, cut to the second, plus the
// period.
//
// It gives up at no horizon: "0 0 29 2 *" asked in 2096 answers 2104.
func (s Schedule) Next(t time.Time) time.Time {
	if !s.Satisfiable() {
		return time.Time{}
	}
	sec := instant(t)
	if s.rule.every > 0 {
		if sec += s.rule.every; sec > maxInstant {
			return time.Time{}
		}
		return at(sec, t)
	}
	tick, ok := s.rule.after(sec)
	if !ok {
		return time.Time{}
	}
	return at(tick, t)
}

// Prev returns the last tick strictly earlier than t, or the zero time if there is
// none ever. For an "@every" schedule, which has no grid to look back on, it is the
// inverse of Next: t, cut to the second, less the period.
func (s Schedule) Prev(t time.Time) time.Time {
	if !s.Satisfiable() {
		return time.Time{}
	}
	sec := instant(t)
	if s.rule.every > 0 {
		if sec -= s.rule.every; sec < minInstant {
			return time.Time{}
		}
		return at(sec, t)
	}
	tick, ok := s.rule.before(instantUp(t))
	if !ok {
		return time.Time{}
	}
	return at(tick, t)
}

// Count returns how many ticks lie in (after, until]: later than after, and not
// later than until. It takes about as long for ten years as for a day. The ticks of
// an "@every" schedule start from after. A count too large for an int is the
// largest int.
func (s Schedule) Count(after, until time.Time) int {
	from, to := instant(after), instant(until)
	if from >= to || !s.Satisfiable() {
		return 0
	}
	n := int64(0)
	if s.rule.every > 0 {
		n = (to - from) / s.rule.every
	} else {
		n = s.rule.count(from+1, to+1)
	}
	return int(min(n, math.MaxInt))
}

// LastBetween returns the last tick in (after, until], or the zero time if there
// is none: the tick that a program that was away since after has to make up.
// The ticks of an "@every" schedule start from after.
func (s Schedule) LastBetween(after, until time.Time) time.Time {
	from, to := instant(after), instant(until)
	if from >= to || !s.Satisfiable() {
		return time.Time{}
	}
	if every := s.rule.every; every > 0 {
		if to-from < every {
			return time.Time{}
		}
		return at(to-(to-from)%every, after)
	}
	tick, ok := s.rule.before(to + 1)
	if !ok || tick <= from {
		return time.Time{}
	}
	return at(tick, after)
}

// Between returns the ticks in (after, until], in order, each as Next gives it. Those
// of an "@every" schedule start from after.
func (s Schedule) Between(after, until time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := s.Next(after); !t.IsZero() && !t.After(until); t = s.Next(t) {
			if !yield(t) {
				return
			}
		}
	}
}

// Satisfiable tells whether the schedule names any date at all: "0 0 30 2 *"
// parses and does not, and neither does a field that is only commas. It is known
// from parsing and costs nothing to ask.
//
// A date that exists on the calendar and that the zone's clock always skips (02:30
// on the day of the change to summer time, and on no other) still counts; Next then
// returns the zero time.
func (s Schedule) Satisfiable() bool {
	return s.rule != nil && (s.rule.possible || s.rule.every > 0)
}

// Every returns the period of an "@every" schedule, at least a second and in whole
// seconds. ok is false for all other schedules, whose ticks lie where the wall
// clock says.
func (s Schedule) Every() (period time.Duration, ok bool) {
	if s.rule == nil || s.rule.every == 0 {
		return 0, false
	}
	return time.Duration(s.rule.every) * time.Second, true
}

// instant returns t in seconds since 1970, rounded down. A tick is later than t if
// and only if it is later than that.
func instant(t time.Time) int64 {
	return min(max(t.Unix(), minInstant), maxInstant)
}

// instantUp returns t in seconds since 1970, rounded up. A tick is earlier than t if
// and only if it is earlier than that.
func instantUp(t time.Time) int64 {
	sec := instant(t)
	if t.Nanosecond() > 0 {
		sec++
	}
	return sec
}

// at returns an instant in the location of t.
func at(sec int64, t time.Time) time.Time {
	return time.Unix(sec, 0).In(t.Location())
}
