// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// syncState is what is known in one sync. Decide fills in the fields in this order, each once; only status changes
// later.
type syncState struct {
	// in is &input: what reads it takes the pointer, since it is large. Nothing writes to it.
	in    *Input
	input Input
	// memory is all that was known when the sync began.
	memory   Memory
	edit     edit
	ready    readiness
	children []Child
	// observed is the status as the children show it.
	observed observedStatus
	// status is what is to be written: first the observed one, to which the start and the conditions are added.
	status Memory
	timing timing
	// past is nil where the status holds no cursor.
	past *pastTimes
	// proved are the scheduled times that children prove and nothing remembers; begun are these, and the new ones of which
	// nobody can tell whether they have started (Input.mayExist). chosen are those of the new ones that are
	// to start; due are all that have come and may start, in their order, and turnedAway those that may not any more.
	proved []time.Time
	begun  []time.Time
	// takenOut are those that wait or were next, and that an edit took out which no status has recorded yet.
	takenOut   []time.Time
	chosen     []time.Time
	turnedAway []missed
	// ahead are those that wait and are decided, but ahead of a clock that was set back: they start when they come again.
	ahead []WaitingTime
	// pruneAt is when a child that is kept now may have to go, zero if none will.
	pruneAt time.Time
	// retryAt is when the next attempt of a run is due, or one that runs has to have ended; zero if there is no such.
	retryAt  time.Time
	due      []dueTime
	start    startDecisions
	outcomes outcomes
	// ownerRemoved: a child of this sync came back without our owner reference. template is what is known of what the
	// template makes, and unjudged is one of which a dry run has told nothing.
	ownerRemoved bool
	template     TemplateCheck
	unjudged     unjudgedTemplate
	// served is the present timing as it is to be remembered: edit.now with the misses that outcomes report.
	served ServedTiming
}

// Decide says what the CronJob of in needs now. It is a pure function: the same input gives the same plan, and no input
// makes it panic. See the package comment for how a plan is carried out.
func Decide(in Input) Plan {
	if in.Traits == nil {
		in.Traits = &KindTraits{}
	}
	if in.Owner.Deleting && in.Traits.DeletedIsIgnored {
		return Plan{}
	}
	in.Now = in.Now.Round(0) // without the monotonic reading: later syncs compare with it by the wall clock
	s := &syncState{input: in}
	s.in = &s.input
	return s.decide()
}

// decide goes through the steps of a sync.
func (s *syncState) decide() Plan {
	in := s.in
	s.memory = in.remembered()
	s.edit = noticeEdit(in)
	s.ready = checkStart(in, &s.edit)

	if reads := ownerReads(in); len(reads) > 0 {
		return s.readFirst(reads)
	}
	if in.read.edited {
		return s.decideInNextSync()
	}
	s.children = children(in)
	if in.read.ownerErr != nil {
		return s.pruneOnly()
	}
	if reads := append(activeReads(in, s.children), unconfirmedReads(in)...); len(reads) > 0 {
		return s.readFirst(reads)
	}

	s.observed = observeStatus(in, &s.memory, s.children)
	s.status = s.observed.status
	if in.Traits.Durable.Has(PartCursor) {
		s.lookBack()
	} else if s.ready.mayStart {
		s.timing = timingOf(in, s.ready.times, &s.status, &s.edit)
		s.chosen = chooseTimes(in, s.ready.times, s.timing, &s.edit)
		s.due = s.limitWaiting(s.dueTimes())
	}
	if s.ready.mayStart && s.status.Pause().Cause == "" && s.observed.err == nil {
		s.decideStarts()
	}
	if s.observed.err == nil {
		s.startRetries()
		s.stopOverdue()
		s.markDeleted()
	}
	if len(s.start.reads) > 0 {
		return s.readFirst(s.start.reads)
	}
	s.nameOutcomes()
	if in.Traits.Durable.Has(PartCursor) {
		s.status.Cursor = s.outcomes.cursor
	}
	if in.Traits.Durable.Has(PartWaiting) {
		s.status.Waiting = s.outcomes.waiting
		if s.undecided() { // what waits and is not stored has come after the cursor, which stays
			s.status.Waiting = slices.DeleteFunc(slices.Clone(s.outcomes.waiting), func(w WaitingTime) bool { return !waits(in.Stored.Waiting, w.Time) })
		}
	}
	if in.Traits.Durable.Has(PartResults) {
		s.status.Results = s.status.Results.with(s.outcomes.named, in.Now, s.nothingBetween, in.Policy.Ledger)
	}
	s.served = s.edit.now.withMissed(s.outcomes.missedUpto)
	s.learnTemplate()
	check, checkAt := s.templateToCheck()
	s.status.Conditions = s.conditions()

	failed := errors.Join(s.observed.err, s.ready.err(), s.start.err)
	toWrite, pruned, recordErr := s.recordAndPrune(failed)
	p := Plan{
		Stop: s.start.stop, Starts: s.start.creates, CheckTemplate: check, StatusWrite: toWrite, Prune: untried(in, pruned),
		Events: s.events(pruned), Outcomes: s.outcomes.named,
		Misconfigured: cmp.Or(s.ready.misconfigured(), s.start.misconfigured), Err: errors.Join(failed, recordErr),
	}
	lasting, repeatAt := repeatLasting(in, p.Events)
	p.Carried = s.carried(lasting, p.Misconfigured)
	if in.Traits.Durable.Has(PartCursor) {
		p.Wake = s.nextStart()
	} else if s.ready.mayStart && s.start.result != startTooManyMissed {
		p.Wake = wake(in, s.ready.times, &s.status, &s.edit)
	}
	for _, t := range []time.Time{retryPruneAt(in, pruned), repeatAt, s.outcomes.wake, s.lateAt(), s.pruneAt, s.retryAt, s.readTakenAwayAt(), s.provedLaterAt(), checkAt} {
		p.Wake = earlier(p.Wake, t)
	}
	return p
}

