// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timeset answers which instants the timing of a Timetable names: its
// schedules, time zone, window, exclusions and jitter (timetable.md 3.1 to 3.4).
//
// A [Set] is a pure function of its [Spec]. Nothing here reads a clock, a file or the
// API; whoever asks hands in the periods of the Calendars.
//
// How it is computed:
//
//	duration.go, moment.go, period.go   the texts of section 2
//	source.go     the instants of one item: cron, every, at
//	weeks.go      everyWeeks: which weeks are open
//	exclusions.go exclude: which days and hours are open
//	calendar.go   the exclusions that several Timetables share
//	mask.go       a source of which only open wall clock times count
//	union.go      several sources as one
//	set.go        the questions; jitter.go the offset of planned starts
//	item.go       the source of one schedule; place.go where a wall clock time lies
//	compile.go    from Spec (spec.go) to Set, or the Obstacle (obstacle.go) that keeps it from being one
//	fingerprint.go  what tells one timing from another
//
// No question about one schedule walks time by time: a search goes from exclusion to
// exclusion and a count adds what lies between them.
package timeset
