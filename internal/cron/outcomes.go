// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// RunOutcome says what became of scheduled times. Each scheduled time has one outcome for the life of a process,
// however many syncs meet it: a time that Forbid holds up has none until it starts late, or until another one takes its
// place.
type RunOutcome struct {
	Result Result
	Reason Reason
	// Count is how many scheduled times it is, at least one; First and Last are the first and the last of them.
	Count       int
	First, Last time.Time

	// WaitedFor is what a time waited for that did not start, "" if it did not wait.
	WaitedFor Reason

	// What follows is known of a run that has ended, where the status holds outcomes (PartResults).

	// Trigger is what made the run, Run the name of its newest child, and Attempts how many it had.
	Trigger  Trigger
	Run      string
	Attempts int
	// Started is when the first child was created that was still there at the end, LastStarted when the newest one was, and
	// Ended when that ended, or was found to be gone. A status holds no LastStarted.
	Started, LastStarted, Ended *time.Time
}

// Result is the outcome in one word.
type Result string

const (
	// Started: its child was created.
	Started Result = "started"
	// Skipped: it did not start, by what the user asked for.
	Skipped Result = "skipped"
	// Missed: it should have started, and did not.
	Missed Result = "missed"
	// Succeeded, RunFailed and Cancelled are how runs end, where the status holds outcomes.
	Succeeded Result = "succeeded"
	RunFailed Result = "failed"
	Cancelled Result = "cancelled"
)

// Reason says why a scheduled time did not start, or a run did not succeed; "" for one that did.
type Reason string

const (
	// NotStartedForbidden (skipped): a child was unfinished and concurrencyPolicy is Forbid.
	NotStartedForbidden Reason = "forbidden"
	// NotStartedSuspended (skipped): the CronJob was suspended at that time.
	NotStartedSuspended Reason = "suspended"
	// RunChildFailed (failed): the last child of the run has failed.
	RunChildFailed Reason = "run_failed"
	// RunTimeout (failed): the last child of the run had not ended in time, and was stopped.
	RunTimeout Reason = "timeout"
	// RunReplaced (cancelled): the run was stopped for a later one.
	RunReplaced Reason = "replaced"
	// RunDeleted (cancelled): its child was deleted by someone, or vanished unseen.
	RunDeleted Reason = "deleted"
	// NotStartedPaused (skipped): too many runs had failed in a row.
	NotStartedPaused Reason = "paused"
	// NotStartedExcluded (skipped): the user took it out.
	NotStartedExcluded Reason = "excluded"
	// NotStartedNotReady (missed): something was wrong with the object, and a newer one took its place.
	NotStartedNotReady Reason = "not_ready"
	// NotStartedStopping (skipped): a child was being stopped for it.
	NotStartedStopping Reason = "stopping"
	// NotStartedSuperseded (skipped): it waited for room, and a newer one took its place.
	NotStartedSuperseded Reason = "superseded"
	// NotStartedQueueFull (skipped): it found no place in the queue.
	NotStartedQueueFull Reason = "queue_full"
	// NotStartedEdited (skipped): the timing was changed before it could start, or names it too late.
	NotStartedEdited Reason = "edited"
	// NotStartedCatchUpLimit (missed): nobody looked, and more of them were found than may be made up for.
	NotStartedCatchUpLimit Reason = "catch_up_limit"
	// NotStartedSharedName (skipped): its child would have the name of an earlier one's (cronjob.md B7).
	NotStartedSharedName Reason = "shared_name"
	// NotStartedOutage (missed): nobody looked between it and the next one, which starts in its place.
	NotStartedOutage Reason = "outage"
	// NotStartedDeadline (missed): it was found too late for spec.startingDeadlineSeconds.
	NotStartedDeadline Reason = "deadline"
	// NotStartedFailed (missed): the API refused or failed what the start needed, until its time was over.
	NotStartedFailed Reason = "failed"
	// NotStartedForeign (missed): an object of someone else held its child's name.
	NotStartedForeign Reason = "foreign"
	// NotStartedTooMany (missed): the kind starts nothing after more than 100 missed times.
	NotStartedTooMany Reason = "too_many"
	// NotStartedEdit (missed): the schedule was changed before it could start, or at a time that nothing tells exactly.
	NotStartedEdit Reason = "edit"
)

// NotStartedReasons are all values of Reason that kinds K, V and T have.
var NotStartedReasons = []Reason{NotStartedForbidden, NotStartedSuspended, NotStartedSharedName, NotStartedOutage, NotStartedDeadline, NotStartedFailed, NotStartedForeign, NotStartedTooMany, NotStartedEdit}

