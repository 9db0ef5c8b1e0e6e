// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"iter"
	"time"
)

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
