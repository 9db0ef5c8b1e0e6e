// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

var noTimeZone = &Rule{
	ID: "no-time-zone", Level: Warning, Kinds: "CronJob (batch/v1, Volcano)",
	Summary: "the schedule names an hour or a day, and no time zone says whose",
	Reason:  "Without timeZone it is that of the controller's process: UTC on most clusters, another one on some, and on this machine its own. Jobs then run hours early or late, and nobody sees why.",
	Cure:    "Write spec.timeZone, such as Europe/Berlin, or Etc/UTC to keep what most clusters do.",
	Fix:     "writes the zone of --fix-zone, if that is given",
	check: eachCron(func(s *Subject, c cronText) []problem {
		if s.timetable != nil || !s.zoned() || s.has("spec", "timeZone") || c.fields == nil || c.zone != "" || s.obstacle() != nil {
			return nil
		}
		if (starred(c.fields[1]) || strings.HasPrefix(c.fields[1], "*/")) && starred(c.fields[2]) && starred(c.fields[3]) && starred(c.fields[4]) {
			return nil // the same in every zone, but for those off by half an hour
		}
		found := one(c.path, "%q is read in the zone of whichever controller serves it: spec.timeZone is missing", c.text)
		if RefusedZone(s.fixZone) == "" {
			found[0].changes = []Change{{Path: at("spec", "timeZone"), Value: s.fixZone, After: "schedule"}}
		}
		return found
	}),
}
