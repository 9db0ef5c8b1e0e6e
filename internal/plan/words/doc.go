// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package words says a schedule in plain words, and gives its parts to those who have more to say about it.
//
//	expression.go Expression: a cron expression read into its fields, and Read
//	column.go     the fields: which values each has, and how their items are read
//	daysof.go     items that are days told by the end of the month or by its weekdays (L, 15W, FRI#2)
//	words.go      Words: the whole sentence
//	clocktimes.go its first part, the times of a day, and its ending, the seconds
//	days.go       its second part, the days, months and years
//	lists.go      lists and ranges, in words
//	item.go       the other schedules of a Timetable: every, at and everyWeeks
//	span.go       durations in words
//	refusal.go    why a text is no schedule
//
// The words are exact: they name the same set of times as the schedule, and where nothing short can be said they list
// the values field by field. The tests read them back and compare the sets.
//
// Whether a text is a schedule at all is asked of package schedule, so that its language is defined in one place.
package words
