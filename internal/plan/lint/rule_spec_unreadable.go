// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var specUnreadable = &Rule{
	ID: "spec-unreadable", Level: Error, Kinds: "CronJob, Timetable, Calendar",
	Summary: "a field has a value of another type than its API",
	Reason:  "The API server refuses it; one that was stored before starts nothing.",
	Cure:    "Write a value of the type that the message names; kubectl explain has the types.",
	check: func(s *Subject) []problem {
		if s.unreadable != nil {
			return one(parsePath(s.unreadable.Field), "%s", s.unreadable.Message)
		}
		if s.scheduled == nil || s.scheduled.Unreadable == nil {
			return nil
		}
		return one(at("spec"), "%s", s.scheduled.Unreadable.Error())
	},
}
