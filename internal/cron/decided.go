// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// nameDecided names the outcomes where the status holds how far they have been named: each scheduled time between the
// cursor and now is decided in this sync. It starts, or waits, or has an outcome without a run, and the cursor moves
// on. A sync in which nothing may start decides nothing: the times are found late by the one in which something may.
func (s *syncState) nameDecided() {
	in, o := s.in, &s.outcomes
	o.cursor, o.waiting, o.inProcess = s.memory.Cursor, s.memory.Waiting, s.memory.inProcess()
	o.named = append(o.named, s.observed.ended...)
	if !s.ready.mayStart || s.observed.err != nil {
		return
	}
	times, t := s.ready.times, s.timing
	for _, at := range s.proved {
		o.enter(Started, "", one(at.UTC()))
	}
	o.enter(Skipped, NotStartedEdited, passedIn(times, t.base, minTime(s.edit.since, in.Now), s.proved))
	from := maxTime(t.base, s.edit.since)
	o.enter(Missed, NotStartedDeadline, passedIn(times, from, minTime(t.earliest, in.Now), s.proved))
	rest := NotStartedOutage
	if in.Policy.CatchUp.Policy == CatchUpAll {
		rest = NotStartedCatchUpLimit
	}
	isProved := func(t time.Time) bool { return slices.ContainsFunc(s.proved, t.Equal) }
	others := append(slices.Clip(s.proved), slices.DeleteFunc(slices.Clone(s.chosen), isProved)...)
	o.enter(Missed, rest, passedIn(times, maxTime(from, t.earliest), in.Now, others))
	for _, m := range s.turnedAway {
		o.enter(m.reason.SkippedOrMissed(), m.reason, m.passed)
		o.named[len(o.named)-1].WaitedFor = m.waitedFor
	}
	o.waiting = nil
	for i, due := range s.due {
		switch result := s.start.each[i]; result {
		case startCreated, startAdopted, startNameUsed:
			o.enter(Started, "", one(due.time))
		default:
			o.waiting = append(o.waiting, WaitingTime{Time: due.time, Trigger: due.trigger, Reason: result.reasonIfNeverStarted(), Since: s.waitingSince(due)})
			o.wake = earlier(o.wake, endOf(in, due.time))
		}
	}
	cursor := t.base
	if latest := times.LastBetween(t.base, in.Now).UTC(); !latest.IsZero() {
		cursor = latest
	}
	for _, at := range s.proved { // also of times that an edit names no more: else they would be proved again
		cursor = maxTime(cursor, at.UTC())
	}
	o.cursor = &cursor
	o.reported, o.unreported = o.unreported, nil
}

// endOf is the instant at which a time that waits is too late, zero if it never is.
func endOf(in *Input, t time.Time) time.Time {
	if in.Policy.Deadline == nil {
		return time.Time{}
	}
	end := t.Add(time.Duration(*in.Policy.Deadline) * time.Second)
	if !end.After(in.Now) {
		return time.Time{}
	}
	return end
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
