// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"slices"
)

// limitWaiting takes those out of the times that are due for which there is no place to wait (timetable.md 3.6).
//
// What is made up for under CatchUpAll waits beside the others, under a limit of its own. Of the others a newer one
// takes the place of an older one, and no more wait than the policy says or can start now; or, where the room says so,
// they queue up, and a newer one that finds the queue full is turned away. What waits for anything else than room,
// because its create was refused or its name is taken, needs a place even where nothing waits for room.
func (s *syncState) limitWaiting(due []dueTime) []dueTime {
	policy := s.in.Policy
	if len(due) == 0 || policy.Room.Limit == 0 || len(due) == 1 && !policy.Room.Queues {
		return due
	}
	first := due[0].waitsFor
	var beside, others []dueTime
	for _, d := range due {
		if policy.CatchUp.Policy == CatchUpAll && d.trigger == TriggerCatchUp {
			beside = append(beside, d)
		} else {
			others = append(others, d)
		}
	}
	if over := len(beside) - policy.CatchUp.Limit; over > 0 {
		s.turnAway(NotStartedCatchUpLimit, beside[:over])
		beside = beside[over:]
	}
	places, now := policy.Room.WaitLimit, max(0, s.room()-len(beside))
	if s.ready.notReady { // nothing starts now
		now = 0
	}
	if first.waitsForRoom() {
		first = ""
	} else if first != "" {
		places = max(places, 1)
	}
	if policy.Room.Queues {
		places = min(places+now, len(others))
		s.turnAway(cmp.Or(first, NotStartedQueueFull), others[places:])
		others = others[:places]
	} else {
		over := max(0, len(others)-max(places, now))
		s.turnAway(cmp.Or(first, NotStartedSuperseded), others[:over])
		others = others[over:]
	}
	kept := append(beside, others...)
	slices.SortFunc(kept, func(a, b dueTime) int { return a.time.Compare(b.time) })
	return kept
}

// turnAway notes that times will not start any more.
func (s *syncState) turnAway(reason Reason, list []dueTime) {
	for _, d := range list {
		s.turnedAway = append(s.turnedAway, missed{reason: reason, passed: one(d.time), waitedFor: d.waitsFor})
	}
}

// waitsForRoom tells whether a time that waits for this starts as soon as there is room.
func (w Reason) waitsForRoom() bool {
	return w == NotStartedForbidden || w == NotStartedStopping
}
