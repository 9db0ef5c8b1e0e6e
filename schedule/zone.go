// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // zones on machines without a database of their own
	"weak"
)

// Instants are kept as whole seconds since 1970 UTC and limited to a billion
// years around it, far beyond what the API can express, so that no sum of them
// overflows.
const (
	minInstant = -1 << 55
	maxInstant = 1 << 55
)

// zone is a time zone as a list of stretches with a constant offset from UTC.
// It is what time.Location knows, in a form that answers in a few nanoseconds for
// any year: past the last change that a zone's file spells out, the package time
// works each one out anew from a rule.
//
// Immutable.
type zone struct {
	// starts holds the first instant of each stretch, ascending. starts[0] is
	// minInstant.
	starts []int64
	// offsets holds, for each stretch, what to add to an instant to get the wall
	// clock.
	offsets []int64
	// low and high bound the offsets.
	low, high int64
}

// The rule for a zone's future names its changes by month, week and weekday (or by
// day of the year), so it repeats with the calendar. The list covers one whole turn
// from cycleStart on; what lies behind it is folded back. No zone's file spells
// out changes as late as cycleStart (Morocco's go to 2087).
//
// Nor does any zone's file begin before listStart, when clocks showed local time; all
// time before it has the offset of then.
const (
	listStart  = -8520336000 // 1700-01-01T00:00:00Z
	cycle      = daysPerCycle * secondsPerDay
	cycleStart = 7258118400 // 2200-01-01T00:00:00Z
	cycleEnd   = cycleStart + cycle
)

// stretch is a span of instants [start, end) with one offset from UTC.
type stretch struct {
	start, end, offset int64
}

// at returns the stretch that holds an instant. Neighbours may have the same
// offset where the list is folded.
func (z *zone) at(sec int64) stretch {
	if len(z.starts) == 1 {
		return stretch{minInstant, maxInstant + 1, z.offsets[0]}
	}
	turns := int64(0)
	if sec >= cycleEnd {
		turns = (sec - cycleStart) / cycle
	}
	i := z.find(sec - turns*cycle)
	end := int64(cycleEnd)
	if i+1 < len(z.starts) {
		end = z.starts[i+1]
	}
	return stretch{z.starts[i] + turns*cycle, end + turns*cycle, z.offsets[i]}
}

// find returns the index of the stretch that holds an instant before cycleEnd.
func (z *zone) find(sec int64) int {
	lo, hi := 0, len(z.starts)
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if z.starts[mid] <= sec {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// fixed tells whether the zone never changes its offset.
func (z *zone) fixed() bool { return len(z.starts) == 1 }

// readZone asks a location for all its stretches.
func readZone(loc *time.Location) *zone {
	z := &zone{}
	for sec := int64(listStart); sec < cycleEnd; {
		t := time.Unix(sec, 0).In(loc)
		_, offset := t.Zone()
		// A bound keeps the sums below small; real offsets are under 8 days.
		o := min(max(int64(offset), -1<<40), 1<<40)
		if n := len(z.offsets); n == 0 || z.offsets[n-1] != o {
			z.starts = append(z.starts, sec)
			z.offsets = append(z.offsets, o)
		}
		_, end := t.ZoneBounds()
		if end.IsZero() {
			break
		}
		if end.Unix() > sec {
			sec = end.Unix()
		} else {
			// Package time ends a year by rule after 365 days; on the last day of a
			// leap year the end is then not ahead. Changes do not fall on that day,
			// so go on from its end.
			sec += secondsPerDay - floorMod(sec, secondsPerDay)
		}
	}
	z.starts[0] = minInstant
	z.starts, z.offsets = slices.Clip(z.starts), slices.Clip(z.offsets)
	z.low, z.high = slices.Min(z.offsets), slices.Max(z.offsets)
	return z
}

var utcZone = readZone(time.UTC)

// zones shares what was read from a location among the schedules that use it.
// Keys are weak, and an entry goes with its location, so that a caller that loads
// a location for each schedule leaks nothing.
var zones sync.Map // weak.Pointer[time.Location] → *zone

func zoneOf(loc *time.Location) *zone {
	if loc == time.UTC {
		return utcZone
	}
	key := weak.Make(loc)
	if z, ok := zones.Load(key); ok {
		return z.(*zone)
	}
	z, loaded := zones.LoadOrStore(key, readZone(loc))
	if !loaded {
		runtime.AddCleanup(loc, func(key weak.Pointer[time.Location]) { zones.Delete(key) }, key)
	}
	return z.(*zone)
}

// locations remembers what LoadZone has read from the database. Names come from
// users and some databases accept many spellings of one ("Europe//Berlin"), hence
// the limit; beyond it a name is read each time.
var (
	locations     sync.Map // string → *time.Location
	locationCount atomic.Int64
)

const maxLocations = 2048

// LoadZone returns the location of a time zone name, as time.LoadLocation does, but remembers it, and works without a
// database: "" and "UTC" are UTC, "Local" is the zone of the process, every other name is looked up in the machine's
// time zone database, or in a built-in copy where there is none. Names with ".." or a leading slash are refused. The
// error is a [*ZoneError].
//
// A name is read from the database once: a process sees an updated database when
// it is restarted. Safe for concurrent use.
func LoadZone(name string) (*time.Location, error) {
	if loc, ok := locations.Load(name); ok {
		return loc.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, &ZoneError{Name: name, Err: err}
	}
	if loc == time.UTC || loc == time.Local {
		return loc, nil
	}
	if locationCount.Load() < maxLocations {
		shared, loaded := locations.LoadOrStore(name, loc)
		if !loaded {
			locationCount.Add(1)
		}
		loc = shared.(*time.Location)
	}
	return loc, nil
}
