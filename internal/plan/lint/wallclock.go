// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// clockChange is an instant at which the clocks of a zone change.
type clockChange struct {
	at            time.Time // in UTC
	before, after int64     // the offset from UTC, in seconds
}

// span are the wall clock times that do not exist, or exist twice, as if they were times in UTC: from a time up to
// another.
func (c clockChange) span() (from, to time.Time) {
	from, to = c.at.Add(time.Duration(c.before)*time.Second), c.at.Add(time.Duration(c.after)*time.Second)
	if to.Before(from) {
		from, to = to, from
	}
	return from, to
}

// changesOf are the changes of a zone's clocks in a span of time.
func changesOf(zone *time.Location, from, until time.Time) []clockChange {
	clock := schedule.ClockOf(zone)
	var found []clockChange
	_, end, offset := clock.Stretch(from.Unix())
	for end < until.Unix() {
		_, next, after := clock.Stretch(end)
		if after != offset {
			found = append(found, clockChange{time.Unix(end, 0).UTC(), offset, after})
		}
		if next <= end {
			break
		}
		end, offset = next, after
	}
	return found
}

// changesOn tells whether the clocks of t's zone change on the local day of t.
func changesOn(t time.Time) bool {
	year, month, day := t.Date()
	noon := time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
	for _, c := range changesOf(t.Location(), noon.Add(-48*time.Hour), noon.Add(48*time.Hour)) {
		y, m, d := c.at.Add(time.Duration(c.before) * time.Second).Date()
		if y == year && m == month && d == day {
			return true
		}
	}
	return false
}
