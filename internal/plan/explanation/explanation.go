// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"time"
)

// An Explanation is what there is to say of a schedule. Its lists are never nil.
type Explanation struct {
	// Object is the object that has the schedule; nil for a bare expression.
	Object *Object `json:"object,omitempty"`
	// Language is CronJob or Timetable: who takes the schedule.
	Language string `json:"language"`
	// Remark is what there is to say of that; "" for nothing.
	Remark string `json:"remark,omitempty"`
	// Schedules are its schedules; a CronJob has one.
	Schedules []Schedule `json:"schedules"`
	// Limits are what else says which times count, in words: window, exclusions, jitter, dst.
	Limits []string `json:"limits"`
	// TimeZone is where the wall clock hangs.
	TimeZone TimeZone `json:"timeZone"`
	// Obstacle says why nothing can start as it is written; "" if nothing keeps it.
	Obstacle string `json:"obstacle,omitempty"`
	// Now is the instant that the explanation was made for, and Until the end of the two years that it looks at.
	Now   time.Time `json:"now"`
	Until time.Time `json:"until"`
	// Next is the next time, in the schedule's zone; nil if there is none, or an obstacle.
	Next *time.Time `json:"next"`
	// NextStart is when its run is to start, which is later with jitter; nil if there is none.
	NextStart *time.Time `json:"nextStart"`
	// FromNow tells that Next counts from Now, because the schedule counts from the creation of an object that is not
	// created yet.
	FromNow bool `json:"fromNow,omitempty"`
	// Suspended tells that nothing starts now because the object is suspended.
	Suspended bool `json:"suspended,omitempty"`
	// Paused tells that nothing starts now because too many runs in a row have failed (status.pause).
	Paused bool `json:"paused,omitempty"`
	// Frequency is how often it runs; nil if it has no times at all.
	Frequency *Frequency `json:"frequency"`
	// ClockChanges are the days of the next two years on which the clocks change.
	ClockChanges []ClockChange `json:"clockChanges"`
	// Surprises are what often turns out otherwise than people expect.
	Surprises []Surprise `json:"surprises"`
	// Policies are what becomes of runs when something does not fit.
	Policies []Policy `json:"policies"`
}

// An Object names a CronJob or a Timetable.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Source is where it was written, "" for one of an API server.
	Source string `json:"source,omitempty"`
}

// A Schedule is a schedule in words.
type Schedule struct {
	// Name is its name in a Timetable; "" in CronJobs and expressions.
	Name string `json:"name,omitempty"`
	// Text is what was written.
	Text string `json:"text"`
	// Words are the end of a sentence that begins with "It runs"; "" if it cannot be read.
	Words string `json:"words"`
	// Notes are what else there is to say: the values that H has chosen.
	Notes []string `json:"notes"`
}

// A TimeZone is a zone, and who says so.
type TimeZone struct {
	// Name is its name.
	Name string `json:"name"`
	// Assumed tells that nobody has said it: a CronJob without timeZone runs in the zone of its controller.
	Assumed bool `json:"assumed"`
	// Matters tells that the times depend on it; those of "@every" do not.
	Matters bool `json:"matters"`
}

// A Frequency is how often something runs in the two years that the explanation looks at.
type Frequency struct {
	// Runs are all.
	Runs int `json:"runs"`
	// PerDay and PerMonth are the means.
	PerDay   float64 `json:"perDay"`
	PerMonth float64 `json:"perMonth"`
	// LeastInMonth and MostInMonth are the months of those two years (whole ones, in the schedule's zone) with the fewest
	// and with the most runs.
	LeastInMonth MonthCount `json:"leastInMonth"`
	MostInMonth  MonthCount `json:"mostInMonth"`
	// Smallest and largest distance of two times that follow each other; 0 with less than two.
	SmallestDistanceSeconds int64 `json:"smallestDistanceSeconds"`
	LargestDistanceSeconds  int64 `json:"largestDistanceSeconds"`
}

// A MonthCount is how often something runs in a month, written 2027-02.
type MonthCount struct {
	Month string `json:"month"`
	Runs  int    `json:"runs"`
}

// A Surprise is what often turns out otherwise than people expect.
type Surprise struct {
	// ID is its name, which stays; where carillon lint has a rule for it, it is the id of the rule.
	ID string `json:"id"`
	// Message says what happens.
	Message string `json:"message"`
	// Cure says what to write instead; "" where there is nothing to mend.
	Cure string `json:"cure,omitempty"`
}

// A Policy says what happens in a situation.
type Policy struct {
	// Topic is overlap, outage, failure, suspend, edit or history.
	Topic string `json:"topic"`
	// Setting is the field that says so, with its value: "concurrencyPolicy: Forbid".
	Setting string `json:"setting"`
	// Words are sentences.
	Words string `json:"words"`
}

// years is how far ahead an explanation looks.
const years = 2

// explain puts an explanation together.
func explain(s *subject, now time.Time) *Explanation {
	now = now.Truncate(time.Second)
	s.now, s.until = now, now.AddDate(years, 0, 0)
	e := &Explanation{
		Object: s.object, Language: s.language(), Remark: s.remark, Schedules: s.schedules(), Limits: s.limits(),
		TimeZone: TimeZone{Name: s.zoneName(), Assumed: s.zoneAssumed, Matters: s.onWallClock()},
		Obstacle: s.obstacle, Now: now.UTC(), Until: s.until.UTC(),
		ClockChanges: s.clockChanges(),
		Policies:     s.policies(),
	}
	if s.times != nil {
		if next := s.next(); !next.IsZero() {
			start := s.plannedStart(next).In(s.zone)
			next = next.In(s.zone)
			e.Next, e.NextStart = &next, &start
		}
		e.FromNow = s.every() > 0 && (s.scheduled == nil || s.scheduled.CountsFrom().IsZero())
		e.Frequency = s.frequency()
	}
	e.Suspended, e.Paused = s.suspended(), s.paused()
	e.Surprises = surprisesOf(s, e)
	if e.Obstacle != "" {
		e.Next, e.NextStart = nil, nil // no run comes at it
	}
	return e
}

// next is the first time later than now.
func (s *subject) next() time.Time {
	if s.scheduled != nil {
		return s.scheduled.FirstAfter(s.now)
	}
	return s.times.Next(s.now)
}

// plannedStart is when the run of a time is to start.
func (s *subject) plannedStart(t time.Time) time.Time {
	if jittered, ok := s.times.(interface{ PlannedStart(time.Time) time.Time }); ok {
		return jittered.PlannedStart(t)
	}
	return t
}

func (s *subject) suspended() bool {
	if s.scheduled == nil {
		return false
	}
	until := s.scheduled.Policy.SuspendUntil
	return s.scheduled.Policy.Suspend || until != nil && until.After(s.now)
}

func (s *subject) paused() bool {
	return s.scheduled != nil && s.scheduled.Unreadable == nil && s.scheduled.Paused()
}
