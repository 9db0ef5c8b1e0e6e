// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Facts are what a sync has found out about an object, at its end, for the conditions of its status: the kind has the
// words for them (KindTraits.Conditions).
type Facts struct {
	// Now is the one clock reading of the sync, and Generation is that of the object which was decided on.
	Now        time.Time
	Generation int64
	Suspended  bool
	// Policy is what is asked for, and Memory what is remembered at the end of the sync, but for the conditions. They are
	// shared and must not be modified.
	Policy *Policy
	Memory *Memory
	// Unfinished and Failed are how many children are there that have not ended, or have failed.
	Unfinished, Failed int
	// ReadErr is why the children are not known well enough for anything to start; nil if they are.
	ReadErr error
	// Obstacle is what is wrong with the timing; nil if nothing is that was looked at.
	Obstacle *Obstacle
	// Refused says why nothing starts any more although the timing is all right, in words for people; "" if that is not
	// so.
	Refused string
	// CreateErr is why a child could not be created; nil if none was to be, or all were.
	CreateErr error
	// TooLate: scheduled times were found that are too old for the deadline.
	TooLate bool
	// Started: a child was created.
	Started bool
}

// conditions are status.conditions at the end of this sync; those that are stored where the kind has none, or the
// object asks for none.
func (s *syncState) conditions() []metav1.Condition {
	in := s.in
	if in.Traits.Conditions == nil || !in.Policy.Conditions {
		return in.Stored.Conditions
	}
	f := Facts{Now: in.Now, Generation: in.Owner.Generation, Suspended: in.Policy.Suspend, Policy: &s.in.Policy, Memory: &s.status, ReadErr: s.observed.err, Obstacle: s.ready.obstacle,
		TooLate: s.outcomes.tooLate(), Started: s.start.result == startCreated}
	for _, c := range s.children {
		switch {
		case c.Gone:
		case !c.Phase.finished():
			f.Unfinished++
		case c.Phase == Failed:
			f.Failed++
		}
	}
	if s.start.result == startTooManyMissed {
		f.Refused = manyRefusedText
	}
	if len(in.done.creates) > 0 && s.start.result == startFailed {
		f.CreateErr = s.start.err
	}
	return in.Traits.Conditions(in.Stored.Conditions, f)
}

func sameCondition(a, b metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.ObservedGeneration == b.ObservedGeneration && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}
