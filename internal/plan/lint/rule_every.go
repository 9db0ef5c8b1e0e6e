// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"time"
)

var everyDrifts = &Rule{
	ID: "every-drifts", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "@every has no fixed times",
	Reason:  "It counts from the last run, or from when the controller first saw the CronJob: \"@every 24h\" comes at another hour after each outage, edit or new installation. Timetables refuse it.",
	Cure:    "Write the times (\"0 3 * * *\"), or use a Timetable, whose every: 24h stays on a grid.",
	Fix:     "in a Timetable: every instead of cron, which stays on a grid from 1970-01-01 UTC",
	check: eachCron(func(s *Subject, c cronText) []problem {
		length, every := c.every()
		if !every {
			return nil
		}
		if s.timetable == nil {
			if s.obstacle() != nil {
				return nil
			}
			return one(c.path, "%q counts from the run before, so that its times are other ones after each outage and edit", c.text)
		}
		found := one(c.path, "%q is refused: a Timetable says every: %s, whose times stay on a grid", c.text, length)
		if d, err := time.ParseDuration(length); err == nil && d >= time.Second && d%time.Second == 0 && !strings.ContainsAny(length, ".µun+- ") && !strings.Contains(length, "ms") {
			found[0].changes = []Change{{Path: c.path, Rename: "every", Value: length}}
			found[0].cure = "Write every: " + length + " in place of cron."
		}
		return found
	}),
}
