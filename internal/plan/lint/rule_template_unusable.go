// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var templateUnusable = &Rule{
	ID: "template-unusable", Level: Error, Kinds: "Timetable",
	Summary: "no run can be made from the template, the parameters or the outcome",
	Reason:  "The Timetable starts nothing and says Ready=False.",
	Cure:    "Mend what the message names.",
	check: func(s *Subject) []problem {
		if s.scheduled == nil || s.scheduled.Unreadable != nil || s.scheduled.Policy.ChildObstacle == nil {
			return nil
		}
		o := s.scheduled.Policy.ChildObstacle
		path := at("spec", "template")
		switch o.Key {
		case "InvalidParameter":
			path = at("spec", "parameters")
		case "InvalidOutcome":
			path = at("spec", "outcome")
		}
		return one(path, "%s", o.Message)
	},
}
