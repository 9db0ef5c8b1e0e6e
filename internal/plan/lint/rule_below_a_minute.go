// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var belowAMinute = &Rule{
	ID: "below-a-minute", Level: Warning, Kinds: "CronJob",
	Summary: "a CronJob is to start more than once a minute",
	Reason:  "Jobs of a CronJob are named after the minute, so that one of them starts in each and the others are skipped.",
	Cure:    "Start once a minute and loop in the command, or use a Timetable, which knows seconds.",
	check: func(s *Subject) []problem {
		if !s.isCronJob() || s.Content.GroupVersionKind().Group == "batch.tutorial.kubebuilder.io" {
			return nil
		}
		if every := s.scheduled.Policy.Timing.Every; every > 0 && every < time.Minute {
			return one(at("spec", "schedule"), "%q is %s, and one Job a minute starts", s.text("spec", "schedule"), each(every))
		}
		return nil
	},
}
