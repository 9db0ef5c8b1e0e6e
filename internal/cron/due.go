// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// dueTime is a scheduled time that has come, is not served, and is within its deadline.
type dueTime struct {
	time time.Time
	// child is the name of its child.
	child   string
	trigger Trigger
}

// Trigger says what made a run.
type Trigger string

const (
	// TriggerSchedule is a scheduled time that was found in time.
	TriggerSchedule Trigger = "Schedule"
	// TriggerCatchUp is a scheduled time that was found late, and is made up for.
	TriggerCatchUp Trigger = "CatchUp"
)

// punctual is how late a scheduled time may be found and still count as found in time (timetable.md 3.5).
const punctual = time.Minute

func triggerOf(t, now time.Time) Trigger {
	if now.Sub(t) > punctual {
		return TriggerCatchUp
	}
	return TriggerSchedule
}

// dueTimes are the scheduled times that have come, in their order.
func dueTimes(in Input, t timing) []dueTime {
	if t.due.IsZero() {
		return nil
	}
	return []dueTime{{time: t.due, child: childName(in, t.due), trigger: triggerOf(t.due, in.Now)}}
}

// isDue tells whether a child of that name is that of a time which is due.
func (s *syncState) isDue(name string) bool {
	return slices.ContainsFunc(s.due, func(t dueTime) bool { return t.child == name })
}
