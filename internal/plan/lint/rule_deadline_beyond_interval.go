// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "fmt"

var deadlineBeyondInterval = &Rule{
	ID: "deadline-beyond-interval", Level: Info, Kinds: "CronJob, Timetable",
	Summary: "a run may take longer than the time to the next one",
	Reason:  "Such a run delays or swallows the ones after it (Forbid), or is ended by them (Replace).",
	Cure:    "Start less often, or end runs earlier; if a run that is left out does no harm, leave it.",
	check: func(s *Subject) []problem {
		policy, longest, short := s.overlap(), s.longest(), s.starts.shortest()
		if policy == "" || policy == "Allow" || longest == 0 || short == 0 || longest <= short {
			return nil
		}
		return []problem{{path: s.deadlinePath(), message: fmt.Sprintf("a run may take %s, and the next is due %s later (policy %s)", words(longest), words(short), policy)}}
	},
}
