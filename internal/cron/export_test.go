// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"reflect"
	"time"
)

// CarryFrom is what a sync hands on that found this annotation and nothing else.
func CarryFrom(annotation string) Carry {
	schedule, _ := parseSchedule(annotation)
	return Carry{schedule: schedule}
}

// Equal is for cmp.
func (c Carry) Equal(other Carry) bool { return reflect.DeepEqual(c, other) }

// Spec is the schedule that was decided on; without any if there was none.
func (c Carry) Spec() Spec {
	spec := Spec{Schedules: c.schedule.Schedules}
	if zone := c.schedule.TimeZone; zone != "" {
		spec.TimeZone = &zone
	}
	return spec
}

// HasPendingTime tells whether a scheduled time may still start.
func (c Carry) HasPendingTime() bool { return c.outcomes.pending != nil }

// IsUnreported tells whether t is among the missed times that no event has reported yet.
func (c Carry) IsUnreported(t time.Time) bool {
	for _, m := range c.outcomes.unreported {
		if !t.Before(m.first) && !t.After(m.last) {
			return true
		}
	}
	return false
}
