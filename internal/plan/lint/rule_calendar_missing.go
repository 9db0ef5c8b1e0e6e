// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var calendarMissing = &Rule{
	ID: "calendar-missing", Level: Warning, Kinds: "Timetable",
	Summary: "a Calendar that a Timetable names is not among what was given",
	Reason:  "While its namespace has no such Calendar, a Timetable starts nothing: it cannot know its holidays.",
	Cure:    "Add the Calendar, or name the cluster that has it with --context beside -f.",
	check:   fromObstacle("calendar-missing", pathTo("spec", "exclude")),
}
