// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var nameTooLong = &Rule{
	ID: "name-too-long", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "the name is longer than its children's can be",
	Reason:  "Names of Jobs are made of it, and end up in labels and host names of at most 63 characters: the API server refuses it.",
	Cure:    "Shorten the name: a CronJob has 52 characters, a Timetable and a Job 63.",
	check: func(s *Subject) []problem {
		limit := 0
		switch {
		case s.isCronJob():
			limit = 52
		case s.timetable != nil || len(s.jobs) > 0:
			limit = 63
		}
		if n := len(s.Content.GetName()); limit > 0 && n > limit {
			return one(at("metadata", "name"), "the name has %d characters, and %d is the most", n, limit)
		}
		return nil
	},
}
