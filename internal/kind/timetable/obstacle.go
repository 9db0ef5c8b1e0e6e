// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

// A Reason is a reason of the condition Ready (timetable.md 4.1).
type Reason string

// The reasons that a template gives. Those of the timing are in package timeset.
const (
	InvalidParameter Reason = "InvalidParameter"
	InvalidTemplate  Reason = "InvalidTemplate"
	InvalidOutcome   Reason = "InvalidOutcome"
)

// An Obstacle says why a spec cannot be served, and what to write instead. It is the user's to mend.
type Obstacle struct {
	Reason  Reason
	Message string
}

// Error implements error.
func (o *Obstacle) Error() string { return o.Message }
