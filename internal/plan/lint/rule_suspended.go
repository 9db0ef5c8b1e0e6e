// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var suspended = &Rule{
	ID: "suspended", Level: Info, Kinds: "CronJob, Timetable, Job",
	Summary: "it is suspended: nothing starts",
	Reason:  "A suspension that was meant for a day is easily left in a manifest; each apply renews it.",
	Cure:    "Take suspend out when it should run again.",
	check: func(s *Subject) []problem {
		value, _ := s.written("spec", "suspend")
		if on, _ := value.(bool); on && (s.scheduled != nil || len(s.jobs) > 0) {
			return one(at("spec", "suspend"), "suspend: true, so nothing of it starts")
		}
		return nil
	},
}
