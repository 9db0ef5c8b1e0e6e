// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// Instants are whole seconds since 1970 UTC, at most about a billion years from there, so
// that no sum of them overflows.
const (
	minInstant = -1 << 55
	maxInstant = 1 << 55
)

// end tells how a search ended.
type end int

const (
	found  end = iota
	over       // there is no more
	gaveUp     // all that was looked at is excluded
)

// A source is a set of instants.
type source interface {
	// after returns the first instant later than sec.
	after(sec int64) (int64, end)
	// before returns the last instant earlier than sec.
	before(sec int64) (int64, end)
	// count returns how many instants lie in [from, to).
	count(from, to int64) int64
}

// has tells whether an instant is one of a source.
func has(s source, sec int64) bool {
	next, end := s.after(sec - 1)
	return end == found && next == sec
}

// cron is the instants of a cron expression.
type cron struct {
	schedule schedule.Schedule
}

func (c cron) after(sec int64) (int64, end) {
	return foundUnlessZero(c.schedule.Next(utc(sec)))
}

func (c cron) before(sec int64) (int64, end) {
	return foundUnlessZero(c.schedule.Prev(utc(sec)))
}

func (c cron) count(from, to int64) int64 {
	return int64(c.schedule.Count(utc(from-1), utc(to-1)))
}

func utc(sec int64) time.Time { return time.Unix(sec, 0).UTC() }

func foundUnlessZero(t time.Time) (int64, end) {
	if t.IsZero() {
		return 0, over
	}
	return t.Unix(), found
}

// grid is the instants anchor + k*step for all whole k.
type grid struct {
	anchor, step int64
}

func (g grid) after(sec int64) (int64, end) {
	next := sec + g.step - floorMod(sec-g.anchor, g.step)
	if next > maxInstant {
		return 0, over
	}
	return next, found
}

func (g grid) before(sec int64) (int64, end) {
	last := sec - 1 - floorMod(sec-1-g.anchor, g.step)
	if last < minInstant {
		return 0, over
	}
	return last, found
}

func (g grid) count(from, to int64) int64 {
	return max(floorDiv(to-1-g.anchor, g.step)-floorDiv(from-1-g.anchor, g.step), 0)
}

// moments is a list of instants, ascending, each once.
type moments []int64

func (m moments) after(sec int64) (int64, end) {
	i, here := slices.BinarySearch(m, sec)
	if here {
		i++
	}
	if i == len(m) {
		return 0, over
	}
	return m[i], found
}

func (m moments) before(sec int64) (int64, end) {
	i, _ := slices.BinarySearch(m, sec)
	if i == 0 {
		return 0, over
	}
	return m[i-1], found
}

func (m moments) count(from, to int64) int64 {
	i, _ := slices.BinarySearch(m, from)
	j, _ := slices.BinarySearch(m, to)
	return int64(max(j-i, 0))
}

// between is the instants of a source from first to last, both included.
type between struct {
	source
	first, last int64
}

func (b between) after(sec int64) (int64, end) {
	t, end := b.source.after(max(sec, b.first-1))
	if end == found && t > b.last {
		return 0, over
	}
	return t, end
}

func (b between) before(sec int64) (int64, end) {
	t, end := b.source.before(min(sec, b.last+1))
	if end == found && t < b.first {
		return 0, over
	}
	return t, end
}

func (b between) count(from, to int64) int64 {
	from, to = max(from, b.first), min(to, b.last+1)
	if from >= to {
		return 0
	}
	return b.source.count(from, to)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
