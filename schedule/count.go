// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

// count returns how many ticks lie in [from, to).
//
// On a clock that never changes this is a subtraction. Where the offset changes
// from a to b at instant x, the wall clock jumps from x+a to x+b: forward over
// seconds that do not happen, or back to seconds that happen again. So the count
// is the one between the two ends' wall times, less what each jump skips (a jump
// back skips a negative number). A rule that is placed has one tick for what a jump
// forward skips, and none for what a jump back shows again.
func (r *rule) count(from, to int64) int64 {
	if years := r.dates.years; years != nil {
		// What was listed has an end before the turns of the calendar have one.
		to = min(to, newYear(years.last+1)*secondsPerDay-r.zone.low)
	}
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
	first := r.decided(i, from+z.offsets[i])
	if r.placed && i > 0 && from == z.starts[i] {
		n += r.countShifted(i)
	}
	for i++; i < len(z.starts) && z.starts[i] < to; i++ {
		at, a, b := z.starts[i], z.offsets[i-1], z.offsets[i]
		if b > a || !r.once {
			n -= r.between(at+a, at+b)
		}
		if r.placed {
			n += r.countShifted(i)
		}
	}
	return n + r.between(first, r.decided(i-1, to+z.offsets[i-1]))
}

// decided returns up to where on the wall clock the ticks lie before an instant of a stretch: up to what it shows then,
// except in an overlap, all of whose ticks lie in its first showing, or in its last.
func (r *rule) decided(i int, wall int64) int64 {
	z := r.zone
	switch {
	case !r.placed:
	case r.late:
		end := int64(cycleEnd)
		if i+1 < len(z.starts) {
			end = z.starts[i+1]
		}
		return min(wall, end+z.at(end).offset)
	case r.once && i > 0:
		return max(wall, z.starts[i]+z.offsets[i-1])
	}
	return wall
}

// countShifted returns 1 if the start of a stretch is a tick only because the gap before it skips a match.
func (r *rule) countShifted(i int) int64 {
	at, a, b := r.zone.starts[i], r.zone.offsets[i-1], r.zone.offsets[i]
	if !r.shift || !r.skips(at+a, at+b) || r.skips(at+b, at+b+1) {
		return 0
	}
	return 1
}
