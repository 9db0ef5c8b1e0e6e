// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule reads cron expressions and answers which instants they name: the next one, the one before, the last
// one of a span, and how many there are, without walking from one to the other. It needs the standard library only.
//
//	nightly, err := schedule.Parse("30 2 * * 1-5", berlin)
//	next := nightly.Next(time.Now())
//	missed := nightly.Count(lastRun, time.Now())
//
// A [Schedule] is a set of instants, called ticks. It runs nothing and reads no clock: the time is always an argument,
// so that what depends on it can be tested. Running functions takes a timer and a loop (see the package example).
//
// # Two languages
//
// [Parse] reads the cron of Kubernetes: minute, hour, day of month, month and day of week; descriptors such as
// "@daily"; "@every 90m"; and a time zone in front, as in "CRON_TZ=Asia/Tokyo 0 6 * * *". It takes what ParseStandard
// of github.com/robfig/cron/v3 takes, so that a program may change from one to the other.
//
// [Compile] reads an extended language, for what five fields cannot say:
//
//	0 9 * * MON-FRI       as above; 7 is Sunday, too
//	0 22-2 * * *          ranges may wrap: 22, 23, 0, 1, 2
//	0 18 L * *            the last day of the month; L-3 is three days before it
//	0 18 LW * *           the last day from Monday to Friday; 15W is the one nearest to the 15th
//	0 9 * * TUE#2         the second Tuesday of the month; FRIL is the last Friday
//	H H(0-5) * * *        hashed values, chosen by Options.Hash: they spread many schedules over the time
//	30 0 9 * * *          six fields begin with the second
//	0 0 9 1 1 * 2030/5    seven end with the year, 1970 to 2199
//
// It refuses what Parse takes by accident, a zone in front and "@every". Both languages keep the rule of cron for the
// two day fields: if neither is a star ("*/2" is none), a day that matches one of them counts. [DayRuleBoth] changes
// that in the extended language.
//
// Package timeset, below this one, makes one set of several schedules, and adds exclusions, a window and fixed dates.
//
// # When the clock changes
//
// A tick is an instant at which a wall clock in the schedule's zone shows a second that matches all fields; that is
// second 0 of a minute where there is no field for seconds. All that [Parse] does about daylight saving follows: a wall
// time that the clock skips in spring names no instant, and one that it shows twice in autumn names two.
//
// [Compile] asks for a policy, [DST], for schedules that name hours, such as "30 2 * * *". Without one, 02:30 on the
// day that has none is the first instant after the gap, and of two instants at which the clock shows 02:30 the earlier
// counts. Schedules whose hours begin with a star, such as "*/15 * * * *", flow with the clock: each instant that
// matches counts.
//
// "@every D" is the exception from all this: it has no grid of its own, so each question says where the grid starts
// (the argument of Next, the after of Count, LastBetween and Between).
//
// # Errors, and schedules that never fire
//
// An error is a [*ParseError]: it names the field and the text at fault, and what to write instead. "0 0 30 2 *" is no
// error; it names no date, which [Schedule.Satisfiable] tells, and its Next is the zero time. No question has a
// horizon: the tick after 29 February 2096 is that of 2104. None takes longer for many ticks than for few, and none
// spins.
//
// # How it is computed
//
//	parse.go     text to bit sets: the language of Parse
//	compile.go   the extended language, with item.go, column.go and monthday.go
//	gregorian.go days and years of the calendar
//	dates.go     a set of days: first and last match, and how many, in bounded steps
//	calendar.go  the same for seconds, on a clock without zones
//	zone.go      a zone as a list of stretches with a constant offset from UTC; clock.go shows them to others
//	placement.go what a zone skips or shows twice
//	search.go    Next, Prev and LastBetween: the calendar's answer, stretch by stretch
//	count.go     Count: one subtraction on the wall clock, corrected at each change of offset
//
// The instants are those of github.com/robfig/cron/v3 except where that library is at fault: it gives up after five
// years, is off by the shift in zones that move by half an hour, passes over days without a midnight, never returns
// from a day that a zone skipped, and panics on a zone prefix without a blank. Tests compare the two on random
// expressions.
package schedule
