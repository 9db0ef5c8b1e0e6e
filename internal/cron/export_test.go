// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "reflect"

// CarryFrom is what a sync hands on that found this annotation and nothing else.
func CarryFrom(annotation string) Carry {
	schedule, _ := parseSchedule(annotation)
	return Carry{schedule: schedule}
}

// Equal is for cmp.
func (c Carry) Equal(other Carry) bool { return reflect.DeepEqual(c, other) }

// HasPendingTime tells whether a scheduled time may still start.
func (c Carry) HasPendingTime() bool { return c.outcomes.pending != nil }
