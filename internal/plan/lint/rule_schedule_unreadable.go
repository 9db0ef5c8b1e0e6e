// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var scheduleUnreadable = &Rule{
	ID: "schedule-unreadable", Level: Error, Kinds: "CronJob, Timetable",
	Summary: "the schedule cannot be read",
	Reason:  "The API server refuses it; one that was stored before starts nothing.",
	Cure:    `Mend what the message names; carillon explain "EXPRESSION" says what an expression means.`,
	check: func(s *Subject) []problem {
		for _, c := range s.crons() {
			if _, every := c.every(); s.timetable != nil && (every || c.zone != "") {
				return nil // for which there are rules of their own, with a better cure
			}
		}
		return fromObstacle("schedule-unreadable", timingPath)(s)
	},
}
