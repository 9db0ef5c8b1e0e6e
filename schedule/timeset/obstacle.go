// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

// A Reason is why a timing cannot be served: a reason of the condition Ready
// (timetable.md 4.1).
type Reason string

// In the order of their precedence.
const (
	InvalidSchedule  Reason = "InvalidSchedule"
	UnknownTimeZone  Reason = "UnknownTimeZone"
	CalendarNotFound Reason = "CalendarNotFound"
	InvalidExclusion Reason = "InvalidExclusion"
	NeverFires       Reason = "NeverFires"
	AllExcluded      Reason = "AllExcluded" // told by Set.Search, since it depends on where one looks from
	TooFrequent      Reason = "TooFrequent"
)

// An Obstacle says why a timing cannot be served, and what to write instead. Its text is
// one line, fit for a condition.
type Obstacle struct {
	// Reason is the first that applies.
	Reason Reason
	// Message names the part at fault.
	Message string
}

func (o *Obstacle) Error() string { return o.Message }
