// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// explainByHistory says what follows from the runs that are kept: a run that would still be kept, and is not there, has
// not happened, unless somebody deleted it.
func (b *builder) explainByHistory(t time.Time) {
	successes, failures := b.newerThan(t)
	p := &b.Scheduled.Policy
	keepsSuccess, keepsFailure := kept(p.Succeeded.Limit, successes), kept(p.Failed.Limit, failures)
	if ttl, ok := b.ttl(); ok {
		b.show("spec.jobTemplate", time.Time{}, "ttlSecondsAfterFinished is %s: Jobs go that long after their end", duration.Short(ttl))
		if b.Now.Sub(t) > ttl {
			keepsSuccess, keepsFailure = false, false
		}
	}
	if p.Room.Stops {
		b.infer("With concurrencyPolicy Replace a run is deleted when the next time comes before its end: it may have run and have been replaced.")
		keepsSuccess, keepsFailure = false, false
	}
	if kept := b.kept(); len(kept) > 0 {
		b.describe(kept[0])
	}
	b.show("spec", time.Time{}, "history limits: %s", b.historyText())
	switch {
	case p.Room.Stops:
		b.conclude(CannotTell, "Forgotten", "it may have run and have been replaced, or not have started")
	case !keepsSuccess && !keepsFailure:
		b.conclude(CannotTell, "Forgotten", "its object would be gone by now, whether it ran or not")
	case !b.reachesBack(t):
		b.conclude(CannotTell, "Forgotten", "no older run is kept, so the history does not show whether its object was removed")
	case keepsSuccess && keepsFailure:
		b.conclude(Missed, "Unknown", "no run of it is there, and one would still be kept")
		b.inferred()
		b.infer("Whether it had succeeded or failed, its object would still be kept by the history limits: so it did not start, or somebody deleted its object.")
		b.infer("Why is not told by anything that is left: no controller may have worked then, it may have been suspended, or its create may have failed.")
		b.controllers()
	case keepsSuccess:
		b.conclude(CannotTell, "Forgotten", "it did not succeed: it failed, or did not start")
		b.infer("A success would still be kept. A failure would not: %s since, and that many are kept.", quantity.Count(failures, "run")+" failed")
	default:
		b.conclude(CannotTell, "Forgotten", "it did not fail: it succeeded, or did not start")
		b.infer("A failure would still be kept. A success would not: the history keeps %s that succeeded.", quantity.Count(int(*p.Succeeded.Limit), "run"))
	}
	if b.answer.Verdict == CannotTell && !p.Room.Stops {
		gone := "newer ones have taken its place in the history, or it never was"
		if keepsSuccess && keepsFailure {
			gone = "its object was removed, or it never was"
		}
		b.lack("the run of %s: %s", b.clock(t), gone)
		b.next("patch "+b.resource()+` --type=merge -p '{"spec":{"successfulJobsHistoryLimit":10,"failedJobsHistoryLimit":10}}'`, "to keep more runs from now on")
	}
}

// reachesBack tells whether a run is kept that is older than a time: then the history shows what was at that time.
func (e *Evidence) reachesBack(t time.Time) bool {
	for _, r := range e.kept() {
		if !r.ByHand && !r.ScheduledTime.IsZero() && r.ScheduledTime.Before(t) {
			return true
		}
	}
	return false
}

// kept tells whether a run is kept of which newer ones are there.
func kept(limit *int32, newer int) bool { return limit == nil || newer < int(*limit) }

// newerThan counts the runs that have ended and are for later times.
func (e *Evidence) newerThan(t time.Time) (successes, failures int) {
	for _, r := range e.kept() {
		switch {
		case r.ByHand && !r.Created.After(t), !r.ByHand && !r.ScheduledTime.After(t):
		case r.Phase == cron.Complete:
			successes++
		case r.Phase == cron.Failed:
			failures++
		}
	}
	return successes, failures
}

// ttl is how long Jobs are kept after their end whatever the history says; ok is false if nothing says so.
func (e *Evidence) ttl() (time.Duration, bool) {
	seconds, ok, err := unstructured.NestedFieldNoCopy(e.Scheduled.Content.Object, "spec", "jobTemplate", "spec", "ttlSecondsAfterFinished")
	n, number := seconds.(int64)
	if !ok || err != nil || !number || n < 0 || n > 1<<31 {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

func (b *builder) historyText() string {
	text := func(limit *int32, of string) string {
		if limit == nil {
			return "all that " + of
		}
		return quantity.Count(int(*limit), "run") + " that " + of
	}
	p := &b.Scheduled.Policy
	return text(p.Succeeded.Limit, "succeeded") + ", " + text(p.Failed.Limit, "failed")
}
