// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/carillon-dev/carillon/schedule"
)

var timeZoneUnknown = &Rule{
	ID: "time-zone-unknown", Level: Error, Kinds: "CronJob, Timetable",
	Summary: "the time zone does not exist",
	Reason:  "The API server refuses it, or nothing ever starts.",
	Cure:    "Write a name of the tz database, such as Europe/Berlin or Etc/UTC: no abbreviation (CEST), no offset, not Local.",
	check: func(s *Subject) []problem {
		path := at("spec", "timeZone")
		if found := fromObstacle("time-zone-unknown", pathTo(path...))(s); len(found) > 0 {
			return found
		}
		value, _ := s.written(path...)
		name, text := value.(string)
		if !s.isCronJob() || !s.zoned() || !text {
			return nil
		}
		if why := RefusedZone(name); why != "" {
			return one(path, "timeZone: %q is refused: %s", name, why)
		}
		return nil
	},
}

// zonePart is what stands between the slashes of a zone's name.
var zonePart = regexp.MustCompile(`^[A-Za-z.\-_0-9+]{1,14}$`)

// RefusedZone says why an API server refuses a time zone in a CronJob; "" if it takes it. That a zone can be loaded is
// not enough: Local can, and is another one on each machine.
func RefusedZone(name string) string {
	switch {
	case name == "":
		return "it is left out, or names a zone"
	case strings.EqualFold(name, "Local"):
		return "it is another zone on each machine"
	}
	for part := range strings.SplitSeq(name, "/") {
		if !zonePart.MatchString(part) || part == "." || part == ".." || strings.HasPrefix(part, "-") {
			return fmt.Sprintf("%q is no part of a zone's name", part)
		}
	}
	if _, err := schedule.LoadZone(name); err != nil {
		return "the tz database has no such zone"
	}
	return ""
}
