// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// Pause is why no scheduled time starts although all is well with the object: somebody said so, or too many runs failed
// one after the other (timetable.md 3.7). The zero Pause is none, and none before.
type Pause struct {
	// Cause is "" where scheduled times start.
	Cause PauseCause
	// Until is when a suspension ends by itself; nil for any other cause.
	Until *time.Time
	// Since is when too many runs had failed, nil if the pause that this began has ended. Generation and ResumeToken are
	// those of the object then: others end it.
	Since       *time.Time
	Generation  int64
	ResumeToken string
	// Base is how many failures in a row do not count, because a pause has ended after them.
	Base int
}

// PauseCause is the cause of a pause in one word.
type PauseCause string

// The causes; the first that applies is told.
const (
	// PauseSuspended: Policy.Suspend.
	PauseSuspended PauseCause = "Suspended"
	// PauseSuspendedUntil: Policy.SuspendUntil has not come.
	PauseSuspendedUntil PauseCause = "SuspendedUntil"
	// PauseFailures: Policy.PauseAfterFailures.
	PauseFailures PauseCause = "Failures"
)

// skips is the reason for which a time does not start that passes in a pause of that cause.
func (c PauseCause) skips() Reason {
	if c == PauseFailures {
		return NotStartedPaused
	}
	return NotStartedSuspended
}

func (p *Pause) same(other *Pause) bool {
	return p.Cause == other.Cause && sameTime(p.Until, other.Until) && sameTime(p.Since, other.Since) && p.Generation == other.Generation &&
		p.ResumeToken == other.ResumeToken && p.Base == other.Base
}

// endedAt is when the pause ended that the last sync found and this one does not find any more.
func (p *Pause) endedAt(now time.Time) time.Time {
	if p.Until != nil && !p.Until.After(now) {
		return *p.Until
	}
	return now
}

// pauseNow is the pause as this sync finds it, with the outcomes of the runs that have ended.
func (s *syncState) pauseNow() Pause {
	in, p := s.in, s.memory.Pause()
	var last LastResults
	if r := s.memory.Results; r != nil {
		last = r.Last
	}
	for _, o := range s.observed.ended {
		last.add(o, in.Now)
	}
	if slices.ContainsFunc(s.observed.ended, func(o RunOutcome) bool { return o.Result == Succeeded }) {
		p.Base, p.Since = 0, nil
	}
	limit := in.Policy.PauseAfterFailures
	if p.Since != nil && (limit <= 0 || in.Owner.Generation != p.Generation || in.Policy.ResumeToken != p.ResumeToken) {
		p.Base, p.Since = last.Failures, nil
	}
	switch {
	case p.Since != nil:
	case limit > 0 && last.Failures-p.Base >= limit:
		p.Since, p.Generation, p.ResumeToken = new(in.Now.UTC()), in.Owner.Generation, in.Policy.ResumeToken
	default:
		p.Generation, p.ResumeToken = 0, ""
	}
	p.Cause, p.Until = "", nil
	switch until := in.Policy.SuspendUntil; {
	case in.Policy.Suspend:
		p.Cause = PauseSuspended
	case until != nil && in.Now.Before(*until):
		p.Cause, p.Until = PauseSuspendedUntil, until
	case p.Since != nil:
		p.Cause = PauseFailures
	}
	return p
}

// pauseEvents tell that a pause after failures has begun, or that a pause has ended, with the status that says so.
func (s *syncState) pauseEvents() []Event {
	was, now, in := s.memory.Pause().Cause, s.status.Pause().Cause, s.in
	if !in.Traits.Durable.Has(PartGates) || in.done.record == nil || in.done.record.err != nil {
		return nil
	}
	switch {
	case was != "" && now == "":
		return []Event{in.Traits.Events.Resumed.event("", "Scheduled times start again")}
	case was != PauseFailures && now == PauseFailures:
		return []Event{in.Traits.Events.PausedAfterFailures.event("", "%d scheduled runs failed one after the other, so that none starts any more: "+
			"mend the cause, then give the annotation %s another value, or change the spec", in.Policy.PauseAfterFailures, in.Traits.ResumeAnnotation)}
	}
	return nil
}