// SkippedOrMissed is the outcome of times that did not start for this reason.
func (w Reason) SkippedOrMissed() Result {
	switch w {
	case NotStartedForbidden, NotStartedStopping, NotStartedSuperseded, NotStartedQueueFull, NotStartedEdited, NotStartedSuspended, NotStartedPaused, NotStartedExcluded,
		NotStartedSharedName:
		return Skipped
	default:
		return Missed
	}
}

// reasonIfNeverStarted is the reason that becomes final if the time never starts.
func (r startResult) reasonIfNeverStarted() Reason {
	switch r {
	case startForbidden:
		return NotStartedForbidden
	case startStopping:
		return NotStartedStopping
	case startNameForeign:
		return NotStartedForeign
	case startNotReady:
		return NotStartedNotReady
	case startTooManyMissed:
		return NotStartedTooMany
	default:
		return NotStartedFailed
	}
}

// outcomes are what a sync names.
type outcomes struct {
	// These are what the Memory is to have of these names. A process whose Memory has no cursor counts from what was
	// recorded: lastScheduleTime, or the creation.
	cursor     *time.Time
	waiting    []WaitingTime
	suspended  bool
	unreported []missed
	reportedAt *time.Time

	named []RunOutcome
	// reported are the misses that this sync reports, missedUpto is the last of them, and wake is when it is time for
	// those that it does not report yet.
	reported   []missed
	missedUpto time.Time
	wake       time.Time
}

// startFrom takes over what the Memory has.
func (o *outcomes) startFrom(m *Memory) {
	o.cursor, o.waiting = m.Cursor, m.Waiting
	if p := m.process; p != nil {
		o.suspended, o.unreported, o.reportedAt = p.suspended, p.unreported, p.reportedAt
	}
}

func (o *outcomes) enter(result Result, reason Reason, p passed) {
	if p.count <= 0 {
		return
	}
	o.named = append(o.named, RunOutcome{Result: result, Reason: reason, Count: p.count, First: p.first, Last: p.last})
	if result == Missed {
		o.miss(reason, p)
	}
}

func one(t time.Time) passed { return passed{count: 1, first: t, last: t} }

// tooLate tells whether this sync found scheduled times that are too old for the deadline.
func (o *outcomes) tooLate() bool {
	return slices.ContainsFunc(o.named, func(r RunOutcome) bool { return r.Reason == NotStartedDeadline })
}

// nameOutcomes names the outcomes of the scheduled times that have passed since the last sync. It is a function of the
// sync's input, so all plans of a sync that get to the same point name the same ones; the shell counts them once.
func (s *syncState) nameOutcomes() {
	if s.in.Traits.Durable.Has(PartCursor) {
		s.nameDecided()
		return
	}
	in, e, prev, o := s.in, &s.edit, &s.memory, &s.outcomes
	o.startFrom(prev)
	if in.Owner.Deleting {
		return
	}
	if w := prev.firstWaiting(); w != nil && !w.Time.After(e.since) { // the edit has cancelled it
		o.enter(w.Reason.SkippedOrMissed(), w.Reason, one(w.Time))
		o.waiting = nil
	}
	base, due, result := baseOf(in, &s.observed.status), s.timing.due, s.start.result
	if due.IsZero() && len(in.done.creates) > 0 { // its child was read, and the observed status has it already
		start := in.done.creates[0].start
		base, due, result = baseOf(in, &in.Stored), start.Time, in.createdOrAdopted(start.Name)
	}
	from := o.countsFrom(in, base, e)
	if !in.Policy.Suspend {
		s.passedByEdit(from)
	}
	if !s.ready.mayStart {
		o.suspended = prev.inProcess().suspended || in.Policy.Suspend
		o.reportMissed(in, s.children, noTimes{}, time.Time{}, true)
		return
	}
	o.suspended = false
	from = maxTime(from, e.since)

	o.settleWaiting(base, due, s.timing.earliest)
	times := s.ready.times
	if prev.Cursor == nil && base.After(from) {
		// Children prove later times than the status: the process that started them died before it could write or
		// report anything.
		if !finerThanNames(in) {
			o.enter(Missed, NotStartedOutage, passedIn(times, from, base, provedBetween(in, s.children, from, base)))
		}
		from = base
	}

	latest := due
	if due.IsZero() {
		latest = times.LastBetween(from, in.Now).UTC()
	}
	if latest.After(from) {
		s.passedOver(from, due, latest, result)
		o.cursor = new(latest)
	} else {
		o.cursor = new(from)
	}
	o.enterDue(prev, from, due, result)
	if !s.missesUnconfirmed() {
		o.reportMissed(in, s.children, times, due, e.fresh || o.over(result, baseOf(in, &s.observed.status)))
	}
}

