// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var everyDrifts = &Rule{
	ID: "every-drifts", Level: Warning, Kinds: "CronJob",
	Summary: "@every has no fixed times",
	Reason:  "It counts from the last run, or from when the controller first saw the CronJob: \"@every 24h\" comes at another hour after each outage, edit or new installation.",
	Cure:    "Write the times (\"0 3 * * *\"), or use a Timetable, whose every: 24h stays on a grid.",
	check: eachCron(func(s *Subject, c cronText) []problem {
		if _, every := c.every(); !every || s.timetable != nil || s.obstacle() != nil {
			return nil
		}
		return one(c.path, "%q counts from the run before, so that its times are other ones after each outage and edit", c.text)
	}),
}
