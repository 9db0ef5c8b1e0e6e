// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var timeZoneUnknown = &Rule{
	ID: "time-zone-unknown", Level: Error, Kinds: "CronJob, Timetable",
	Summary: "the time zone does not exist",
	Reason:  "The API server refuses it, or nothing ever starts.",
	Cure:    "Write a name of the tz database, such as Europe/Berlin or Etc/UTC: no abbreviation (CEST), no offset, not Local.",
	check:   fromObstacle("time-zone-unknown", pathTo("spec", "timeZone")),
}
