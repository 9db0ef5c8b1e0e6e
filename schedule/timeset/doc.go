// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timeset makes one set of times of several schedules: cron expressions, fixed distances and single dates, in
// one time zone, without holidays and other exclusions, inside a window.
//
//	set, err := timeset.Compile(timeset.Spec{
//		TimeZone: "Europe/Zurich",
//		Items:    []timeset.Item{{Name: "daily", Cron: "0 18 * * MON-FRI"}, {Name: "month", Cron: "0 23 L * *"}},
//		Exclude:  []timeset.Exclusion{{Period: "12-24/01-02"}},
//	})
//
// A [Set] is a pure function of its [Spec]. It answers the questions of package schedule ([Set.Next], [Set.Prev],
// [Set.LastBetween], [Set.Count]), says which schedules name a time ([Set.Names]), what the exclusions took out
// ([Set.Excluded]), and when runs start that are to be spread ([Set.PlannedStart]). Nothing here reads a clock or a
// file; lists of holidays that several sets share are a [Calendar], made once.
//
// It is the timing of a Timetable, a kind of object of Carillon; the texts are those that people write into it. What
// cannot be served is an [*Obstacle], which says what to write instead.
//
// How it is computed:
//
//	duration.go, moment.go, period.go   the texts that are no cron
//	source.go       the instants of one item: cron, every, at
//	weeks.go        EveryWeeks: which weeks are open
//	exclusions.go   Exclude: which days and hours are open
//	calendar.go     the exclusions that several sets share
//	mask.go         a source of which only open wall clock times count
//	union.go        several sources as one
//	set.go          the questions; jitter.go the offset of planned starts
//	item.go         the source of one schedule; place.go where a wall clock time lies
//	compile.go      from Spec (spec.go) to Set, or the Obstacle (obstacle.go) that keeps it from being one
//	fingerprint.go  what tells one timing from another
//
// No question about one schedule walks time by time: a search goes from exclusion to exclusion and a count adds what
// lies between them.
package timeset
