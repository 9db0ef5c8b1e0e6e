// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var noStartingDeadline = &Rule{
	ID: "no-starting-deadline", Level: Info, Kinds: "CronJob, Timetable",
	Summary: "after an outage a run of the night may start in the morning",
	Reason:  "Without a deadline the latest missed run is made up for however late it is: a backup of 2 o'clock at 9.",
	Cure:    "Write how late it may start: startingDeadlineSeconds, or startingDeadline in a Timetable.",
	check: func(s *Subject) []problem {
		const day = 24 * time.Hour
		if s.scheduled == nil || s.scheduled.Unreadable != nil || s.scheduled.Policy.Deadline != nil || s.starts.typical() < day || s.scheduled.Policy.Timing.Every > 0 {
			return nil
		}
		field := "startingDeadlineSeconds"
		if s.timetable != nil {
			field = "startingDeadline"
		}
		return one(at("spec", field), "it is due at %s, and may start at any later hour", s.starts[0].Format("15:04"))
	},
}
