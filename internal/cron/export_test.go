// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"reflect"
	"time"
)

// CarriedFrom is what a sync hands on that found this timing and nothing else.
func CarriedFrom(served ServedTiming) Memory { return Memory{Timing: served} }

// Equal is for cmp.
func (t ServedTiming) Equal(other ServedTiming) bool { return reflect.DeepEqual(t, other) }

// Due is the scheduled time that is due and the point after which times count; many: more than 100 have passed.
func Due(in Input) (due, earliest time.Time, many bool) {
	t := timingOf(&in, in.Policy.Timing.Times, &in.Stored, &edit{})
	return t.due, t.earliest, t.manyMissed
}

// Wake is the next scheduled time.
func Wake(in Input, status Memory) time.Time {
	return wake(&in, in.Policy.Timing.Times, &status, &edit{})
}

// The name and the stamp of a child.
func ChildName(in Input, t time.Time) string { return childName(&in, t) }
func Stamp(in Input, t time.Time) string     { return stamp(&in, t) }

// ManyMissed is the most missed times that are not many.
const ManyMissed = manyMissed

// Equal is for cmp.
func (m Memory) Equal(other Memory) bool { return reflect.DeepEqual(m, other) }

// HasPendingTime tells whether a scheduled time may still start.
func (m Memory) HasPendingTime() bool { return len(m.Waiting) > 0 }

// Equal is for cmp.
func (r StatusWrite) Equal(other StatusWrite) bool { return reflect.DeepEqual(r, other) }
