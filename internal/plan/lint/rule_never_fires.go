// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var neverFires = &Rule{
	ID: "never-fires", Level: Error, Kinds: "CronJob, Timetable",
	Summary: "the schedule names no time at all",
	Reason:  "Nothing ever runs, and nobody is told.",
	Cure:    "Write a date that exists; 30 February and 31 June do not.",
	check:   fromObstacle("never-fires", timingPath),
}
