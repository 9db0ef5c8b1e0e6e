// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var replaceNeverFinishes = &Rule{
	ID: "replace-never-finishes", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "Replace with a short interval: once runs are slower than that, none ever finishes",
	Reason:  "Each run is stopped by the next one, for ever; the schedule looks busy and gets nothing done.",
	Cure:    "Take Forbid, or an interval that is well above the longest run.",
	check: func(s *Subject) []problem {
		const few = 15 * time.Minute
		short := s.starts.shortest()
		if s.overlap() != "Replace" || short == 0 || short > few || s.longest() > 0 && s.longest() < short {
			return nil
		}
		longest := s.longestWithin(24 * time.Hour) // the run before it may finish, if it is long
		switch {
		case longest == 0 || longest > few:
			return nil
		case longest > short:
			return one(s.overlapPath(), "each run is stopped after %s at most by the next one: what takes longer never finishes", words(longest))
		}
		return one(s.overlapPath(), "each run is stopped after %s by the next one: what takes longer never finishes", words(short))
	},
}
