// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

// A Reason is why a timing cannot be served, in one word, for programs.
type Reason string

// In the order of their precedence.
const (
	InvalidSchedule  Reason = "InvalidSchedule"  // an item cannot be read, or there is none
	UnknownTimeZone  Reason = "UnknownTimeZone"  // the zone is not in the tz database
	CalendarNotFound Reason = "CalendarNotFound" // see MissingCalendar
	InvalidExclusion Reason = "InvalidExclusion" // a period cannot be read
	NeverFires       Reason = "NeverFires"       // an item names no date that exists
	AllExcluded      Reason = "AllExcluded"      // told by Set.Search, since it depends on where one looks from
	TooFrequent      Reason = "TooFrequent"      // two times of an item are closer than Spec.MinInterval
)

// An Obstacle says why a timing cannot be served, and what to write instead. Its text is
// one line, fit for a log or a message to a user.
type Obstacle struct {
	// Reason is the first that applies.
	Reason Reason
	// Message names the part at fault.
	Message string
}

func (o *Obstacle) Error() string { return o.Message }
