// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import "github.com/carillon-dev/carillon/schedule"

// maxJumps is how many closed spans a search passes before it gives up (timetable.md 3.3).
const maxJumps = 10_000

// Nor does it look for times that the API cannot write: those of the years 0 to 9999 it can.
const (
	firstWritable = -62167219200
	lastWritable  = 253402300799
)

// forever is later than anything on a wall clock, and far from where sums overflow.
const forever = 1 << 60

// A mask says which times of a wall clock are open.
type mask interface {
	// at tells whether a wall clock second is open, and names a span [since, until) around it
	// that is as open or closed throughout; it need not be the longest.
	at(wall int64) (open bool, since, until int64)
}

// masked is the instants of a source at which the wall clock is open; or, inverted, at
// which it is closed.
//
// The wall clock may go back over the end of an open span, so spans are cut where the
// offset changes, and a time that was moved is judged by what the clock shows at it.
type masked struct {
	source   source
	mask     mask
	clock    schedule.Clock
	inverted bool
}

// span tells whether an instant is open, and a span [start, end) of instants around it that
// is as open or closed throughout; start is -forever, or end forever, if there is no other
// before or after.
func (m masked) span(sec int64) (open bool, start, end int64) {
	start, end, offset := m.clock.Stretch(sec)
	wall := sec + offset
	open, since, until := m.mask.at(wall)
	if until < forever || wall-since < farthestOffset {
		end = min(end, until-offset)
	} else {
		end = forever // no clock goes back so far that it shows what was before since
	}
	if since > -forever || until-wall < farthestOffset {
		start = max(start, since-offset)
	} else {
		start = -forever
	}
	return open != m.inverted, start, end
}

func (m masked) after(sec int64) (int64, end) {
	for range maxJumps {
		t, end := m.source.after(sec)
		if end != found {
			return 0, end
		}
		open, _, until := m.span(t)
		if open {
			return t, found
		}
		if until == forever {
			return 0, over
		}
		if sec = until - 1; sec > lastWritable {
			break
		}
	}
	return 0, gaveUp
}

func (m masked) before(sec int64) (int64, end) {
	for range maxJumps {
		t, end := m.source.before(sec)
		if end != found {
			return 0, end
		}
		open, since, _ := m.span(t)
		if open {
			return t, found
		}
		if since == -forever {
			return 0, over
		}
		if sec = since; sec < firstWritable {
			break
		}
	}
	return 0, gaveUp
}

func (m masked) count(from, to int64) (n int64) {
	for from < to {
		open, _, until := m.span(from)
		until = min(until, to)
		if open {
			n += m.source.count(from, until)
		}
		from = until
	}
	return n
}
