// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule reads cron expressions and answers which instants they name.
//
// A Schedule is a set of instants, called ticks. [Parse] makes one from the text of
// a CronJob and a time zone, [Compile] from an item of a Timetable, whose language is
// larger; [Schedule.Next], [Schedule.Prev], [Schedule.Count] and
// [Schedule.LastBetween] ask about the set. Nothing here reads a clock.
//
// What is a tick: an instant at which a wall clock in the schedule's zone shows a
// second that matches all fields; that is second 0 of a minute where there is no
// field for seconds. Everything about daylight saving follows from that one
// sentence. A wall time that the clock skips in spring names no instant and does not
// fire; one that it shows twice in autumn names two instants and fires twice. An item
// of a Timetable that names hours may be placed otherwise ([DST]).
//
// "@every D" is the exception: it has no grid of its own, so each question says
// where the grid starts (the argument of Next, the after of Count and
// LastBetween).
//
// How it is computed:
//
//	parse.go     text to bit sets, the language of cronjob.md 3.1
//	compile.go   the same for that of timetable.md 3.1, with item.go, column.go and monthday.go
//	gregorian.go days and years of the calendar
//	dates.go     a set of days: first and last match, and how many, in bounded steps
//	calendar.go  the same for seconds, on a clock without zones
//	zone.go      a zone as a list of stretches with a constant offset from UTC; clock.go shows them to others
//	placement.go what a zone skips or shows twice
//	search.go    Next, Prev and LastBetween: the calendar's answer, stretch by stretch
//	count.go     Count: one subtraction on the wall clock, corrected at each change of offset
//
// No question walks tick by tick, so none depends on how many ticks there are,
// and none spins: an expression that names no date at all is known when it is
// parsed ([Schedule.Satisfiable]).
//
// The language of Parse is that of github.com/robfig/cron v3 (ParseStandard), which the
// Kubernetes CronJob controller uses. The instants are the same except where
// that library is at fault: it gives up after five years (29 February across
// 2100), is off by the shift in zones that move by half an hour, starts late on
// days without a midnight, never returns from a day that a zone skipped, and panics
// on a zone prefix without a blank.
package schedule
