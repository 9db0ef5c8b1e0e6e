// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var failuresNotKept = &Rule{
	ID: "failures-not-kept", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "no failed run is kept, and with it go its Pods and their logs",
	Reason:  "The run that failed in the night cannot be looked at in the morning.",
	Cure:    "Keep at least one.",
	Fix:     "writes 1",
	check: func(s *Subject) []problem {
		if s.scheduled == nil || s.scheduled.Unreadable != nil || s.historyLimit("failed") != 0 {
			return nil
		}
		path := s.historyPath("failed")
		found := one(path, "a failed run is deleted at once, with its Pods and logs")
		found[0].changes = []Change{{Path: path, Value: int64(1)}}
		return found
	},
}
