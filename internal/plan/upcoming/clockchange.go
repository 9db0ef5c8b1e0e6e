// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Wall clock times are written as if the clock showed UTC. Where the offset of a zone grows the clock skips some of
// them, a gap; where it shrinks it shows some twice.

// wallOf is what the clock of a zone shows.
func wallOf(at time.Time, zone *time.Location) time.Time {
	_, _, offset := schedule.ClockOf(zone).Stretch(at.Unix())
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// nextChange gives the first instant after at from which on a zone has another offset, and by how much it is larger;
// far in the future if there is none.
func nextChange(at time.Time, zone *time.Location) (change time.Time, by time.Duration) {
	clock := schedule.ClockOf(zone)
	_, end, offset := clock.Stretch(at.Unix())
	for end < farthest {
		_, next, changed := clock.Stretch(end)
		if changed != offset {
			return time.Unix(end, 0).UTC(), time.Duration(changed-offset) * time.Second
		}
		if next <= end {
			break
		}
		end = next
	}
	return time.Unix(farthest, 0).UTC(), 0
}

// farthest is in the year 10000: no time that is listed is later.
const farthest = lastWritable + 366*24*3600

// changeAt gives by how much the offset of a zone is larger from an instant on than before; 0 if it is the same.
func changeAt(at time.Time, zone *time.Location) time.Duration {
	clock := schedule.ClockOf(zone)
	_, _, before := clock.Stretch(at.Unix() - 1)
	_, _, since := clock.Stretch(at.Unix())
	return time.Duration(since-before) * time.Second
}

// skippedAt gives the wall clock times of an item that the clock skips at an instant from which on the offset is larger
// by that much, but for those that are left out anyway.
func (s *Source) skippedAt(i item, change time.Time, by time.Duration, leftOut func(wall time.Time) bool) *Span {
	if i.wall == nil || by <= 0 {
		return nil
	}
	end := wallOf(change, s.Zone)
	var skipped *Span
	for wall := i.wall.Next(end.Add(-by - 1)); !wall.IsZero() && wall.Before(end); wall = i.wall.Next(wall) {
		if !leftOut(wall) {
			skipped = join(skipped, Span{First: wall, Last: wall, Count: 1})
		}
	}
	return skipped
}

func (s *Source) closes(wall time.Time) bool {
	for _, e := range s.closed {
		if holds(e.period, wall) {
			return true
		}
	}
	return false
}

// shiftedTo gives the wall clock times that do not exist and in place of which a time stands. Exclusions hold where a
// time has moved to, not where it came from.
func (s *Source) shiftedTo(at time.Time) (from *Span) {
	by := changeAt(at, s.Zone)
	for _, i := range s.items {
		if skipped := s.skippedAt(i, at, by, func(time.Time) bool { return false }); skipped != nil && i.shifts {
			from = join(from, *skipped)
		}
	}
	return from
}

// skippedBetween tells of the wall clock times that do not exist, and for which nothing starts, of the changes of the
// clock in (after, until].
func (s *Source) skippedBetween(after, until time.Time) []Omission {
	if !s.NotBefore.IsZero() {
		after = ordering.Later(after, s.NotBefore.Add(-1))
	}
	if !s.NotAfter.IsZero() && s.NotAfter.Before(until) {
		until = s.NotAfter
	}
	var omissions []Omission
	for change, by := nextChange(after, s.Zone); by != 0 && !change.After(until); change, by = nextChange(change, s.Zone) {
		for _, i := range s.items {
			skipped := s.skippedAt(i, change, by, s.closes)
			if skipped == nil || i.shifts {
				continue
			}
			o := Omission{At: change.In(s.Zone), Reason: Gap, Span: *skipped}
			if len(s.items) > 1 {
				o.Names = []string{i.name}
			}
			omissions = append(omissions, o)
		}
	}
	return omissions
}

// showing tells which of two instants it is at which the clock shows the same, and whether the other one is no time of
// the schedules that name this one.
func (s *Source) showing(at time.Time) (showing Showing, otherOmitted bool) {
	other, showing := otherShowing(at, s.Zone)
	if showing == "" {
		return "", false
	}
	named, omitted := false, true
	for _, i := range s.items {
		if i.instants != nil && has(i.instants, at) && i.names(wallOf(at, s.Zone)) {
			named = true
			omitted = omitted && !has(i.instants, other)
		}
	}
	if !named {
		return "", false
	}
	return showing, omitted
}

// longestStep is more than any clock was ever put back.
const longestStep = 26 * time.Hour

// otherShowing finds the other instant at which the clock of a zone shows the same.
func otherShowing(at time.Time, zone *time.Location) (other time.Time, showing Showing) {
	wall := wallOf(at, zone)
	for change, by := nextChange(at.Add(-longestStep), zone); by != 0 && !change.After(at.Add(longestStep)); change, by = nextChange(change, zone) {
		if by >= 0 {
			continue
		}
		if other, showing = at.Add(-by), First; change.After(at) && wallOf(other, zone).Equal(wall) && !other.Before(change) {
			return other, showing
		}
		if other, showing = at.Add(by), Second; !change.After(at) && wallOf(other, zone).Equal(wall) && other.Before(change) {
			return other, showing
		}
	}
	return time.Time{}, ""
}

// FirstShowing gives the first instant at which the clock of a zone shows a moment, or the end of the gap if it never
// does.
func FirstShowing(m timeset.Moment, zone *time.Location) time.Time {
	if m.Zoned {
		return time.Unix(m.Wall-m.Offset, 0).UTC()
	}
	clock := schedule.ClockOf(zone)
	step := int64(longestStep / time.Second)
	start, end, offset := clock.Stretch(m.Wall - step)
	for m.Wall-offset >= end {
		start, end, offset = clock.Stretch(end)
	}
	return time.Unix(max(m.Wall-offset, start), 0).UTC()
}
