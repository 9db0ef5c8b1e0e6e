// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Result is what becomes of one object. Lists are in the order in which things happen.
type Result struct {
	// Object is the object as it was at the beginning.
	Object *workload.Scheduled
	// Span is what was simulated, and Outages are those in it, none of which touches another one.
	Span    Span
	Outages []Span
	// Runs are those that began, in the order of their starts; those that were active at the beginning come first.
	Runs []Run
	// NotStarted are the scheduled times that neither started nor will.
	NotStarted []NotStarted
	// Waiting are the scheduled times that wait at the end.
	Waiting []Waiting
	// Held are the scheduled times of which nothing is decided at the end, because nothing starts; nil if there are none.
	Held *Held
	// Retries are the attempts beyond the first of a run.
	Retries []Retry
	// Changes are what else changes how it goes: edits, and pauses that begin or end.
	Changes []Change
	// Hindrance is what keeps the version that the object has at the end from being served, "" if nothing does.
	Hindrance string
	// Decisions is how often it was decided.
	Decisions int
	// Limit is how long a run may take before it is failed, as its template says, 0 for any time. After an edit it is that
	// of the latest version.
	Limit time.Duration
	// LimitField is the field that says so: timeout, or activeDeadlineSeconds of the template.
	LimitField string
}

// Run is a scheduled time that started. It is large in number, not in size.
type Run struct {
	// Scheduled is its time, Started when it began, and Ended when it was over; zero: it runs at the end of the span.
	Scheduled, Started, Ended time.Time
	// Wait is how much later it began than it was to begin, and WaitedFor is what it waited for, "" if it did not wait.
	Wait      time.Duration
	WaitedFor cron.Reason
	// Outcome is how it ended, and Reason why, if it did not succeed.
	Outcome Outcome
	Reason  cron.Reason
	// Attempts is how many there were, and CatchUp whether it makes up for a time that was found late: after an
	// outage, or after a pause.
	Attempts int32
	CatchUp  bool
}

// Outcome is how a run ended.
type Outcome uint8

// The outcomes.
const (
	// Running: it has not ended.
	Running Outcome = iota
	// Succeeded: it ended well.
	Succeeded
	// Failed: it failed, and so did all its attempts.
	Failed
	// Stopped: the controller stopped it for a later one.
	Stopped
)

// String is the outcome as documents write it.
func (o Outcome) String() string {
	return [...]string{"running", "succeeded", "failed", "replaced"}[o]
}

// NotStarted is one or more scheduled times that did not start, and why.
type NotStarted struct {
	// At is when that was decided, First and Last are the times, and Count is how many they are.
	At          time.Time
	First, Last time.Time
	Count       int
	// Again is how many times between them are told once more, by a process that cannot know that the one before the
	// outage had told of them. They are not in Count, which may be 0 for that.
	Again int
	// Missed: it should have started. Otherwise it was skipped, as the object asks.
	Missed bool
	Reason cron.Reason
	// WaitedFor is what it waited for, "" if it did not wait.
	WaitedFor cron.Reason
}

// Waiting is a scheduled time that waits.
type Waiting struct {
	Scheduled time.Time
	Reason    cron.Reason
}

// Held are scheduled times that passed while nothing could start, and of which nothing is decided before something can.
type Held struct {
	First, Last time.Time
	Count       int
	// Why says what keeps them from starting.
	Why string
}

// Retry is that an attempt of a run is repeated.
type Retry struct {
	// Scheduled is the time of the run, At when the attempt begins, and Attempt its number, from 2 on.
	Scheduled, At time.Time
	Attempt       int
}

// Change is something that changes how it goes.
type Change struct {
	At   time.Time
	Kind ChangeKind
	// Text says it in words: where an edit comes from, why nothing starts.
	Text string
}

// ChangeKind is what a change is.
type ChangeKind string

// The kinds of change.
const (
	// Edited: the object was replaced by another version.
	Edited ChangeKind = "edited"
	// Paused: scheduled times do not start any more. Resumed: they do again.
	Paused  ChangeKind = "paused"
	Resumed ChangeKind = "resumed"
	// Hindered: the object cannot be served, or its children cannot be made.
	Hindered ChangeKind = "hindered"
)
