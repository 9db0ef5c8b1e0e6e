// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

// The arithmetic is that of cronjob.md 3.4: with a deadline the times of @every are counted from that long ago.
var everyBeyondDeadline = &Rule{
	ID: "every-beyond-deadline", Level: Error, Kinds: "CronJob",
	Summary: "@every with a shorter startingDeadlineSeconds, which starts nothing",
	Reason:  "A controller counts the times of @every from startingDeadlineSeconds ago. If that is less than the interval none has come, ever.",
	Cure:    "Take startingDeadlineSeconds out or make it longer than the interval, or write the times (\"0 */2 * * *\").",
	check: eachCron(func(s *Subject, c cronText) []problem {
		n, written := s.number("spec", "startingDeadlineSeconds")
		if s.scheduled == nil || s.timetable != nil || s.obstacle() != nil || !written || n < 1 || n >= maxSeconds {
			return nil // 0 is told by another rule
		}
		deadline := time.Duration(n) * time.Second
		if deadline >= s.scheduled.Policy.Timing.Every {
			return nil
		}
		return one(at("spec", "startingDeadlineSeconds"), "%q with a deadline of %s never starts anything", c.text, words(deadline))
	}),
}
