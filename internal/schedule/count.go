// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

// count returns how many ticks lie in [from, to).
//
// On a clock that never changes this is a subtraction. Where the offset changes
// from a to b at instant x, the wall clock jumps from x+a to x+b: forward over
// seconds that do not happen, or back to seconds that happen again. So the count
// is the one between the two ends' wall times, less what each jump skips (a jump
// back skips a negative number).
func (r *rule) count(from, to int64) int64 {
	if from >= to || !r.possible {
		return 0
	}
	if r.zone.fixed() {
		return r.countListed(from, to)
	}
	// Past cycleStart each turn of the calendar has the same ticks.
	var n int64
	if turns := (to - max(from, cycleStart)) / cycle; turns > 0 {
		n = turns * r.countListed(cycleStart, cycleEnd)
		to -= turns * cycle
	}
	if from >= cycleEnd {
		turns := (from - cycleStart) / cycle
		from -= turns * cycle
		to -= turns * cycle
	}
	if to > cycleEnd {
		n += r.countListed(cycleStart, to-cycle)
		to = cycleEnd
	}
	return n + r.countListed(from, to)
}

// countListed is count for a span that the zone lists, a step for each change of
// offset in it.
func (r *rule) countListed(from, to int64) (n int64) {
	z := r.zone
	i := z.find(from)
	first := z.offsets[i]
	for i++; i < len(z.starts) && z.starts[i] < to; i++ {
		at := z.starts[i]
		n -= r.between(at+z.offsets[i-1], at+z.offsets[i])
	}
	return n + r.between(from+first, to+z.offsets[i-1])
}
