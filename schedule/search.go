// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

// searchReach is how far a search looks behind the part of a zone's history that is
// listed: a turn of the calendar, after which everything repeats, and the longest
// wait for a date. It matters only to a zone that skips a schedule's every date.
const searchReach = cycle + 9*366*secondsPerDay

// after returns the first tick later than an instant.
func (r *rule) after(sec int64) (tick int64, ok bool) {
	from := sec + 1
	if r.zone.fixed() {
		offset := r.zone.offsets[0]
		wall, ok := r.first(from + offset)
		tick = wall - offset
		return tick, ok && tick <= maxInstant
	}
	for limit := min(max(from, cycleStart)+searchReach, maxInstant); from <= limit; {
		s := r.zone.at(from)
		low, high := from+s.offset, s.end+s.offset
		if r.placed {
			if from == s.start && r.shiftsTo(s) {
				return from, from <= maxInstant
			}
			first, end := r.shown(s)
			low, high = max(low, first), end
		}
		wall, ok := r.first(low)
		if tick = wall - s.offset; ok && wall < high {
			return tick, tick <= maxInstant
		}
		// From its end on the wall clock shows at least end+low, and if that is before
		// where this search began (the clock is put back), seconds come again. Go to
		// the earliest instant that can show the first match, or stand for it after a gap.
		if again := s.end + r.zone.low; again < low {
			wall, ok = r.first(again)
		}
		if !ok {
			return 0, false
		}
		from = max(s.end, wall-r.zone.high)
	}
	return 0, false
}

// before returns the last tick earlier than an instant.
func (r *rule) before(sec int64) (tick int64, ok bool) {
	to := sec - 1
	if r.zone.fixed() {
		offset := r.zone.offsets[0]
		wall, ok := r.last(to + offset)
		tick = wall - offset
		return tick, ok && tick >= minInstant
	}
	for limit := to - searchReach; to >= minInstant; {
		if to < limit && to >= cycleEnd {
			// A whole turn by the rule had no match: there is none by the rule at all.
			to = cycleEnd - 1
		}
		s := r.zone.at(to)
		low, high := s.start+s.offset, to+s.offset
		if r.placed {
			first, end := r.shown(s)
			low, high = first, min(high, end-1)
		}
		wall, ok := r.last(high)
		if tick = wall - s.offset; ok && wall >= low {
			return tick, tick >= minInstant
		}
		if r.placed && r.shiftsTo(s) {
			return s.start, s.start >= minInstant
		}
		if again := s.start - 1 + r.zone.high; again > high {
			wall, ok = r.last(again)
		}
		if !ok {
			return 0, false
		}
		to = min(s.start-1, wall-r.zone.low)
	}
	return 0, false
}
