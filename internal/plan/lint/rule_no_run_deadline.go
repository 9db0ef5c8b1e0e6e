// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var noRunDeadline = &Rule{
	ID: "no-run-deadline", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "a run that hangs keeps all later ones from starting",
	Reason:  "Under Forbid and Queue the next run waits for the one before. One that waits for ever for a lock or a connection ends the schedule in silence.",
	Cure:    "Bound a run.",
	check: func(s *Subject) []problem {
		policy := s.overlap()
		if policy != "Forbid" && policy != "Queue" || !s.endsRuns() || s.longest() > 0 || s.deadlineWritten() || len(s.starts) < 2 {
			return nil
		}
		return []problem{{path: s.deadlinePath(), message: "policy " + policy + " and no limit of time: a run that never ends is the last one", cure: s.deadlineCure()}}
	},
}
