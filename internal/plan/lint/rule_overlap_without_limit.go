// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

// oftenEnough is the interval below which a run that is slow for once meets the next.
const oftenEnough = time.Hour

var overlapWithoutLimit = &Rule{
	ID: "overlap-without-limit", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "runs may pile up: they start often, may overlap, and nothing ends them",
	Reason:  "When runs get slower than their interval each adds another one, until the node or the database behind them is full.",
	Cure:    "Write concurrencyPolicy: Forbid, or bound a run with activeDeadlineSeconds (timeout in a Timetable).",
	check: func(s *Subject) []problem {
		short := s.starts.shortest()
		if s.overlap() != "Allow" || short == 0 || short > oftenEnough || !s.endsRuns() || s.longest() > 0 {
			return nil
		}
		if gaps := s.starts.gaps(); gaps[len(gaps)*2/3] > short {
			return one(s.overlapPath(), "two runs may be only %s apart, the second starts whether or not the first has ended, and none has a limit of time", words(short))
		}
		return one(s.overlapPath(), "a run starts %s whether or not the one before has ended, and none has a limit of time", each(short))
	},
}
