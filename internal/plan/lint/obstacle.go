// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"github.com/carillon-dev/carillon/internal/cron"
)

// obstacle is why the object has no times; nil if it has, or if its spec cannot be read at all.
func (s *Subject) obstacle() *cron.Obstacle {
	if s.scheduled == nil || s.scheduled.Unreadable != nil {
		return nil
	}
	return s.scheduled.Policy.Timing.Obstacle
}

// obstacleRule is the id of the rule that tells of an obstacle. Whoever reads the timing has found the words already.
func obstacleRule(o *cron.Obstacle) string {
	switch key := o.Key; {
	case key == "CalendarNotFound":
		return "calendar-missing"
	case key == "AllExcluded":
		return "nothing-left"
	case key == "NeverFires", strings.HasPrefix(key, "never/"):
		return "never-fires"
	case key == "InvalidTemplate", key == "InvalidParameter", key == "InvalidOutcome":
		return "template-unusable"
	case key == "TooFrequent":
		return "too-frequent"
	case o.Misconfigured == cron.InvalidTimeZone:
		return "time-zone-unknown"
	}
	return "schedule-unreadable"
}

// fromObstacle finds the obstacle that belongs to a rule; path says where it is, given its message.
func fromObstacle(id string, path func(s *Subject, message string) Path) func(*Subject) []problem {
	return func(s *Subject) []problem {
		o := s.obstacle()
		if o == nil || obstacleRule(o) != id {
			return nil
		}
		return one(path(s, o.Message), "%s", essence(o.Message))
	}
}

// essence is what is wrong, without what events say before and after it: the field, which a finding has, and a cure,
// which the rule has.
func essence(message string) string {
	message = strings.TrimPrefix(message, "Nothing is scheduled: ")
	for _, before := range []string{" cannot be read: ", " cannot be loaded: "} {
		if _, rest, ok := strings.Cut(message, before); ok {
			message = rest
		}
	}
	for _, after := range []string{". Correct it", ". Set it to"} {
		message, _, _ = strings.Cut(message, after)
	}
	return message
}

// timingPath is the field of the timing that a message is about.
func timingPath(s *Subject, message string) Path {
	if s.timetable == nil {
		return at("spec", "schedule")
	}
	if strings.Contains(message, "spec.jitter") {
		return at("spec", "jitter")
	}
	if strings.Contains(message, "spec.exclude") {
		return at("spec", "exclude")
	}
	for i, item := range s.timetable.Spec.Schedules {
		if item.Cron != "" && strings.Contains(message, item.Cron) || item.Name != "" && strings.Contains(message, item.Name) {
			return at("spec", "schedules", i)
		}
	}
	return at("spec", "schedules")
}

func pathTo(steps ...any) func(*Subject, string) Path {
	return func(*Subject, string) Path { return steps }
}
