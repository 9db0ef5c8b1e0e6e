// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var backoffTimesRetry = &Rule{
	ID: "backoff-times-retry", Level: Warning, Kinds: "Timetable",
	Summary: "retry of the Timetable and backoffLimit of its Job multiply",
	Reason:  "Each attempt is a Job that starts Pods until its own backoffLimit is reached: 6 by default, so up to 7 Pods an attempt.",
	Cure:    "Write backoffLimit: 0 in the template, and let retry do it.",
	check: func(s *Subject) []problem {
		if s.timetable == nil || s.timetable.Spec.Retry == nil || !s.isBatchJob() {
			return nil
		}
		var found []problem
		for _, j := range s.jobs {
			limit, written := j.backoffLimit()
			if limit == 0 {
				continue
			}
			attempts := s.timetable.Spec.Retry.Limit + 1
			origin := "backoffLimit is"
			if !written {
				origin = "without backoffLimit it is"
			}
			found = append(found, one(j.path.and("backoffLimit"), "retry makes up to %d attempts, and %s %d: up to %d Pods for one run", attempts, origin, limit, int64(attempts)*int64(limit+1))...)
		}
		return found
	},
}
