// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"
)

var minuteStar = &Rule{
	ID: "every-minute-of-an-hour", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "the hour is named, and the minute is *",
	Reason:  `"* 2 * * *" is not 2 o'clock: it is each minute from 2:00 to 2:59, 60 runs a day.`,
	Cure:    `Write the minute: "0 2 * * *".`,
	check: eachCron(func(s *Subject, c cronText) []problem {
		if c.fields == nil || c.fields[0] != "*" || len(strings.Fields(c.bare)) != 5 || s.obstacle() != nil {
			return nil
		}
		hours := strings.Split(c.fields[1], ",")
		for _, hour := range hours {
			if _, err := strconv.Atoi(hour); err != nil {
				return nil
			}
		}
		return one(c.path, "%q starts 60 times in hour %s, once each minute", c.text, strings.Join(hours, " and "))
	}),
}