// readFirst is the plan when something has to be read before anything can be said. It has a Wake, although it will be
// decided again: should the shell give the sync up instead, the next scheduled time must not wait for the back-off.
func (s *syncState) readFirst(reads []ReadRequest) Plan {
	return Plan{Read: reads, Carried: s.in.Carried, Wake: s.wakeAnyhow(), Misconfigured: s.in.Carried.inProcess().misconfigured}
}

// minRequeue is the least time between two syncs.
const minRequeue = time.Millisecond

// decideInNextSync is the plan when a live read of this sync showed that the timing was changed, perhaps later than
// Now. The next sync begins after that read, so that its Now is no earlier than the edit.
func (s *syncState) decideInNextSync() Plan {
	return Plan{Carried: s.in.Carried, Wake: s.in.Now.Add(minRequeue).UTC(), Misconfigured: s.in.Carried.inProcess().misconfigured}
}

// pruneOnly is the plan when the live CronJob could not be read: nothing is known well enough to start or record, but
// cleaning up goes on (cronjob.md R23), and the next scheduled time that the cache knows of does not wait for the
// back-off.
func (s *syncState) pruneOnly() Plan {
	all, _ := beyondHistoryLimits(s.in, s.children)
	deletions := s.safeWithoutRecord(&s.in.Stored, all, true)
	return Plan{
		Prune:   untried(s.in, deletions),
		Events:  withReason(pruneEvents(s.in, deletions)),
		Err:     fmt.Errorf("reading the live CronJob: %w", s.in.read.ownerErr),
		Carried: s.carriedUndecided(),
		Wake:    earlier(s.wakeAnyhow(), retryPruneAt(s.in, deletions)),

		Misconfigured: s.in.Carried.inProcess().misconfigured,
	}
}

// wakeAnyhow is the next scheduled time as far as it can be told from what is known already.
func (s *syncState) wakeAnyhow() time.Time {
	if !s.ready.mayStart {
		return time.Time{}
	}
	return wake(s.in, s.ready.times, &s.in.Stored, &s.edit)
}

// events are what is to be reported of the sync, in the order in which it happens.
func (s *syncState) events(pruned []Deletion) []Event {
	in := s.in
	var events []Event
	if in.done.record == nil || in.done.record.err == nil { // else the sync that records it reports it
		events = append(s.completions(pruned), s.observed.events...)
	}
	events = append(append(append(events, s.started(true)...), s.runEvents()...), s.childRemarks()...)
	if r := in.Stored.Timing.Unreadable; r != nil {
		events = append(events, r.Event.event(r.Key, "%s", r.Message))
	}
	events = append(events, s.ready.events...)
	events = append(append(append(events, s.missed()...), s.skipped()...), s.start.events...)
	events = append(events, s.started(false)...)
	events = append(append(events, s.conditionEvents()...), s.pauseEvents()...)
	if s.clockWentBack() && !s.resultsUnwritten() {
		events = append(events, clockWentBack(in))
	}
	return withReason(append(events, pruneEvents(in, pruned)...))
}

// completions reports the children that have left the active list. Some kinds leave it out when the child is pruned
// in the same sync (cronjob.md 2.1.2 note 3).
func (s *syncState) completions(pruned []Deletion) []Event {
	var events []Event
	for _, c := range s.observed.completed {
		goes := slices.ContainsFunc(pruned, func(d Deletion) bool { return d.UID == c.UID && s.in.done.pruned[d.UID] == nil })
		if !goes || !s.in.Traits.PruneSilencesCompletion {
			events = append(events, completed(s.in, c))
		}
	}
	return events
}

// withReason drops the events for which the kind has no reason: it does not have them.
func withReason(events []Event) []Event {
	return slices.DeleteFunc(events, func(e Event) bool { return e.Reason == "" })
}

// earlier is the earlier of two wake-ups; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
