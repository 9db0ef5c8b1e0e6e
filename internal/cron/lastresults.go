// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// LastResults are what the newest outcomes were. Nil: there was none.
type LastResults struct {
	// SuccessScheduled is the latest scheduled time whose run succeeded, and Failure when the newest run ended that
	// failed.
	SuccessScheduled, Failure *time.Time
	// Missed is the latest scheduled time that was missed, and MissRecorded when that was found.
	Missed, MissRecorded *time.Time
	// Failures is how many runs failed since the last success; Replaced is how many results in a row are that a run was
	// stopped for a later one.
	Failures, Replaced int
}

// add enters an outcome that a sync at that instant names.
func (l *LastResults) add(o RunOutcome, at time.Time) {
	switch o.Result {
	case Succeeded:
		l.SuccessScheduled = later(l.SuccessScheduled, o.Last)
		l.Failures, l.Replaced = 0, 0
	case RunFailed:
		if o.Ended != nil {
			l.Failure = later(l.Failure, *o.Ended)
		}
		l.Failures++
		l.Replaced = 0
	case Cancelled:
		if o.Reason != RunReplaced {
			l.Replaced = 0
			return
		}
		l.Replaced++
	case Missed:
		if l.Missed == nil || o.Last.After(*l.Missed) {
			at = at.UTC()
			l.Missed, l.MissRecorded = new(o.Last), &at
		}
	}
}
