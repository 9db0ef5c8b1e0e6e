// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

// count returns how many ticks lie in [from, to).
//
// On a clock that never changes this is a subtraction. Where the offset changes
// from a to b at instant x, the wall clock jumps from x+a to x+b: forward over
// minutes that do not happen, or back to minutes that happen again. So the count
// is the one between the two ends' wall times, less what each jump skips (a jump
// back skips a negative number).
func (r *rule) count(from, to int64) int64 {
	if from >= to || !r.possible {
		return 0
	}
	var n int64
	if start := max(from, cycleStart); !r.zone.fixed() {
		// Past cycleStart each turn of the calendar has the same ticks.
		if turns := (to - start) / cycle; turns > 0 {
			n = turns * r.countStretches(start, start+cycle)
			to -= turns * cycle
		}
	}
	return n + r.countStretches(from, to)
}

// countStretches is count, a step for each change of offset.
func (r *rule) countStretches(from, to int64) (n int64) {
	s := r.zone.at(from)
	first := s.offset
	for s.end < to {
		next := r.zone.at(s.end)
		n -= r.between(minuteUp(s.end+s.offset), minuteUp(s.end+next.offset))
		s = next
	}
	return n + r.between(minuteUp(from+first), minuteUp(to+s.offset))
}
