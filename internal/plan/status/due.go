// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"
)

// Due is an object that is due soon.
type Due struct {
	Object
	// At is its next scheduled time, in its time zone. StartsAt is when its run is to start, if jitter puts that off;
	// zero if not.
	At, StartsAt time.Time
	// Zone is the name of that time zone; "" if it names none, and its times are UTC.
	Zone string
	// Count is how many times it is due in that time, at least 1.
	Count int
	// Every is the distance of the times of an "@every", 0 for others.
	Every time.Duration
}

// due gives what is due within in.Within, in the order of time, and the first time at which anything is.
func due(in *Input) (all []Due, next time.Time) {
	until := in.Now.Add(in.Within)
	for _, s := range in.Schedules {
		if pauseOf(s, in.Now) != nil || s.Owner.Deleting || s.Obstacle() != "" {
			continue
		}
		at := s.FirstAfter(in.Now)
		if at.IsZero() {
			continue
		}
		if next.IsZero() || at.Before(next) {
			next = at.UTC()
		}
		if at.After(until) {
			continue
		}
		timing := s.Policy.Timing
		zone := timing.Zone
		if zone == nil {
			zone = time.UTC
		}
		one := Due{Object: objectOfSchedule(s), At: at.In(zone), Zone: timing.ZoneName, Every: timing.Every, Count: 1}
		if planned := plannedStart(timing.Times, at); !planned.Equal(at) {
			one.StartsAt = planned.In(zone)
		}
		if timing.Every > 0 {
			one.Count += int(until.Sub(at) / timing.Every)
		} else {
			one.Count += timing.Times.Count(at, until)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Due) int { return cmp.Or(a.At.Compare(b.At), compareObjects(a.Object, b.Object)) })
	return all, next
}
