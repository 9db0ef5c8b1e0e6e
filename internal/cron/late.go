// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// waitingSince is when times began to wait of which this is the latest: with this one, or with one whose place it
// takes. What was found late is nobody's delay, and has no such instant.
func (s *syncState) waitingSince(due dueTime) *time.Time {
	if due.trigger != TriggerSchedule {
		return nil
	}
	since := plannedStart(s.in.Policy.Timing.Times, due.time)
	for _, w := range s.memory.Waiting {
		switch {
		case w.Time.Equal(due.time):
			return w.Since
		case w.Since != nil && w.Since.Before(since) && s.isTurnedAway(w.Time):
			since = *w.Since
		}
	}
	return &since
}

func (s *syncState) isTurnedAway(t time.Time) bool {
	for _, m := range s.turnedAway {
		if m.first.Equal(t) {
			return true
		}
	}
	return false
}

// lateAt is when a time will have waited too long, zero if none does or one has already.
func (s *syncState) lateAt() time.Time {
	var first *time.Time
	for _, w := range s.outcomes.waiting {
		if w.Since != nil && (first == nil || w.Since.Before(*first)) {
			first = w.Since
		}
	}
	if first == nil || s.in.Policy.LateAfter <= 0 {
		return time.Time{}
	}
	at := first.Add(s.in.Policy.LateAfter).UTC()
	if !at.After(s.in.Now) {
		return time.Time{}
	}
	return at
}
