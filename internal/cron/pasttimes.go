// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// pastTimes are the scheduled times that a sync decides where the status holds a cursor: those in (timing.base, until].
type pastTimes struct {
	// times are those that may start; those that an edit took out, or named too late, are not among them.
	times Times
	until time.Time
	// edited are those that an edit took out.
	edited passed
	// pausedUntil: those up to this one passed in a pause; zero is none. why is what such a time is skipped for, and
	// lostUntil is the one up to which the deadline had passed when the pause ended.
	pausedUntil, lostUntil time.Time
	why                    Reason
	// notReady: they come, or came, while something was wrong with the object, and so they wait without being chosen.
	notReady bool
}

// plannedStart is when a scheduled time is to start: at that time, or later where the times say so, but before the
// next one.
func plannedStart(times Times, t time.Time) time.Time {
	if p, ok := times.(interface{ PlannedStart(time.Time) time.Time }); ok && !t.IsZero() {
		return p.PlannedStart(t)
	}
	return t
}

// PlannedStart is when a scheduled time is to start: the time itself, unless its start is put off by some jitter.
func (t Timing) PlannedStart(at time.Time) time.Time { return plannedStart(t.Times, at) }

// names tells whether t is one of the times.
func names(times Times, t time.Time) bool {
	return times.LastBetween(t.Add(-time.Nanosecond), t).Equal(t)
}

// allTimes are the scheduled times as far as they are known: while the timing cannot be read, those that the status
// says are next.
func (s *syncState) allTimes() Times {
	if times := s.in.Policy.Timing.Times; times != nil {
		return times
	}
	return someTimes{list: s.memory.outlook().Next, rest: noTimes{}}
}

// nothingBetween tells whether no scheduled time lies between two. While the timing cannot be read, that is known of the
// times only that the status says are next.
func (s *syncState) nothingBetween(a, b time.Time) bool {
	times := s.allTimes()
	if s.in.Policy.Timing.Times == nil && !names(times, a) {
		return false
	}
	return times.Count(a, b.Add(-time.Nanosecond)) == 0
}

// lookBack finds which scheduled times this sync decides, and which of them are to start.
func (s *syncState) lookBack() {
	s.past = &pastTimes{}
	in, p := s.in, s.past
	s.timing = timing{base: baseOf(in, &s.status)}
	p.times, p.until = s.allTimes(), s.timing.base
	gates := in.Traits.Durable.Has(PartGates)
	if s.decidesNothing() {
		return
	}
	if gates && s.observed.err == nil {
		now := s.status.outlook()
		now.Pause, now.NotReady = s.pauseNow(), s.ready.notReady
		s.status.Outlook = &now
	}
	s.takenOut = s.takenOutTimes()
	s.proved = s.provedTimes()
	s.begun = s.begunTimes()
	base, all := s.timing.base, s.allTimes()
	fromEdit := s.edit.since.After(base) && in.Policy.Timing.Times != nil
	var kept []time.Time
	if fromEdit {
		kept = s.keptByEdit(all)
		p.times = someTimes{list: kept, rest: all, since: s.edit.since}
	}
	p.until = in.Now
	if last := p.times.LastBetween(base, in.Now); plannedStart(p.times, last).After(in.Now) {
		p.until = last.Add(-time.Nanosecond)
	}
	for _, t := range s.begun {
		p.until = maxTime(p.until, t)
	}
	p.notReady = gates && (s.ready.notReady || s.memory.outlook().NotReady)
	s.applyPause()
	if fromEdit {
		s.takeOut(all, kept)
	}

	s.timing.earliest = maxTime(maxTime(base, p.pausedUntilIfSkipped(in)), s.deadlineCut(in.Now))
	s.timing.due = p.times.LastBetween(s.timing.earliest, p.until).UTC()
	switch {
	case s.status.Pause().Cause != "":
	case p.notReady:
		s.chosen = chooseWaiting(in, p.times, s.timing.earliest, p.until, s.begun)
	default:
		s.chosen = chooseTimes(in, p.times, s.timing, &edit{})
	}
	s.due = s.dueTimes()
	if s.status.Pause().Cause == "" {
		s.due = s.limitWaiting(s.due)
	}
}

// decidesNothing tells whether no scheduled time is looked at: all are found late by the sync that does. Where the
// status tells of what keeps them from starting, they are decided meanwhile.
func (s *syncState) decidesNothing() bool {
	return s.in.Owner.Deleting || !s.ready.mayStart && !s.in.Traits.Durable.Has(PartGates)
}

// undecided tells whether this sync decides no scheduled time because it is not known what runs, where the status holds
// a cursor. An edit that it sees is not recorded then, but rides in the process: what waits is still that of the timing
// before.
func (s *syncState) undecided() bool {
	return s.in.Traits.Durable.Has(PartCursor) && s.observed.err != nil
}

// keptByEdit are those of the times up to an edit that are named still: the former timing named the ones that the
// status says are next. Nothing else that the present one names up to then is to start, but for what has started.
func (s *syncState) keptByEdit(all Times) []time.Time {
	until := minTime(s.edit.since, s.in.Now)
	kept := slices.DeleteFunc(slices.Clone(s.begun), func(t time.Time) bool { return t.After(until) })
	for _, t := range s.memory.outlook().Next {
		if t.After(s.timing.base) && !t.After(until) && names(all, t) && !s.isTakenOut(t) && !slices.ContainsFunc(kept, t.Equal) {
			kept = append(kept, t.UTC())
		}
	}
	slices.SortFunc(kept, time.Time.Compare)
	return kept
}

