// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// A Clock tells what the wall clock of a location shows, in a few nanoseconds for any
// year. Make one with [ClockOf]; the zero Clock shows UTC. It is immutable and the size
// of a pointer.
type Clock struct {
	zone *zone
}

// ClockOf returns the clock of a location; nil means UTC.
func ClockOf(loc *time.Location) Clock {
	if loc == nil {
		loc = time.UTC
	}
	return Clock{zoneOf(loc)}
}

// Stretch returns a span of instants [start, end) that holds sec and has one offset,
// and that offset: what to add to an instant to get the wall clock. All are seconds,
// instants since 1970 UTC. Neighbouring spans may have the same offset.
func (c Clock) Stretch(sec int64) (start, end, offset int64) {
	zone := c.zone
	if zone == nil {
		zone = utcZone
	}
	s := zone.at(min(max(sec, minInstant), maxInstant))
	return s.start, s.end, s.offset
}
