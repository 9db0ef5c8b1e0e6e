// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"slices"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// A Reason is a reason for which the condition Ready is False (timetable.md 4.1).
type Reason string

// The reasons, in the order in which the first that applies is told.
const (
	InvalidSchedule  = Reason(timeset.InvalidSchedule)
	UnknownTimeZone  = Reason(timeset.UnknownTimeZone)
	CalendarNotFound = Reason(timeset.CalendarNotFound)
	InvalidExclusion = Reason(timeset.InvalidExclusion)
	NeverFires       = Reason(timeset.NeverFires)
	AllExcluded      = Reason(timeset.AllExcluded)
	TooFrequent      = Reason(timeset.TooFrequent)
	InvalidParameter = Reason("InvalidParameter")
	InvalidTemplate  = Reason("InvalidTemplate")
	InvalidOutcome   = Reason("InvalidOutcome")
	KindNotFound     = Reason("KindNotFound")     // the API server does not serve the template's kind
	KindNotAllowed   = Reason("KindNotAllowed")   // no administrator has allowed it
	OwnerRemoved     = Reason("OwnerRemoved")     // something takes the owner reference off what is created
	TemplateRejected = Reason("TemplateRejected") // a dry run of the create was refused

	FormerKindNotWatched = Reason("FormerKindNotWatched") // a run of a kind that the template had before cannot be followed
	OutcomeTooExpensive  = Reason("OutcomeTooExpensive")  // an expression cannot be evaluated for a child, which never ends so
)

var reasons = []Reason{InvalidSchedule, UnknownTimeZone, CalendarNotFound, InvalidExclusion, NeverFires, AllExcluded, TooFrequent,
	InvalidParameter, InvalidTemplate, InvalidOutcome, KindNotFound, KindNotAllowed, OwnerRemoved, TemplateRejected, FormerKindNotWatched, OutcomeTooExpensive}

// Stops says what an obstacle keeps from starting.
type Stops uint8

// What an obstacle may stop.
const (
	StopsNothing   Stops = iota
	StopsScheduled       // scheduled times wait; retries and requests start
	StopsAll
)

// Stops says what this reason keeps from starting (timetable.md 4.1).
func (r Reason) Stops() Stops {
	switch r {
	case InvalidParameter, InvalidTemplate, InvalidOutcome, KindNotFound, KindNotAllowed, OwnerRemoved:
		return StopsAll
	case TemplateRejected, FormerKindNotWatched, OutcomeTooExpensive, "":
		return StopsNothing
	}
	return StopsScheduled
}

// An Obstacle says why a spec cannot be served, and what to write instead. It is the user's to mend, or an
// administrator's.
type Obstacle struct {
	Reason  Reason
	Message string
}

// Error implements error.
func (o *Obstacle) Error() string { return o.Message }

// FirstObstacle is the one of several that the condition Ready tells; nil if all are.
func FirstObstacle(obstacles ...*Obstacle) *Obstacle {
	var first *Obstacle
	for _, o := range obstacles {
		if o != nil && (first == nil || slices.Index(reasons, o.Reason) < slices.Index(reasons, first.Reason)) {
			first = o
		}
	}
	return first
}
