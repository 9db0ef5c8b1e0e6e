// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var clockChangeDaysOnly = &Rule{
	ID: "clock-change-days-only", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "all runs fall on days on which the clocks change",
	Reason:  "Such a schedule was meant to do something else, or depends on what is surprising about these days: hours that do not exist, or exist twice.",
	Cure:    "Take another day, or a time in Etc/UTC.",
	check: func(s *Subject) []problem {
		const enough = 2
		if len(s.starts) < enough || s.starts.shortest() < 48*time.Hour {
			return nil
		}
		for _, t := range s.starts[:min(len(s.starts), 8)] {
			if !changesOn(t) {
				return nil
			}
		}
		path := at("spec", "schedule")
		if s.timetable != nil {
			path = at("spec", "schedules")
		}
		return one(path, "the next times are %s and %s, both on days on which the clocks of %s change", s.starts[0].Format(dateTime), s.starts[1].Format(dateTime), s.starts[0].Location())
	},
}
