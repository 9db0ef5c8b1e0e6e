// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/schedule"
)

// readiness says whether the CronJob may start anything at all, and by which calendar.
type readiness struct {
	// mayStart: nothing keeps it from starting; calendar is set.
	mayStart bool
	calendar calendar
	events   []Event
	// obstacle is what is wrong with the schedule, for people; "" if nothing is.
	obstacle string
	// misconfigured is the same in one word, also for the time zone.
	misconfigured Misconfiguration
	// err: the obstacle is one that this kind retries.
	err error
}

// checkStart looks for obstacles in the kind's order (cronjob.md 2.5 "order of checks"); the first one ends the
// search. A CronJob that is being deleted starts nothing in any kind (K10, V3, Q9).
func checkStart(in Input, e edit) readiness {
	var s readiness
	if in.Owner.Deleting {
		return s
	}
	for _, check := range in.Traits.StartChecks {
		switch check {
		case CheckZoneLoads:
			if _, err := zoneOf(in); err != nil {
				s.events = append(s.events, unknownZone(in, err))
				s.misconfigured = InvalidTimeZone
				s.err = retried(in.Traits.BadZoneRetries, "spec.timeZone", err)
				return s
			}
		case CheckNotSuspended:
			if in.Spec.Suspend {
				return s
			}
		case CheckScheduleFires:
			if !s.parse(in, e) {
				return s
			}
		}
	}
	s.mayStart = len(s.calendar) > 0
	return s
}

// parse reads the schedules; false means that they are an obstacle.
func (s *readiness) parse(in Input, e edit) bool {
	zone, err := zoneOf(in)
	if err != nil {
		return false
	}
	for _, text := range in.Spec.Schedules {
		if zoneInside(text) {
			s.events = append(s.events, zoneInSchedule(in, text))
		}
	}
	for _, text := range in.Spec.Schedules {
		parsed, err := schedule.Parse(text, zoneFor(in, text, zone))
		if err != nil {
			s.obstacle, s.misconfigured = badScheduleText(text, err), InvalidSchedule
			s.events = append(s.events, badSchedule(in, text, e.fresh, err))
			s.err = retried(in.Traits.BadScheduleRetries, "spec.schedule", err)
			return false
		}
		if !parsed.Satisfiable() {
			s.obstacle, s.misconfigured = neverFiresText(text), InvalidSchedule
			s.events = append(s.events, neverFires(in, text))
			s.err = retried(in.Traits.NeverFiresRetries, "spec.schedule",
				fmt.Errorf("%q names no date that exists", text))
			return false
		}
		if period, every := parsed.Every(); every && period < in.Traits.NameUnit {
			s.events = append(s.events, tooFine(in, text))
		}
		s.calendar = append(s.calendar, parsed)
	}
	return true
}

// zoneOf is the zone of schedules and stamps that spec.timeZone asks for, nil when it asks for none.
func zoneOf(in Input) (*time.Location, error) {
	if in.Spec.TimeZone == nil {
		return nil, nil
	}
	return schedule.LoadZone(*in.Spec.TimeZone)
}

// zoneInside tells whether the schedule brings its own zone: the letters TZ anywhere (cronjob.md 3.1).
func zoneInside(text string) bool { return strings.Contains(text, "TZ") }

// zoneFor is the zone in which one schedule is read: spec.timeZone unless the text carries TZ, else the process zone.
func zoneFor(in Input, text string, zone *time.Location) *time.Location {
	if zone != nil && !zoneInside(text) {
		return zone
	}
	if in.Zone != nil {
		return in.Zone
	}
	return time.UTC
}

// stamp writes a scheduled time as the child's annotation has it. A zone inside the schedule plays no part.
func stamp(in Input, t time.Time) string {
	zone := time.UTC
	if in.Traits.StampInZone && in.Zone != nil {
		zone = in.Zone
	}
	if asked, err := zoneOf(in); err == nil && asked != nil {
		zone = asked
	}
	return t.In(zone).Format(time.RFC3339)
}

func retried(retries bool, field string, err error) error {
	if !retries {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}
