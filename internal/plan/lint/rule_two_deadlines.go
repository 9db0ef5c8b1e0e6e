// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var twoDeadlines = &Rule{
	ID: "two-deadlines", Level: Info, Kinds: "Timetable",
	Summary: "timeout and activeDeadlineSeconds are both written",
	Reason:  "The smaller of them counts, and the other one misleads.",
	Cure:    "Keep timeout.",
	check: func(s *Subject) []problem {
		if s.timetable == nil || s.timetable.Spec.Timeout == nil || !s.isBatchJob() || len(s.jobs) == 0 || s.jobs[0].spec.ActiveDeadlineSeconds == nil {
			return nil
		}
		deadline := *s.jobs[0].spec.ActiveDeadlineSeconds
		if deadline <= 0 || deadline > maxSeconds {
			return nil
		}
		return one(s.jobs[0].path.and("activeDeadlineSeconds"), "timeout is %s and activeDeadlineSeconds %s: %s counts", *s.timetable.Spec.Timeout, words(time.Duration(deadline)*time.Second), words(s.longest()))
	},
}
