// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

var nameWithDot = &Rule{
	ID: "name-with-dot", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "the name has a dot",
	Reason:  "It becomes part of the host names of Pods, where dots have a meaning; the API server warns, and refuses it for a Timetable.",
	Cure:    "Write hyphens for dots.",
	check: func(s *Subject) []problem {
		if name := s.Content.GetName(); (s.scheduled != nil || len(s.jobs) > 0) && strings.Contains(name, ".") {
			return one(at("metadata", "name"), "the name %q has dots, which are no part of a host name", name)
		}
		return nil
	},
}