// countsFrom is the instant up to which every scheduled time has been accounted for: in this process, or by what is
// recorded.
func (o *outcomes) countsFrom(in *Input, base time.Time, e *edit) time.Time {
	from := baseOf(in, &in.Stored)
	if o.cursor != nil {
		from = maxTime(base, *o.cursor)
	}
	if e.now.Missed != nil {
		o.missedUpto = *e.now.Missed
		from = maxTime(from, o.missedUpto)
	}
	return from
}

// passedByEdit names what an edit has passed over: times of the former schedule that nobody got to before it, and times
// of the present one that may be later than the edit.
func (s *syncState) passedByEdit(from time.Time) {
	in, e, o := s.in, &s.edit, &s.outcomes
	reason := NotStartedEdit
	if o.suspended {
		reason = NotStartedSuspended
	}
	var former Times
	if e.before != nil {
		former = e.before.Times
	}
	if e.fresh || e.now.Presumed && o.cursor == nil {
		o.enter(reason.SkippedOrMissed(), reason, passedByEdit(former, orNone(s.ready.times), from, e.after, e.since,
			provedBetween(in, s.children, from, e.since)))
	}
}

// enterDue names the outcome of the time that is due.
func (o *outcomes) enterDue(prev *Memory, from, due time.Time, result startResult) {
	was := prev.firstWaiting()
	waited := was != nil && was.Time.Equal(due)
	if due.IsZero() || !waited && !due.After(from) {
		return
	}
	switch result {
	case startCreated:
		o.enter(Started, "", one(due))
	case startAdopted:
		if waited { // a create of ours whose answer got lost had succeeded
			o.enter(Started, "", one(due))
		}
	case startNameUsed:
		o.enter(Skipped, NotStartedSharedName, one(due))
	default:
		o.waiting = []WaitingTime{{Time: due, Reason: result.reasonIfNeverStarted()}}
		return
	}
	o.waiting = nil
}

// over tells whether misses do not go on: something starts, or is there, perhaps since an earlier sync that did not
// know. When lastScheduleTime has moved past a miss, no other process would find it.
func (o *outcomes) over(result startResult, served time.Time) bool {
	return result == startCreated || result == startAdopted || result == startNameUsed ||
		slices.ContainsFunc(o.unreported, func(m missed) bool { return !m.last.After(served) })
}

// finerThanNames tells whether several scheduled times share one name.
func finerThanNames(in *Input) bool {
	every := in.Policy.Timing.Every
	return every != 0 && every < in.Traits.NameUnit
}

// settleWaiting names the outcome of the time that waits, once it is clear that it will not start any more.
func (o *outcomes) settleWaiting(base, due, earliest time.Time) {
	var w WaitingTime
	if len(o.waiting) > 0 {
		w = o.waiting[0]
	}
	switch {
	case w.Time.IsZero() || w.Time.Equal(due):
		return
	case w.Time.Equal(base): // it has started after all: our create whose answer got lost, or another process
		o.enter(Started, "", one(w.Time))
	case w.Time.Before(due), due.IsZero() && !w.Time.After(earliest):
		o.enter(w.Reason.SkippedOrMissed(), w.Reason, one(w.Time))
	default: // the clock was set back
		return
	}
	o.waiting = nil
}

// passedOver names the outcomes of the times in (from, latest] except for due.
func (s *syncState) passedOver(from, due, latest time.Time, result startResult) {
	in, times, o, prev, earliest := s.in, s.ready.times, &s.outcomes, &s.memory, s.timing.earliest
	until := latest
	if !due.IsZero() {
		until = due.Add(-time.Nanosecond)
	}
	n := times.Count(from, until)
	waits := result == startForbidden || result == startNotDue && in.forbids()
	switch {
	case n <= 0:
	case prev.inProcess().suspended:
		o.enter(Skipped, NotStartedSuspended, passedIn(times, from, until, nil))
	case due.IsZero():
		o.enter(Missed, NotStartedDeadline, passedIn(times, from, until, nil))
	case prev.Cursor == nil && waits:
		// A new process, and a child is in the way: so it may have been for long, and another process has reported that.
	case result == startTooManyMissed:
		o.enter(Missed, NotStartedTooMany, passedIn(times, from, until, nil))
	default:
		between := from
		if earliest.After(from) {
			between = earliest
			if until.Before(between) {
				between = until
			}
		}
		o.enter(Missed, NotStartedDeadline, passedIn(times, from, between, nil))
		o.enter(Missed, NotStartedOutage, passedIn(times, between, until, nil))
	}
}
