// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

// Where the offset of a zone changes from a to b at instant x, the wall clock jumps from x+a to x+b. What it jumps over
// is a gap, what it shows again an overlap. A rule that is placed has ticks of its own there; see [DST].
//
// A zone never changes again before its clock is clear of the last jump, so that one neighbour tells what another
// stretch skips or shows: TestChangesAreFarApart.

// place says where the ticks of gaps and overlaps go.
func (r *rule) place(d DST) {
	r.shift = d.Gap != GapSkip
	r.once = d.Overlap != OverlapBoth
	r.late = d.Overlap == OverlapLast
	r.placed = (r.shift || r.once) && !r.zone.fixed()
}

// shown returns the part [low, high) of a stretch's wall clock that has ticks at the instants that show it: all of it,
// but not what the stretch before has already shown, or what the one behind shows again.
func (r *rule) shown(s stretch) (low, high int64) {
	low, high = s.start+s.offset, s.end+s.offset
	switch {
	case r.late:
		high = min(high, s.end+r.zone.at(s.end).offset)
	case r.once:
		low = max(low, s.start+r.zone.at(s.start-1).offset)
	}
	return low, high
}

// shiftsTo tells whether the start of a stretch is a tick because the gap before it skips a match.
func (r *rule) shiftsTo(s stretch) bool {
	return r.shift && r.skips(s.start+r.zone.at(s.start-1).offset, s.start+s.offset)
}

// skips tells whether a match lies in the part [from, to) of the wall clock.
func (r *rule) skips(from, to int64) bool {
	if from >= to {
		return false
	}
	wall, ok := r.first(from)
	return ok && wall < to
}
