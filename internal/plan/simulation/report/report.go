// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report writes what a simulation has found: for people, for programs, and as a picture.
//
//	report.go    Report: results together with what was assumed
//	text.go      the whole text of one object
//	lanes.go     its time line: a line of runs, a line of what went otherwise
//	axis.go      instants as columns, and which of them are labelled
//	happened.go  everything that happened, in order, with what is alike taken together
//	words.go     instants, durations and counts in words
//	document.go  the JSON document
//	svg.go       the picture
//
// It is deterministic: no clock, no zone but those of the objects, no map whose order shows.
package report

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// Report is what was simulated.
type Report struct {
	// Results are those of the objects, in their order; all have the same span.
	Results []*simulation.Result
	// Model is what was assumed of runs.
	Model simulation.Model
	// FromStatus: objects began with the status that they had.
	FromStatus bool
	// AllEvents: nothing is left out of the list of what happened.
	AllEvents bool
	// Width is how many columns a line of text has; less than 60 count as 60.
	Width int
}

func (r *Report) width() int { return max(60, r.Width) }

// zoneOf is the zone in which the times of an object are written.
func zoneOf(r *simulation.Result) *time.Location {
	if zone := r.Object.Policy.Timing.Zone; zone != nil {
		return zone
	}
	return time.UTC
}
