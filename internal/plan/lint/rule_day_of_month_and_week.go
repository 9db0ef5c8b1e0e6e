// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var dayOfMonthAndWeek = &Rule{
	ID: "day-of-month-and-week", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "day of month and day of week are both restricted, so that either is enough",
	Reason:  `"0 9 13 * 5" is not Friday the 13th: it is each 13th, and each Friday. That is how cron has always read it.`,
	Cure:    "In a CronJob leave one of them * and let the command check the other; a Timetable has dayRule: Both, and 5#2 for the second Friday.",
	check: eachCron(func(s *Subject, c cronText) []problem {
		if c.fields == nil || c.both || starred(c.fields[2]) || starred(c.fields[4]) || s.obstacle() != nil {
			return nil
		}
		if _, written := s.written(append(c.path[:len(c.path)-1:len(c.path)-1], "dayRule")...); written && s.timetable != nil {
			return nil // Either was asked for
		}
		return one(c.path, "%q runs on each day of the month %q and also on each day of the week %q, not only where both hold", c.text, c.fields[2], c.fields[4])
	}),
}
