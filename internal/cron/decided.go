// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"math"
	"slices"
	"time"
)

// nameDecided names the outcomes where the status holds how far they have been named: each scheduled time between the
// cursor and now is decided in this sync, but for one whose planned start is to come, and for those that are to be made
// up for when a pause ends. It starts, or waits, or has an outcome without a run, and the cursor moves on.
func (s *syncState) nameDecided() {
	in, o := s.in, &s.outcomes
	o.startFrom(&s.memory)
	o.named = append(o.named, s.observed.ended...)
	if s.decidesNothing() || s.undecided() {
		return
	}
	s.namePast()
	for _, m := range s.turnedAway {
		o.enter(m.reason.SkippedOrMissed(), m.reason, m.passed)
		o.named[len(o.named)-1].WaitedFor = m.waitedFor
	}
	o.waiting = nil
	for i, due := range s.due {
		reason, message := NotStartedNotReady, ""
		if i < len(s.start.messages) {
			message = s.start.messages[i]
		}
		switch {
		case in.mayExist(due.child):
			reason = NotStartedFailed
		case s.status.Pause().Cause != "":
			reason = NotStartedSuspended
		case i < len(s.start.each):
			result := s.start.each[i]
			switch result {
			case startNameUsed:
				o.enter(Started, "", one(due.time))
				s.endVanished(due)
				continue
			case startCreated, startAdopted:
				o.enter(Started, "", one(due.time))
				continue
			}
			reason = result.reasonIfNeverStarted()
			if result == startOwnerRemoved {
				o.enter(Missed, reason, one(due.time))
				continue
			}
		}
		if reason == NotStartedForeign && in.Traits.MaxBackoff > 0 { // no watch tells when the name is free
			o.wake = earlier(o.wake, in.Now.Add(in.Traits.MaxBackoff).UTC())
		}
		o.waiting = append(o.waiting, WaitingTime{Time: due.time, Trigger: due.trigger, Reason: reason, Since: s.waitingSince(due), Message: message})
		if end := s.deadlineOf(due.time); end.After(in.Now) && s.status.Pause().Cause == "" {
			o.wake = earlier(o.wake, end)
		}
	}
	for _, w := range s.ahead {
		o.waiting = append(o.waiting, w)
		o.wake = earlier(o.wake, w.Time.UTC())
	}
	if len(s.ahead) > 0 {
		slices.SortFunc(o.waiting, func(a, b WaitingTime) int { return a.Time.Compare(b.Time) })
	}
	cursor := s.timing.base
	for _, times := range []Times{s.past.times, orNone(in.Policy.Timing.Excluded), s.allTimes()} {
		cursor = maxTime(cursor, times.LastBetween(s.timing.base, s.past.until).UTC())
	}
	if s.past.edited.count > 0 {
		cursor = maxTime(cursor, s.past.edited.last)
	}
	for _, at := range s.begun { // also of times that an edit names no more: else they would be proved again
		cursor = maxTime(cursor, at.UTC())
	}
	o.cursor = &cursor
	o.reported, o.unreported = o.unreported, nil
}

// endVanished names the outcome of a run that an earlier sync started and could not record, and whose child is gone.
func (s *syncState) endVanished(due dueTime) {
	run, ended := ActiveRun{Time: due.time, Trigger: due.trigger, Attempt: 1}, len(s.observed.ended)
	run.Name = due.child
	s.observed.end(s.in, s.children, run, nil)
	s.outcomes.named = append(s.outcomes.named, s.observed.ended[ended:]...)
}

// namePast names the outcomes of the times that this sync decides and that neither start nor wait.
func (s *syncState) namePast() {
	in, o, p, base := s.in, &s.outcomes, s.past, s.timing.base
	for _, at := range s.proved {
		o.enter(Started, "", one(at.UTC()))
	}
	o.enter(Skipped, NotStartedEdited, p.edited)
	others := s.begun
	if s.edit.since.After(base) { // those that it took out have been entered
		others = slices.Clone(others)
		for _, t := range s.memory.outlook().Next {
			if !t.After(s.edit.since) && !slices.ContainsFunc(others, t.Equal) {
				others = append(others, t)
			}
		}
	}
	o.enter(Skipped, NotStartedExcluded, passedIn(orNone(in.Policy.Timing.Excluded), base, p.until, others))

	skipped := minTime(p.pausedUntilIfSkipped(in), p.until)
	o.enter(Skipped, p.why, passedIn(p.times, base, skipped, s.begun))
	from := maxTime(base, skipped)
	late := minTime(s.timing.earliest, p.until)
	o.enter(Missed, NotStartedDeadline, passedIn(p.times, from, late, s.begun))
	from = maxTime(from, late)

	hasBegun := func(t time.Time) bool { return slices.ContainsFunc(s.begun, t.Equal) }
	others = append(slices.Clip(s.begun), slices.DeleteFunc(slices.Clone(s.chosen), hasBegun)...)
	o.enter(Skipped, p.why, passedIn(p.times, from, minTime(p.pausedUntil, p.until), others))
	rest := NotStartedOutage
	switch {
	case p.notReady:
		rest = NotStartedNotReady
	case in.Policy.CatchUp.Policy == CatchUpAll:
		rest = NotStartedCatchUpLimit
	}
	o.enter(Missed, rest, passedIn(p.times, maxTime(from, p.pausedUntil), p.until, others))
}

// deadlineOf is the instant at which a time is too late, zero if it never is.
func (s *syncState) deadlineOf(t time.Time) time.Time {
	if d := s.in.Policy.Deadline; d != nil && *d <= math.MaxInt64/int64(time.Second) {
		return plannedStart(s.in.Policy.Timing.Times, t).Add(time.Duration(*d) * time.Second).UTC()
	}
	return time.Time{}
}

// clockWentBack tells whether what was decided lies so far ahead of the clock that it is not believed.
func (s *syncState) clockWentBack() bool {
	stored := s.in.Stored.Cursor
	return s.in.Traits.Durable.Has(PartCursor) && stored != nil && stored.Sub(s.in.Now) > maxLead
}

// nextStart is when the next scheduled time is to start, or a suspension ends; zero if neither will come.
func (s *syncState) nextStart() time.Time {
	pause := s.status.Pause()
	if s.decidesNothing() || pause.Cause != "" {
		if pause.Until != nil && pause.Until.After(s.in.Now) { // one that is over is that of a sync which could not look at it
			return pause.Until.UTC()
		}
		return time.Time{}
	}
	now, times, base := s.in.Now, s.past.times, baseOf(s.in, &s.status)
	if last := times.LastBetween(base, now); plannedStart(times, last).After(now) {
		return plannedStart(times, last).UTC()
	}
	if at := plannedStart(times, nextTime(times, base, now)); at.After(now) {
		return at.UTC()
	}
	return time.Time{}
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
