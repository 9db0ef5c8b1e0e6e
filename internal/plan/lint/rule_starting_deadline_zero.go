// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var startingDeadlineZero = &Rule{
	ID: "starting-deadline-zero", Level: Error, Kinds: "CronJob",
	Summary: "startingDeadlineSeconds: 0 starts nothing",
	Reason:  "Every start is a little late, and none may be: the CronJob never runs.",
	Cure:    "Take it out, or write how late a run may start; to start nothing write suspend: true.",
	check: func(s *Subject) []problem {
		if n, written := s.number("spec", "startingDeadlineSeconds"); s.isCronJob() && written && n == 0 {
			return one(at("spec", "startingDeadlineSeconds"), "with startingDeadlineSeconds: 0 no run is ever in time")
		}
		return nil
	},
}
