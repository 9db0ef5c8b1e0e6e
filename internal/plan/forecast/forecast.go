// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package forecast adds up what a whole fleet of CronJobs and Timetables will start, minute by minute, and what else
// its schedules could be.
//
//	forecast.go   Of: from objects to a Forecast
//	fleet.go      the objects that count, those that start at the same times together, and those that do not count
//	times.go      the instants at which one object starts
//	tally.go      the sums: starts of a minute, and runs that are active at once
//	running.go    how long the starts of one object keep how many runs active
//	durations.go  how long a run takes: measured, allowed or assumed
//	worst.go      the fullest minutes, and who makes them; minute.go names the objects of any minute
//	change.go     what other schedules would change: hash.go, jitter.go and move.go, with edit.go, which edits them
//	expression.go another minute in the text of a schedule
//	chart.go      the picture for a terminal, and svg.go the one for documents
//
// Objects with the same schedule are walked once, so that a hundred thousand take about as long as their different
// schedules do. Nothing here reads a file, a clock or an API server.
package forecast

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// MaxLength is the longest time that is forecast.
const MaxLength = 31 * 24 * time.Hour

// Options say what is forecast.
type Options struct {
	// From is the first instant that counts, on a whole minute.
	From time.Time
	// Length is how long, in whole minutes; at most MaxLength.
	Length time.Duration
	// Duration is how long a run takes of which nothing better is known; at least a second.
	Duration time.Duration
	// DeadlineAsDuration takes the deadline that an object sets for its runs before Duration.
	DeadlineAsDuration bool
	// Jitter is the jitter that is tried.
	Jitter time.Duration
	// Top is how many of the fullest minutes are told.
	Top int
	// Runs are runs of the past.
	Runs []Run
	// Progress, if not nil, is asked again and again. If it returns false, the forecast ends there.
	Progress func() bool
}

// A Forecast is what is to come.
type Forecast struct {
	// From is the first minute; Starts and Running have one number for each minute from then on.
	From time.Time
	// Starts are how many runs are planned to start in that minute.
	Starts []int64
	// Running are how many runs are active at once in that minute, at most.
	Running []int64
	// Objects tells what counts and what does not.
	Objects Objects
	// Durations tells how long runs take.
	Durations Durations
	// Worst are the fullest minutes, the fullest first.
	Worst []WorstMinute
	// Changes are other schedules that were tried, the most useful first. There are none where no minute has two
	// starts.
	Changes []Change

	fleet *fleet // for StartingAt
}

// Objects are how many objects count, and how many do not.
type Objects struct {
	// Counted are those whose starts count, and Idle those of them that never start in this time.
	Counted, Idle int
	// Suspended are those that start nothing because somebody or something said so.
	Suspended int
	// SuspendedUntil are those that count from the end of their suspension on.
	SuspendedUntil int
	// WithoutZone are the counted ones whose schedule names no time zone: UTC is taken for them.
	WithoutZone int
	// Unanchored are the counted ones with "@every" that have not started yet: they are taken to begin at From.
	Unanchored int
	// LeftOut are those that start nothing because something is wrong with them, in the order of their names.
	LeftOut []LeftOut
}

// LeftOut is an object that starts nothing.
type LeftOut struct {
	Object *workload.Scheduled
	// Why says it in one line.
	Why string
}

// A Summary is a forecast in a few numbers.
type Summary struct {
	// Total are all starts, Mean those of a minute on average, and Empty the minutes without any.
	Total int64
	Mean  float64
	Empty int
	// Starts is the fullest minute, Running the one with the most active runs.
	Starts, Running Peak
}

// A Peak is the first minute with the largest number.
type Peak struct {
	At     time.Time
	Number int64
}

// Of makes the forecast of objects. The same objects give the same forecast in whatever order they come.
// It is nil if Options.Progress has ended it.
func Of(objects []*workload.Scheduled, options Options) *Forecast {
	f := newFleet(objects, options)
	base := newTally(options)
	for _, g := range f.groups {
		if !f.goesOn() {
			return nil
		}
		base.addGroup(g, 1)
	}
	made := &Forecast{From: options.From, Starts: base.starts, Running: base.running(), Objects: f.objects, Durations: f.durations, fleet: f}
	for _, g := range f.groups {
		if g.idle {
			made.Objects.Idle += len(g.members)
		}
	}
	made.Worst = worst(f, made, options.Top)
	made.Changes = changes(f, base, made.Summary())
	if f.stopped {
		return nil
	}
	return made
}

// Summary gives the forecast in a few numbers.
func (f *Forecast) Summary() Summary {
	s := Summary{Starts: peakOf(f.From, f.Starts), Running: peakOf(f.From, f.Running)}
	for _, n := range f.Starts {
		s.Total += n
		if n == 0 {
			s.Empty++
		}
	}
	if len(f.Starts) > 0 {
		s.Mean = float64(s.Total) / float64(len(f.Starts))
	}
	return s
}

// Until is the end of the forecast: the first instant that does not count.
func (f *Forecast) Until() time.Time { return f.minute(len(f.Starts)) }

func (f *Forecast) minute(n int) time.Time { return f.From.Add(time.Duration(n) * time.Minute) }

func peakOf(from time.Time, numbers []int64) Peak {
	if len(numbers) == 0 {
		return Peak{At: from}
	}
	n := slices.Index(numbers, slices.Max(numbers))
	return Peak{At: from.Add(time.Duration(n) * time.Minute), Number: numbers[n]}
}
