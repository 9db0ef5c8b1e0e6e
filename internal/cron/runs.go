// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// adoptedRun is the run of a child that an earlier sync started and could not record.
func adoptedRun(in *Input, c Child) ActiveRun {
	t, _ := proof(in, c)
	run := runOf(c, t.UTC(), cmp.Or(c.Trigger, triggerOf(t, c.Created)))
	run.Stopping = in.seenStopping(run)
	return run
}

// child is what is known of the newest child of a run that is no child any more, or not yet.
func (r ActiveRun) child(in *Input) Child {
	c := Child{Namespace: in.Owner.Namespace, Name: r.Name, UID: r.UID, Created: r.Started, Attempt: r.Attempt}
	if !r.Time.IsZero() {
		c.Stamp = stamp(in, r.Time)
	}
	return c
}

// end enters the outcome of a run that has ended, where the status holds outcomes: that of its child, or, when nobody
// saw how that ended, that it was cancelled (timetable.md 3.6, 3.9). A run without a scheduled time has none; one with
// another attempt to come goes on, and so does one whose next attempt an earlier sync has started that could not record
// it, whatever the policy says now.
func (o *observedStatus) end(in *Input, all []Child, run ActiveRun, child *Child) {
	if !in.Traits.Durable.Has(PartResults) || run.Time.IsZero() {
		return
	}
	now := in.Now.UTC()
	ended := RunOutcome{Result: Cancelled, Reason: RunDeleted, Count: 1, First: run.Time, Last: run.Time, Trigger: run.Trigger,
		Run: run.Name, Attempts: run.Attempt, Ended: &now}
	if !run.Started.IsZero() {
		ended.Started, ended.LastStarted = firstStart(in, all, run), &run.Started
	}
	switch {
	case child != nil && child.Succeeded:
		ended.Result, ended.Reason = Succeeded, ""
	case nextAttempt(in, all, run.Time, run.Attempt) != nil:
		o.keepsRetry(in, all, run)
		return
	case run.Stopping == "" && child != nil && child.FailedByStop: // cancelled: no sync saw it go while it ran
	case run.Stopping != "" && run.Stopping != RunTimeout:
		ended.Reason = run.Stopping
	case (child != nil || run.Stopping == RunTimeout) && in.retries(run):
		if run = in.latestAttempt(all, in.retryOf(run, child)); o.keeps(in, all, run) {
			o.status.Active = append(o.status.Active, run)
		}
		return
	case run.Stopping == RunTimeout, child != nil && child.TimedOut:
		ended.Result, ended.Reason = RunFailed, RunTimeout
	case child != nil:
		ended.Result, ended.Reason = RunFailed, RunChildFailed
	}
	if child != nil && child.Finished != nil {
		ended.Ended = child.Finished
	}
	o.ended = append(o.ended, ended)
}

// firstStart is when the run began: the creation of the first of its children that are there.
func firstStart(in *Input, all []Child, run ActiveRun) *time.Time {
	first := run.Started
	if run.Attempt <= 1 {
		return &first
	}
	for _, c := range all {
		if t, ok := proof(in, c); ok && t.Equal(run.Time) && !c.Created.IsZero() && c.Created.Before(first) {
			first = c.Created
		}
	}
	return &first
}

// markDeleted notes the runs whose child somebody is deleting before its end, so that they count as cancelled however
// it ends by that: to be ended by a signal is a failure for most (timetable.md 3.9). What this controller stops has its
// own cause, also where an earlier sync could not record it.
func (s *syncState) markDeleted() {
	in := s.in
	if !in.Traits.Durable.Has(PartResults) {
		return
	}
	for i := range s.children {
		c := &s.children[i]
		overdue := in.Policy.Timeout > 0 && !c.OwnDeadline && !in.Now.Before(c.Created.Add(in.Policy.Timeout))
		if c.Stopped && !c.Phase.finished() && !overdue {
			s.status.Active = markStopping(s.status.Active, c.UID, RunDeleted)
		}
	}
}

// markStopping notes why a run is being stopped; the cause that was noted first stays.
func markStopping(runs []ActiveRun, uid types.UID, why Reason) []ActiveRun {
	i := slices.IndexFunc(runs, func(r ActiveRun) bool { return r.UID == uid })
	if i < 0 || runs[i].Stopping != "" {
		return runs
	}
	runs = slices.Clone(runs)
	runs[i].Stopping = why
	return runs
}

// Results are the outcomes of the scheduled times so far. They are never modified.
type Results struct {
	// Counts are those of all of them since the first cursor.
	Counts Counts
	Last   LastResults
	// Ledger are the newest, first the newest (Policy.Ledger). Those of times that passed one after the other without a
	// run and for one reason share an entry.
	Ledger []RunOutcome
}

// Counts are how many scheduled times had which outcome.
type Counts struct{ Started, Succeeded, Failed, Cancelled, Skipped, Missed int64 }

func (c *Counts) add(o RunOutcome) {
	n := int64(o.Count)
	switch o.Result {
	case Started:
		c.Started += n
	case Succeeded:
		c.Succeeded += n
	case RunFailed:
		c.Failed += n
	case Cancelled:
		c.Cancelled += n
	case Skipped:
		c.Skipped += n
	case Missed:
		c.Missed += n
	}
}

// with adds the outcomes of a sync: all of them to the counts, and those that are final to the ledger, which has limit
// entries at most. They are added at that instant. nothingBetween tells whether no scheduled time lies between two, as far
// as is known. It is r itself if that changes nothing.
func (r *Results) with(outcomes []RunOutcome, at time.Time, nothingBetween func(a, b time.Time) bool, limit int) *Results {
	var now Results
	if r != nil {
		now = *r
	}
	if len(outcomes) == 0 && len(now.Ledger) <= limit {
		return r
	}
	final := make([]RunOutcome, 0, len(outcomes))
	for _, o := range outcomes {
		now.Counts.add(o)
		now.Last.add(o, at)
		if o.Result != Started { // that is active until it has ended
			final = append(final, o)
		}
	}
	if len(final) == 0 && len(now.Ledger) <= limit {
		return &now
	}
	ledger := slices.Clone(now.Ledger)
	slices.Reverse(ledger)
	for _, o := range final {
		if last := len(ledger) - 1; last >= 0 && ledger[last].continues(o, nothingBetween) {
			ledger[last].Count += o.Count
			ledger[last].Last = o.Last
			continue
		}
		ledger = append(ledger, o)
	}
	now.Ledger = ledger[max(0, len(ledger)-limit):]
	slices.Reverse(now.Ledger)
	return &now
}

// continues tells whether o goes into the entry of e: both are about times without a run, and there is no other time
// between them.
func (e RunOutcome) continues(o RunOutcome, nothingBetween func(a, b time.Time) bool) bool {
	return e.Result == o.Result && e.Reason == o.Reason && (e.Result == Skipped || e.Result == Missed) &&
		o.First.After(e.Last) && nothingBetween(e.Last, o.First)
}
