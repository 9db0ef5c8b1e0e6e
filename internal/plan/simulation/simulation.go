// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation carries the real decisions of package cron out on a virtual clock, with a model in the place of
// everything that runs: what would start, wait, be replaced, skipped or missed, and why.
//
//	simulation.go  Simulate, and what it is asked: a span, outages, edits, a model
//	result.go      what it answers: runs, times that did not start, what else happened
//	world.go       one object on the virtual clock: whatever comes next, one thing after the other
//	sync.go        one sync of the controller: decide, do, tell, decide again
//	children.go    the objects that syncs create and delete, and how they end
//	notes.go       what is noted of runs and of times that did not start
//	edit.go        another object takes the place of the one that is there
//	agenda.go      what will happen to children, first what comes first
//	model.go       how long runs take and whether they fail
//	fit.go         durations that are known by their quantiles
//	arithmetic.go  logarithm and exponential that give the same bits on every machine
//	random.go      chance, from a seed
//	summary.go     counts, the longest wait, the most at once
//	reasons.go     why something did not start, in words
//	durations.go   durations and probabilities as people write them, and instant.go instants
//
// The model has no cluster: creates and writes succeed at once, Pods find a node at once, nothing but the runs
// themselves fails. An outage is one of the controller, not of what runs. All else is the controllers' own decision.
package simulation

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Options say what is simulated.
type Options struct {
	// From and To are the span: what happens from From on and before To.
	From, To time.Time
	// KeepStatus: objects begin with the status that they have, and a controller that takes over from another one at
	// From. Otherwise they begin as if they had been created right before From.
	KeepStatus bool
	// Model is how runs go.
	Model Model
	// Outages are when no controller runs. They may overlap and come in any order.
	Outages []Span
	// Edits are when objects are replaced, in any order.
	Edits []Edit
	// Progress, if not nil, is told from time to time how far the clock of the object is that is being simulated. If it
	// returns false, the simulation ends there.
	Progress func(object *workload.Scheduled, now time.Time) bool
}

// Span is a span of time, without its end.
type Span struct{ From, To time.Time }

// Contains tells whether an instant lies in the span.
func (s Span) Contains(t time.Time) bool { return !t.Before(s.From) && t.Before(s.To) }

// Edit is that somebody applies another version of an object. An object is that of its kind, namespace and name.
type Edit struct {
	At     time.Time
	Object *workload.Scheduled
	// Source says where the version comes from, "" if that is not to be told.
	Source string
}

// Simulate tells what becomes of an object. It returns the same for the same arguments, on every machine; the edits of
// other objects are left aside. An object that cannot be served has a result without runs, which says why
// (workload.Scheduled.Hindrance).
func Simulate(object *workload.Scheduled, options Options) *Result {
	w := newWorld(object, options)
	w.run()
	return w.result
}

// Same tells whether two are versions of one object.
func Same(a, b *workload.Scheduled) bool {
	return a.Kind.Info().Owner == b.Kind.Info().Owner && a.Owner.Namespace == b.Owner.Namespace && a.Owner.Name == b.Owner.Name
}

// Merged are spans in their order, those that touch each other as one, without empty ones.
func Merged(spans []Span) (merged []Span) {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		switch last := len(merged) - 1; {
		case !s.To.After(s.From):
		case last >= 0 && !s.From.After(merged[last].To):
			if s.To.After(merged[last].To) {
				merged[last].To = s.To
			}
		default:
			merged = append(merged, s)
		}
	}
	return merged
}
