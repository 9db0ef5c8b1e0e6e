// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var successesNotKept = &Rule{
	ID: "successes-not-kept", Level: Info, Kinds: "CronJob, Timetable",
	Summary: "no run that succeeded is kept",
	Reason:  "There is nothing to compare a failure with, and no log that shows what the last run did.",
	Cure:    "Keep one.",
	check: func(s *Subject) []problem {
		if s.scheduled == nil || s.scheduled.Unreadable != nil || s.historyLimit("successful") != 0 {
			return nil
		}
		return one(s.historyPath("successful"), "a run that succeeded is deleted at once, with its logs")
	},
}
