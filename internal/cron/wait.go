// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"slices"
	"time"
)

// limitWaiting takes those out of the times that are due for which there is no place to wait (timetable.md 3.6).
//
// What is made up for under CatchUpAll waits beside the others, under a limit of its own. Of the others a newer one
// takes the place of an older one, and no more wait than the policy says or can start now; or, where the room says so,
// they queue up, and a newer one that finds the queue full is turned away. What waits for anything else than room,
// because its create was refused or its name is taken, needs a place even where nothing waits for room.
//
// It is asked again when the creates of the sync are answered: what was turned away before them still is then.
func (s *syncState) limitWaiting(due []dueTime) []dueTime {
	policy := s.in.Policy
	if len(due) == 0 || policy.Room.Limit == 0 || len(due) == 1 && len(s.proved) == 0 && !policy.Room.Queues {
		return due
	}
	l := s.lineUp(due)
	over := max(l.beside.passedOver, len(l.beside.times)-policy.CatchUp.Limit)
	s.turnAway(NotStartedCatchUpLimit, l.beside.times[:over])
	beside := l.beside.times[over:]
	places, mayStart := policy.Room.WaitLimit, min(max(0, s.room()-len(beside)-l.started), l.fit)
	if s.ready.notReady || l.unclear { // nothing more starts now
		mayStart = 0
	}
	first := l.first
	if first.waitsForRoom() {
		first = ""
	} else if first != "" {
		places = max(places, 1)
	}
	others := l.others.times
	if policy.Room.Queues {
		places = min(places+mayStart, len(others))
		s.turnAway(cmp.Or(first, NotStartedQueueFull), others[places:])
		others = others[:places]
	} else {
		over := max(l.others.passedOver, len(others)-max(places, mayStart))
		s.turnAway(cmp.Or(first, NotStartedSuperseded), others[:over])
		others = others[over:]
	}
	kept := append(append(l.kept, beside...), others...)
	slices.SortFunc(kept, func(a, b dueTime) int { return a.time.Compare(b.time) })
	return kept
}

// line are the times that are due, in the order in which they start.
type line struct {
	// first is what the first one waits for that has not started.
	first Reason
	// kept need no place to wait: those that this sync started, and those of which nobody can tell (unclear). beside are
	// those that wait beside the others.
	kept           []dueTime
	beside, others waitingLine
	started        int
	unclear        bool
	// fit is how many of the others are not known to be refused.
	fit int
}

// waitingLine are times that wait. passedOver is how many come before the first one whose create this sync has tried, or
// before one that an earlier sync started and could not record: what it decided then about those before that is lost.
type waitingLine struct {
	times      []dueTime
	passedOver int
	tried      bool
}

func (s *syncState) lineUp(due []dueTime) (l line) {
	all := s.in.Policy.CatchUp.Policy == CatchUpAll
	var newest time.Time // of those that an earlier sync started and could not record
	if len(s.proved) > 0 && !all {
		newest = s.proved[len(s.proved)-1]
	}
	for _, d := range due {
		why, started := s.waitsFor(d), s.in.created(d.child, CreateSucceeded) != nil
		line := &l.others
		if all && d.trigger == TriggerCatchUp {
			line = &l.beside
		}
		if !line.tried && s.in.attempted(d.child) != nil {
			line.tried, line.passedOver = true, len(line.times)
		}
		if !started && len(l.kept) == l.started && len(l.beside.times)+len(l.others.times) == 0 {
			l.first = why
		}
		switch {
		case started:
			l.kept, l.started = append(l.kept, d), l.started+1
		case s.in.mayExist(d.child):
			l.kept, l.unclear = append(l.kept, d), true
		default:
			line.times = append(line.times, d)
			if line == &l.others && why != NotStartedFailed && why != NotStartedForeign {
				l.fit++
			}
			if line == &l.others && d.time.Before(newest) {
				line.passedOver = len(line.times)
			}
		}
	}
	return l
}

// waitsFor is what a time that is due waits for, as far as the creates of this sync tell, "" if nothing is known to be in
// its way.
func (s *syncState) waitsFor(d dueTime) Reason {
	switch {
	case s.in.created(d.child, CreateSucceeded) != nil:
		return ""
	case s.in.created(d.child, CreateNameTaken) != nil:
		return NotStartedForeign
	case s.in.attempted(d.child) != nil:
		return NotStartedFailed
	}
	return d.waitsFor
}

// turnAway notes that times will not start any more.
func (s *syncState) turnAway(reason Reason, list []dueTime) {
	for _, d := range list {
		s.turnedAway = append(s.turnedAway, missed{reason: reason, passed: one(d.time), waitedFor: s.waitsFor(d)})
	}
}

// waitsForRoom tells whether a time that waits for this starts as soon as there is room.
func (w Reason) waitsForRoom() bool {
	return w == NotStartedForbidden || w == NotStartedStopping
}
