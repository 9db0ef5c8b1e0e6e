// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

// minInterval is the least interval of a Timetable on a cluster, unless an administrator says otherwise
// (--timetable-min-interval).
const minInterval = 10 * time.Second

var tooFrequent = &Rule{
	ID: "too-frequent", Level: Warning, Kinds: "Timetable",
	Summary: "a Timetable starts more often than managers allow",
	Reason:  "On a cluster nothing of it starts (Ready=False, TooFrequent): below 10 seconds, unless --timetable-min-interval says otherwise.",
	Cure:    "Start less often, or let one run loop.",
	check: func(s *Subject) []problem {
		if s.timetable == nil {
			return nil
		}
		if short := s.starts.shortest(); short > 0 && short < minInterval {
			return one(at("spec", "schedules"), "it starts %s, and managers of clusters allow %s by default", each(short), words(minInterval))
		}
		return nil
	},
}
