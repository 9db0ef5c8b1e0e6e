// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"reflect"
	"time"
)

// CarryFrom is what a sync hands on that found this timing and nothing else.
func CarryFrom(served ServedTiming) Carry { return Carry{timing: served} }

// Equal is for cmp.
func (t ServedTiming) Equal(other ServedTiming) bool { return reflect.DeepEqual(t, other) }

// Due is the scheduled time that is due and the point after which times count; many: more than 100 have passed.
func Due(in Input) (due, earliest time.Time, many bool) {
	t := timingOf(in, in.Policy.Timing.Times, in.StoredStatus, edit{})
	return t.due, t.earliest, t.manyMissed
}

// Wake is the next scheduled time.
func Wake(in Input, status Status) time.Time {
	return wake(in, in.Policy.Timing.Times, status, edit{})
}

// The name and the stamp of a child.
var (
	ChildName = childName
	Stamp     = stamp
)

// ManyMissed is the most missed times that are not many.
const ManyMissed = manyMissed

// Equal is for cmp.
func (c Carry) Equal(other Carry) bool { return reflect.DeepEqual(c, other) }

// HasPendingTime tells whether a scheduled time may still start.
func (c Carry) HasPendingTime() bool { return c.outcomes.pending != nil }
