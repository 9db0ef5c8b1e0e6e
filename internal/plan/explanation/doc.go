// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explanation explains a schedule to people: what it says in plain words, how often it runs, what happens when
// the clocks change, what in it surprises, and what becomes of its runs when something does not fit.
//
//	explanation.go Explanation: all that is told, and its JSON form
//	subject.go     what is explained: an expression, a CronJob or a Timetable
//	onwall.go      which of its times hang on the wall clock
//	schedules.go   its schedules, and what limits them, in words
//	frequency.go   how often it runs
//	clockchange.go the days on which the clocks change
//	changeday.go   what one of them does to the times of one schedule
//	surprises.go   the table of surprises; surprise_*.go has them by what they are about
//	policies.go    what becomes of runs, with policy_cronjob.go and policy_timetable.go
//	text.go        the text for people
//
// It decides nothing of its own: times come from the engine, policies from what an object says.
package explanation
