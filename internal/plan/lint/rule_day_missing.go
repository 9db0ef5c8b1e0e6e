// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"
)

var dayMissing = &Rule{
	ID: "day-missing-in-months", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "the day of the month does not exist in every month",
	Reason:  "A month without that day has no run: the 31st comes seven times a year.",
	Cure:    `For the last day of the month a Timetable has "L"; in a CronJob take the 28th or the 1st.`,
	check: eachCron(func(s *Subject, c cronText) []problem {
		if c.fields == nil || !starred(c.fields[4]) || !starred(c.fields[3]) || s.obstacle() != nil {
			return nil
		}
		least := 32
		for item := range strings.SplitSeq(c.fields[2], ",") {
			day, err := strconv.Atoi(item)
			if err != nil {
				return nil
			}
			least = min(least, day)
		}
		if least < 29 || least > 31 {
			return nil
		}
		months := map[int]string{29: "February of most years", 30: "February", 31: "February, April, June, September and November"}[least]
		return one(c.path, "%q has no run in %s: there is no day %d", c.text, months, least)
	}),
}
