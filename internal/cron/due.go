// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// dueTime is a scheduled time that has come, is not served, and is within its deadline.
type dueTime struct {
	time time.Time
	// child is the name of its child.
	child   string
	trigger Trigger
	// waitsFor is what it has waited for so far, "" if it has just come.
	waitsFor Reason
}

// Trigger says what made a run.
type Trigger string

const (
	// TriggerSchedule is a scheduled time that was found in time.
	TriggerSchedule Trigger = "Schedule"
	// TriggerCatchUp is a scheduled time that was found late, and is made up for.
	TriggerCatchUp Trigger = "CatchUp"
)

// punctual is how late a scheduled time may be found and still count as found in time (timetable.md 3.5).
const punctual = time.Minute

func triggerOf(t, now time.Time) Trigger {
	if now.Sub(t) > punctual {
		return TriggerCatchUp
	}
	return TriggerSchedule
}

// dueTimes are the scheduled times that have come and may start, in their order: those that wait, and those of the new
// ones that the policy of catching up chooses. What it does not choose is for outcomes.go and decided.go.
//
// Where the status holds no waiting times, the new ones are all that are later than lastScheduleTime, so that a time
// which waits is chosen again and again until a later one takes its place.
func (s *syncState) dueTimes() []dueTime {
	in := s.in
	var due []dueTime
	if in.Traits.Durable.Has(PartWaiting) {
		due = s.stillWaiting()
	}
	for _, t := range s.chosen {
		if !slices.ContainsFunc(s.begun, t.Equal) {
			d := dueTime{time: t, child: childName(in, t), trigger: triggerOf(plannedStart(in.Policy.Timing.Times, t), in.Now)}
			switch notReady := s.past != nil && s.past.notReady; {
			case notReady:
				d.waitsFor = NotStartedNotReady
			case t.Before(s.timing.due): // nobody looked at it while it was the latest one
				d.trigger = TriggerCatchUp
			}
			due = append(due, d)
		}
	}
	slices.SortStableFunc(due, func(a, b dueTime) int { return a.time.Compare(b.time) })
	return due
}

// stillWaiting are the times that wait and may go on doing so; the others are turned away.
func (s *syncState) stillWaiting() (waiting []dueTime) {
	in, p := s.in, s.past
	paused, times := s.status.Pause().Cause != "", in.Policy.Timing.Times
	for _, w := range s.memory.Waiting {
		t := dueTime{time: w.Time, child: childName(in, w.Time), trigger: w.Trigger, waitsFor: w.Reason}
		switch {
		case slices.ContainsFunc(s.proved, w.Time.Equal):
		case in.mayExist(t.child): // else it would have a result although it may have started
			s.clearUp(t.child)
			waiting = append(waiting, t)
		case times != nil && (!names(times, w.Time) || s.isTakenOut(w.Time)):
			p.edited = p.edited.and(one(w.Time))
		case paused && !in.Policy.CatchUpOnResume:
			s.turnAway(p.why, []dueTime{t})
		case paused:
			waiting = append(waiting, t)
		case s.isLate(w.Time, in.Now):
			why := NotStartedDeadline
			if was := s.memory.Pause(); w.Reason == NotStartedSuspended && was.Cause != "" && s.isLate(w.Time, was.endedAt(in.Now)) {
				why = p.why
			}
			s.turnAway(why, []dueTime{t})
		case w.Time.After(in.Now):
			s.ahead = append(s.ahead, w)
		default:
			waiting = append(waiting, t)
		}
	}
	return waiting
}

// isLate tells whether a time that waits is too late for the deadline at now.
func (s *syncState) isLate(t, now time.Time) bool {
	end := s.deadlineOf(t)
	return !end.IsZero() && !end.After(now)
}

// chooseTimes gives those of the new scheduled times that start, in their order: the latest one, which CatchUpNone lets
// go when it is found late, and under CatchUpAll the newest late ones up to the limit.
func chooseTimes(in *Input, times Times, t timing, e *edit) []time.Time {
	policy := in.Policy.CatchUp
	if t.due.IsZero() || policy.Policy == CatchUpNone && triggerOf(plannedStart(times, t.due), in.Now) == TriggerCatchUp {
		return nil
	}
	list := []time.Time{t.due}
	if policy.Policy != CatchUpAll {
		return list
	}
	limit := policy.Limit
	if triggerOf(plannedStart(times, t.due), in.Now) == TriggerSchedule {
		limit++
	}
	for before := t.due; len(list) < limit; list = append(list, before) {
		before = times.LastBetween(t.earliest, before.Add(-time.Nanosecond)).UTC()
		if !before.After(e.since) {
			break
		}
	}
	slices.Reverse(list)
	return list
}

// provedTimes are the scheduled times that children prove, or this process knows, to have begun, and that nothing
// remembers as decided yet: an earlier sync started them and could not write that down. Only where the status holds a
// cursor; elsewhere lastScheduleTime follows the children (observed.go).
func (s *syncState) provedTimes() []time.Time {
	in := s.in
	if !in.Traits.Durable.Has(PartCursor) {
		return nil
	}
	proved := provedBetween(in, s.children, s.timing.base, in.Now)
	for _, w := range s.memory.Waiting {
		if !w.Time.After(s.timing.base) {
			proved = append(proved, provedBetween(in, s.children, w.Time.Add(-time.Nanosecond), w.Time)...)
		}
	}
	proved = append(proved, s.observed.unproved...)
	slices.SortFunc(proved, time.Time.Compare)
	return proved
}

// provedLaterAt is when the first scheduled time that a child proves, and that is yet to come by our clock, has come;
// zero if there is none. Another process, whose clock is ahead, has started it, and nothing else may wake us then.
func (s *syncState) provedLaterAt() (at time.Time) {
	if !s.in.Traits.Durable.Has(PartCursor) {
		return time.Time{}
	}
	for _, c := range s.children {
		if t, ok := proof(s.in, c); ok && t.After(s.in.Now) && s.in.isUnrecorded(t) {
			at = earlier(at, t.UTC())
		}
	}
	return at
}

// begunTimes are the proved ones, and those that wait and are new: their creates got no answer.
func (s *syncState) begunTimes() []time.Time {
	begun := slices.Clip(s.proved)
	for _, w := range s.memory.Waiting {
		if w.Time.After(s.timing.base) {
			begun = append(begun, w.Time)
		}
	}
	slices.SortFunc(begun, time.Time.Compare)
	return begun
}

// isDue tells whether a child of that name is that of a time which is due.
func (s *syncState) isDue(name string) bool {
	return slices.ContainsFunc(s.due, func(t dueTime) bool { return t.child == name })
}
