// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

var timeZoneInSchedule = &Rule{
	ID: "time-zone-in-schedule", Level: Error, Kinds: "CronJob, Timetable",
	Summary: "a time zone stands in the schedule (TZ=, CRON_TZ=)",
	Reason:  "API servers refuse it since Kubernetes 1.29 in new CronJobs, and Timetables never took it.",
	Cure:    "Write the zone into spec.timeZone.",
	Fix:     "moves the zone to spec.timeZone, if none is there",
	check: eachCron(func(s *Subject, c cronText) []problem {
		if !strings.Contains(c.text, "TZ") || !s.zoned() {
			return nil
		}
		found := one(c.path, "the schedule %q brings a time zone, which the API server refuses", c.text)
		if c.zone != "" && c.bare != "" && !s.has("spec", "timeZone") && len(s.crons()) == 1 && RefusedZone(c.zone) == "" {
			found[0].cure = "Write schedule: \"" + c.bare + "\" and timeZone: " + c.zone + "."
			found[0].changes = []Change{{Path: c.path, Value: c.bare}, {Path: at("spec", "timeZone"), Value: c.zone, After: "schedule"}}
		}
		return found
	}),
}
