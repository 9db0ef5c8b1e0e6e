// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Schedule is what a CronJob or Timetable will do.
type Schedule struct {
	// Schedules are its schedules in words, Limits what else says which times count.
	Schedules []explanation.Schedule `json:"schedules"`
	Limits    []string               `json:"limits"`
	TimeZone  explanation.TimeZone   `json:"timeZone"`
	// Obstacle says why nothing can start as it is written; "" if nothing keeps it.
	Obstacle string `json:"obstacle,omitempty"`
	// Next are the next times. Held: they pass without a run, as it is.
	Next []Time `json:"nextTimes"`
	Held bool   `json:"held"`
	// Policies say what becomes of runs when something does not fit.
	Policies []explanation.Policy `json:"policies"`
	// Surprises are what may turn out otherwise than people expect, ClockChanges those days of the next weeks on which
	// the clocks change and something becomes of its times.
	Surprises    []explanation.Surprise    `json:"surprises"`
	ClockChanges []explanation.ClockChange `json:"clockChanges"`
}

// Time is a scheduled time to come.
type Time struct {
	// Time is the time, in the zone of the schedule, There the same in the zone of whoever asks; nil without one.
	Time  time.Time  `json:"time"`
	There *time.Time `json:"localTime,omitempty"`
	// InSeconds is how far away it is.
	InSeconds float64 `json:"inSeconds"`
	// StartTime is when its run is to start, if jitter puts that off; nil otherwise.
	StartTime *time.Time `json:"startTime,omitempty"`
}

// clockChangesAhead is how far ahead a change of the clocks matters.
const clockChangesAhead = 60 * day

func scheduleOf(in *Input, s *workload.Scheduled, now time.Time) *Schedule {
	e := explanation.OfObject(s, nil, now)
	got := &Schedule{
		Schedules: e.Schedules, Limits: e.Limits, TimeZone: e.TimeZone, Obstacle: e.Obstacle, Held: nothingStarts(s, now), Next: []Time{},
		Policies: e.Policies, Surprises: e.Surprises, ClockChanges: []explanation.ClockChange{},
	}
	for _, change := range e.ClockChanges {
		if change.Effect != "none" && change.At.Sub(now) < clockChangesAhead {
			got.ClockChanges = append(got.ClockChanges, change)
		}
	}
	if e.Obstacle != "" || s.Policy.Timing.Times == nil {
		return got
	}
	zone := in.Evidence.Zone()
	for t := s.FirstAfter(now); !t.IsZero() && len(got.Next) < in.Next; t = s.FirstAfter(t) {
		next := Time{Time: t.In(zone), InSeconds: t.Sub(now).Seconds()}
		if in.Zone != nil {
			next.There = new(t.In(in.Zone))
		}
		if start := plannedStart(s.Policy.Timing.Times, t); start.After(t) {
			next.StartTime = new(start.In(zone))
		}
		got.Next = append(got.Next, next)
	}
	return got
}
