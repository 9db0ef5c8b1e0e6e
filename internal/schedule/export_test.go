// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"iter"
	"time"
)

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

// Between returns the ticks in (after, until] in order. The ticks of an "@every"
// schedule start from after.
func (s Schedule) Between(after, until time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if !s.Satisfiable() {
			return
		}
		tick, end := instant(after), instant(until)
		for {
			if s.rule.every > 0 {
				tick += s.rule.every
			} else {
				var ok bool
				if tick, ok = s.rule.after(tick); !ok {
					return
				}
			}
			if tick > end || !yield(at(tick, after)) {
				return
			}
		}
	}
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
