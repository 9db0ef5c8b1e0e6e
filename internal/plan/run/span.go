// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import "time"

// An object's times have whole seconds, and controllers write them when they get to it: a second or two late, and later
// after they were away. What containers tell is exact.
const (
	// near is how far a time of an object may be from that of a container and still be taken for the same moment.
	near = 2 * time.Second
	// early is how long before its object a container may have begun: an object's creation has whole seconds, too. What
	// began even sooner was seen by another clock.
	early = time.Second
)

// Span is when the first of a run's attempts began and the last of them ended; a time is zero if no attempt tells it.
type Span struct {
	First, Last time.Time
	// Well: the last to end was the one main container of its Pod, and ended well.
	Well bool
}

// Add takes in an attempt. How long a sidecar goes on is not asked.
func (s *Span) Add(a *Attempt) {
	if !a.Started.IsZero() && (s.First.IsZero() || a.Started.Before(s.First)) {
		s.First = a.Started.UTC()
	}
	if a.Role == Sidecar || a.Ended.IsZero() || a.Ended.Before(s.Last) {
		return
	}
	well := a.Role == Main && a.Mains == 1 && !a.Failed()
	s.Last, s.Well = a.Ended.UTC(), well || s.Well && a.Ended.Equal(s.Last)
}

// Refine puts the exact times of a run's attempts in the place of its object's. It began when the first of them did if
// that was before Started, or less than two seconds after it, or if Started is zero; but not if that was more than a
// second before Created. It ended when the last of them did if that is within two seconds of Ended, or before it and
// all that a run of one Pod must do was done with that (Well); otherwise something else has ended it. A run without
// Ended stays without.
func (r *Run) Refine(s Span) {
	if !s.First.IsZero() && !s.First.Before(r.Created.Add(-early)) && (r.Started.IsZero() || s.First.Sub(r.Started) < near) {
		r.Started = s.First
	}
	if !r.Outcome.Ended() || r.Ended.IsZero() || s.Last.IsZero() || s.Last.Before(r.Begun()) {
		return
	}
	done := r.Outcome == Succeeded && r.Completions == 1 && s.Well && s.Last.Before(r.Ended)
	if done || s.Last.Sub(r.Ended).Abs() <= near {
		r.Ended = s.Last
	}
}