// takenOutTimes are those of which the stored status says that they wait or are next, but that an edit took out which that
// status does not know. A later edit that names them again is one of the timing in between, which did not name them.
func (s *syncState) takenOutTimes() (out []time.Time) {
	was, times := s.in.Carried.inProcess().takenOut, s.in.Policy.Timing.Times
	if times == nil || sameTime(s.edit.now.Since, s.edit.stored.Since) {
		return was
	}
	add := func(t time.Time) {
		if again := slices.ContainsFunc(was, t.Equal) && !t.After(s.edit.since); again || !names(times, t) {
			out = append(out, t)
		}
	}
	for _, t := range s.memory.outlook().Next {
		add(t)
	}
	for _, w := range s.memory.Waiting {
		add(w.Time)
	}
	return out
}

func (s *syncState) isTakenOut(t time.Time) bool { return slices.ContainsFunc(s.takenOut, t.Equal) }

// takeOut counts what an edit took out, or named too late.
func (s *syncState) takeOut(all Times, kept []time.Time) {
	p, base := s.past, s.timing.base
	until := minTime(minTime(s.edit.since, s.in.Now), p.until)
	for _, t := range s.memory.outlook().Next {
		if t.After(base) && !t.After(until) && !names(all, t) && !slices.ContainsFunc(kept, t.Equal) {
			p.edited = p.edited.and(one(t.UTC()))
		}
	}
	p.edited = p.edited.and(passedIn(all, base, until, kept))
}

// applyPause finds which of the times passed in a pause: all that are undecided while it goes on.
func (s *syncState) applyPause() {
	in, p, was, now := s.in, s.past, s.memory.Pause(), s.status.Pause()
	switch {
	case now.Cause != "":
		p.why = now.Cause.skips()
		if in.Policy.CatchUpOnResume { // they are decided at its end; but nothing earlier than what has started is
			p.until = s.timing.base
			for _, t := range s.begun {
				p.until = maxTime(p.until, t)
			}
		}
		p.pausedUntil, p.lostUntil = p.until, p.until
	case was.Cause != "":
		end := was.endedAt(in.Now)
		p.why, p.pausedUntil = was.Cause.skips(), minTime(end, p.until)
		last := p.times.LastBetween(s.timing.base, end)
		switch {
		case last.IsZero() || plannedStart(p.times, last).Before(end):
		default:
			p.pausedUntil = last.Add(-time.Nanosecond)
		}
		p.lostUntil = minTime(p.pausedUntil, s.deadlineCut(end))
	}
}

// pausedUntilIfSkipped is the time up to which those that passed in a pause are skipped without being looked at.
func (p *pastTimes) pausedUntilIfSkipped(in *Input) time.Time {
	if in.Policy.CatchUpOnResume {
		return p.lostUntil
	}
	return p.pausedUntil
}

// deadlineCut is the instant up to which scheduled times are too late for the deadline at now; the zero time is none.
func (s *syncState) deadlineCut(now time.Time) time.Time {
	cut := earliest(time.Time{}, s.in.Policy.Deadline, now)
	if last := s.past.times.LastBetween(s.timing.base, cut); plannedStart(s.past.times, last).After(cut) {
		return last.Add(-time.Nanosecond)
	}
	return cut
}

// chooseWaiting gives those of the new scheduled times that wait because they came while something was wrong: as many
// as may wait (timetable.md 3.6, 4.1), the newest, or in a queue the oldest that have not begun.
func chooseWaiting(in *Input, times Times, after, until time.Time, begun []time.Time) (chosen []time.Time) {
	room := in.Policy.Room
	limit := max(room.WaitLimit, 1)
	if in.Policy.CatchUp.Policy == CatchUpAll {
		limit += in.Policy.CatchUp.Limit
	}
	if room.Queues {
		for t := times.Next(after); !t.IsZero() && !t.After(until) && len(chosen) < limit; t = times.Next(t) {
			if !slices.ContainsFunc(begun, t.Equal) {
				chosen = append(chosen, t.UTC())
			}
		}
		return chosen
	}
	for t := times.LastBetween(after, until); !t.IsZero() && len(chosen) < limit; t = times.LastBetween(after, t.Add(-time.Nanosecond)) {
		chosen = append(chosen, t.UTC())
	}
	slices.Reverse(chosen)
	return chosen
}

// someTimes are the times of a list, in order, and of the others those that are later than since.
type someTimes struct {
	list  []time.Time
	rest  Times
	since time.Time
}

func (s someTimes) LastBetween(after, until time.Time) time.Time {
	if s.since.Before(until) {
		if t := s.rest.LastBetween(maxTime(after, s.since), until); !t.IsZero() {
			return t
		}
	}
	for _, t := range slices.Backward(s.list) {
		if t.After(after) && !t.After(until) {
			return t
		}
	}
	return time.Time{}
}

func (s someTimes) Count(after, until time.Time) int {
	n := 0
	if s.since.Before(until) {
		n = s.rest.Count(maxTime(after, s.since), until)
	}
	for _, t := range s.list {
		if t.After(after) && !t.After(until) {
			n++
		}
	}
	return n
}

func (s someTimes) Next(t time.Time) time.Time {
	for _, at := range s.list {
		if at.After(t) {
			return at
		}
	}
	return s.rest.Next(maxTime(t, s.since))
}

func (s someTimes) PlannedStart(t time.Time) time.Time { return plannedStart(s.rest, t) }
