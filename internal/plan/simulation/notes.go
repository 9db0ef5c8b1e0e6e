// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
)

// begun notes that an attempt of a run has begun.
func (w *world) begun(start cron.Start) {
	if start.Attempt > 1 {
		w.result.Retries = append(w.result.Retries, Retry{Scheduled: start.Time.UTC(), At: w.now.UTC(), Attempt: start.Attempt})
		if i, known := w.open[start.Time.Unix()]; known {
			w.result.Runs[i].Attempts = int32(start.Attempt)
		}
		return
	}
	run := Run{Scheduled: start.Time.UTC(), Started: w.now.UTC(), Attempts: 1}
	run.Wait = max(0, w.now.Sub(w.planned(start.Time)))
	i := slices.IndexFunc(w.waiting, func(t Waiting) bool { return t.Scheduled.Equal(start.Time) })
	if i >= 0 {
		run.WaitedFor = w.waiting[i].Reason
	}
	// Where no status tells why a time is late, it is that it waited.
	run.CatchUp = start.Trigger == cron.TriggerCatchUp && (i < 0 || w.traits.Durable.Has(cron.PartWaiting))
	w.open[start.Time.Unix()] = len(w.result.Runs)
	w.result.Runs = append(w.result.Runs, run)
}

// planned is when a scheduled time is to start: with jitter that is later.
func (w *world) planned(t time.Time) time.Time {
	if late, ok := w.policy.Timing.Times.(interface{ PlannedStart(time.Time) time.Time }); ok {
		return late.PlannedStart(t)
	}
	return t
}

// ended notes that a run has ended.
func (w *world) ended(scheduled, at time.Time, outcome Outcome, reason cron.Reason) {
	i, known := w.open[scheduled.Unix()]
	if !known {
		return
	}
	delete(w.open, scheduled.Unix())
	run := &w.result.Runs[i]
	run.Ended, run.Outcome, run.Reason = at.UTC(), outcome, reason
}

// note enters what a sync has said of scheduled times and runs.
func (w *world) note(outcomes []cron.RunOutcome) {
	for _, o := range outcomes {
		ended := w.now
		if o.Ended != nil {
			ended = *o.Ended
		}
		switch o.Result {
		case cron.Succeeded:
			w.ended(o.First, ended, Succeeded, "")
		case cron.RunFailed:
			w.ended(o.First, ended, Failed, o.Reason)
		case cron.Cancelled:
			w.ended(o.First, ended, Stopped, o.Reason)
		case cron.Skipped, cron.Missed:
			w.result.NotStarted = append(w.result.NotStarted, w.onlyNew(NotStarted{At: w.now.UTC(), First: o.First.UTC(), Last: o.Last.UTC(), Count: o.Count,
				Missed: o.Result == cron.Missed, Reason: o.Reason, WaitedFor: o.WaitedFor}))
		}
	}
}

// onlyNew takes out of n the times that were told before. Where the status holds no outcomes, a process that is new
// tells again what it finds between the last start and now.
func (w *world) onlyNew(n NotStarted) NotStarted {
	times := w.policy.Timing.Times
	if w.traits.Durable.Has(cron.PartResults) || times == nil {
		return n
	}
	if told := w.told; !n.First.After(told) {
		n.Again = min(n.Count, times.Count(n.First.Add(-time.Nanosecond), ordering.Earlier(told, n.Last)))
		if n.Count -= n.Again; n.Count > 0 && n.Again > 0 {
			n.First = times.Next(told).UTC()
		}
	}
	w.told = ordering.Later(w.told, n.Last)
	return n
}

// noteWaiting keeps which times wait.
func (w *world) noteWaiting() {
	from := w.carried.Waiting
	if w.traits.Durable.Has(cron.PartWaiting) {
		from = w.stored.Waiting
	}
	w.waiting = nil
	for _, t := range from {
		w.waiting = append(w.waiting, Waiting{Scheduled: t.Time.UTC(), Reason: t.Reason})
	}
}

// notePause enters when scheduled times cease to start, and when they start again.
func (w *world) notePause() {
	why := ""
	switch {
	case w.policy.Suspend:
		why = pauseWords[cron.PauseSuspended]
	case w.traits.Durable.Has(cron.PartGates):
		why = pauseWords[w.stored.Pause().Cause]
	}
	switch why {
	case w.pause:
		return
	case "":
		w.change(Resumed, "scheduled times start again")
	default:
		w.change(Paused, why)
	}
	w.pause = why
}

// noteExcluded enters the times that are taken out and that the next sync would tell of: none is made for them alone.
func (w *world) noteExcluded() {
	excluded, cursor := w.policy.Timing.Excluded, w.stored.Cursor
	if excluded == nil || cursor == nil {
		return
	}
	last := w.options.To.Add(-time.Nanosecond)
	if n := excluded.Count(*cursor, last); n > 0 {
		w.result.NotStarted = append(w.result.NotStarted, NotStarted{At: w.options.To.UTC(), First: excluded.Next(*cursor).UTC(),
			Last: excluded.LastBetween(*cursor, last).UTC(), Count: n, Reason: cron.NotStartedExcluded})
	}
}

// held are the scheduled times that nobody has decided about when the span ends, nil if something would start.
func (w *world) held() *Held {
	why := cmp.Or(w.pause, w.hindrance)
	if w.down {
		why = "no controller runs until the end"
	}
	times, decided := w.policy.Timing.Times, w.owner.Created
	if why == "" || times == nil || w.policy.Timing.Every != 0 {
		return nil
	}
	for _, at := range []*time.Time{w.stored.Cursor, w.stored.LastSchedule} {
		if at != nil {
			decided = ordering.Later(decided, *at)
		}
	}
	for i := range w.result.NotStarted {
		decided = ordering.Later(decided, w.result.NotStarted[i].Last)
	}
	for _, t := range w.waiting {
		decided = ordering.Later(decided, t.Scheduled)
	}
	last := w.options.To.Add(-time.Nanosecond)
	n := times.Count(decided, last)
	if n == 0 {
		return nil
	}
	return &Held{First: times.Next(decided).UTC(), Last: times.LastBetween(decided, last).UTC(), Count: n, Why: why}
}

// pauseWords are the causes of a pause in words.
var pauseWords = map[cron.PauseCause]string{
	cron.PauseSuspended:      "suspended, until suspend is false again",
	cron.PauseSuspendedUntil: "suspended until spec.suspendUntil",
	cron.PauseFailures:       "too many runs have failed in a row (pauseAfterFailures); another value of the annotation carillon.dev/resume ends that",
}

// hinder enters what keeps runs from being made, once.
func (w *world) hinder(why string) {
	if w.hindrance != why {
		w.change(Hindered, why)
	}
	w.hindrance = why
}

func (w *world) change(kind ChangeKind, text string) {
	w.result.Changes = append(w.result.Changes, Change{At: ordering.Later(w.now, w.options.From).UTC(), Kind: kind, Text: text})
}
