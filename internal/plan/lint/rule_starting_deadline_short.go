// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

// shortDeadline is the least time within which controllers of Kubernetes promise to look at a CronJob.
const shortDeadline = 10 * time.Second

var startingDeadlineShort = &Rule{
	ID: "starting-deadline-short", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "a run may start only a few seconds late",
	Reason:  "A busy or restarting controller needs longer than that, and each run that it is late for is lost. Before Kubernetes 1.21 below 10 seconds nothing started at all.",
	Cure:    "Allow a minute or more; a good value is half of the interval.",
	check: func(s *Subject) []problem {
		if s.scheduled == nil {
			return nil
		}
		path, deadline := at("spec", "startingDeadlineSeconds"), time.Duration(0)
		if n, written := s.number("spec", "startingDeadlineSeconds"); written && s.timetable == nil && n > 0 && n < maxSeconds {
			deadline = time.Duration(n) * time.Second
		}
		if s.timetable != nil && s.timetable.Spec.StartingDeadline != nil {
			path = at("spec", "startingDeadline")
			deadline, _ = time.ParseDuration(string(*s.timetable.Spec.StartingDeadline))
		}
		if deadline > 0 && deadline < shortDeadline {
			return one(path, "a run that is %s late is lost", words(deadline))
		}
		return nil
	},
}
