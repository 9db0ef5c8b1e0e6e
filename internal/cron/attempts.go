// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// An attempt that failed is repeated where the policy asks for it (timetable.md 3.8). Between two attempts the run is
// active and keeps its place. Each attempt is a child with a name of its own, which is the lock on it.

// attemptName is the name of a child of a run: that of its first child, and the number of a later one.
func attemptName(run string, attempt int) string {
	if attempt <= 1 {
		return run
	}
	return run + "-r" + strconv.Itoa(attempt)
}

// retries tells whether another attempt follows the newest one of the run, should that fail. What is being stopped is
// not repeated, nor is anything of an object that is being deleted.
func (in *Input) retries(run ActiveRun) bool {
	goesOn := run.Stopping == "" || run.Stopping == RunTimeout && !in.replacesWaiting()
	return run.Attempt <= in.Policy.Retry.Limit && goesOn && !in.Owner.Deleting
}

// replacesWaiting tells whether a time waits for runs to be gone that are stopped for it.
func (in *Input) replacesWaiting() bool {
	return slices.ContainsFunc(in.Stored.Waiting, func(w WaitingTime) bool { return w.Reason == NotStartedStopping })
}

// retryOf is the run after its newest child has failed, with another attempt to come; nil is a child that is gone.
func (in *Input) retryOf(run ActiveRun, failed *Child) ActiveRun {
	end, delay := in.Now, in.Policy.Retry.Delay
	if failed != nil && failed.Finished != nil {
		end = *failed.Finished
	}
	for range run.Attempt - 1 {
		delay = min(2*delay, in.Policy.Retry.MaxDelay)
	}
	at := end.Add(delay).UTC()
	if failed == nil || failed.Finished == nil {
		at = at.Add(time.Second - 1).Truncate(time.Second) // statuses hold seconds, and no delay is to be shorter for that
		if seen := in.seenAttempt(run); seen != nil && seen.RetryAt != nil {
			at = *seen.RetryAt
		}
	}
	run.UID, run.RetryAt, run.Stopping = "", &at, ""
	return run
}

// latestAttempt is a run that waits for its next attempt, with the latest one of which this process knows that it was made
// and has no child any more, while no status could be told: it came back without our owner reference, or was stopped, or
// deleted. None is made again.
func (in *Input) latestAttempt(all []Child, run ActiveRun) ActiveRun {
	for _, seen := range in.Carried.inProcess().attempts {
		if seen.Time.Equal(run.Time) && seen.Attempt > run.Attempt && nextAttempt(in, all, run.Time, seen.Attempt-1) == nil {
			return seen
		}
	}
	return run
}

// seenAttempt is what this process knows of the attempt of a run that no status could be told, nil if nothing.
func (in *Input) seenAttempt(run ActiveRun) *ActiveRun {
	attempts := in.Carried.inProcess().attempts
	if i := slices.IndexFunc(attempts, run.sameAttempt); i >= 0 {
		return &attempts[i]
	}
	return nil
}

// seenStopping is why this process is stopping the newest child of a run that no status could be told, "" if it is not.
func (in *Input) seenStopping(run ActiveRun) Reason {
	if seen := in.seenAttempt(run); seen != nil && seen.UID == run.UID {
		return seen.Stopping
	}
	return ""
}

func (r ActiveRun) sameAttempt(other ActiveRun) bool {
	return r.Time.Equal(other.Time) && r.Attempt == other.Attempt
}

// unrecordedAttempts are the active runs of which the stored status does not say so, or not this attempt; also those
// that have ended since, for as long as the status does not know of it (latestAttempt, unprovedRuns). Kinds without a
// cursor need those alone that wait for their next attempt, or whose newest one is not the first.
func (s *syncState) unrecordedAttempts(status *Memory) (attempts []ActiveRun) {
	in := s.in
	isFirst := func(run ActiveRun) bool { return run.RetryAt == nil && run.Attempt <= 1 }
	says := func(run ActiveRun) bool {
		return slices.ContainsFunc(in.Stored.Active, func(stored ActiveRun) bool {
			return (stored.RetryAt == nil) == (run.RetryAt == nil) && stored.sameAttempt(run)
		})
	}
	for _, run := range status.Active {
		if (!isFirst(run) || in.Traits.Durable.Has(PartCursor)) && !says(run) {
			attempts = append(attempts, run)
		}
	}
	if in.done.record != nil && in.done.record.err == nil && !s.undecided() {
		return attempts
	}
	for _, seen := range in.Carried.inProcess().attempts {
		is := func(r ActiveRun) bool { return r.Time.Equal(seen.Time) }
		unknown := in.isUnrecorded(seen.Time) || slices.ContainsFunc(in.Stored.Active, is) && (!isFirst(seen) || !says(seen))
		if unknown && !slices.ContainsFunc(attempts, is) {
			attempts = append(attempts, seen)
		}
	}
	return attempts
}

// isUnrecorded tells whether the stored status does not know yet what has become of a time.
func (in *Input) isUnrecorded(t time.Time) bool {
	return t.After(baseOf(in, &in.Stored)) || waits(in.Stored.Waiting, t)
}

// unprovedRuns are the runs that this process has begun or adopted, that no status could be told of, and of which no
// child is left: their times have begun all the same. Those of the future, by a clock that went back, are not among them.
func (in *Input) unprovedRuns(all []Child) (runs []ActiveRun) {
	for _, seen := range in.Carried.inProcess().attempts {
		is := func(r ActiveRun) bool { return r.Time.Equal(seen.Time) }
		hasChild := slices.ContainsFunc(all, func(c Child) bool {
			t, ok := proof(in, c)
			return ok && t.Equal(seen.Time)
		})
		recorded := !in.isUnrecorded(seen.Time) || slices.ContainsFunc(in.Stored.Active, is)
		if !recorded && !hasChild && !seen.Time.After(in.Now) && !in.mayExist(seen.Name) {
			runs = append(runs, seen)
		}
	}
	return runs
}

// keepsRetry tells whether a run that waits for its next attempt goes on to wait. It does not when an earlier sync has
// started that and could not record it: then its child is adopted. And it has failed when the policy allows no further
// attempt any more.
func (o *observedStatus) keepsRetry(in *Input, all []Child, run ActiveRun) bool {
	next := nextAttempt(in, all, run.Time, run.Attempt)
	switch {
	case next == nil && run.Attempt <= in.Policy.Retry.Limit:
		return true
	case next == nil:
		o.end(in, all, run, &Child{Phase: Failed})
		return false
	}
	adopted := runOf(*next, run.Time, run.Trigger)
	if _, ok := proof(in, *next); !ok {
		adopted.Attempt = run.Attempt + 1 // as its name says
	}
	adopted.Stopping = in.seenStopping(adopted)
	if !next.Phase.finished() {
		o.status.Active = append(o.status.Active, adopted)
		return false
	}
	o.completed = append(o.completed, *next)
	o.end(in, all, adopted, next)
	return false
}

// nextAttempt is the child of the attempt that follows, or should that be missing of one after it; nil if there is none.
// One whose end was seen before it was gone counts.
func nextAttempt(in *Input, all []Child, t time.Time, attempt int) *Child {
	name := attemptName(childName(in, t), attempt+1)
	if i := slices.IndexFunc(all, func(c Child) bool { return c.Name == name }); i >= 0 {
		return &all[i]
	}
	var next *Child
	for i := 0; next == nil && i < len(all); i++ {
		if all[i].Attempt > attempt+1 {
			if of, ok := proof(in, all[i]); ok && of.Equal(t) {
				next = &all[i]
			}
		}
	}
	return next
}

// childOfAttempt is the child of an attempt, nil if there is none.
func childOfAttempt(in *Input, all []Child, t time.Time, attempt int) *Child {
	name := attemptName(childName(in, t), attempt)
	if i := slices.IndexFunc(all, func(c Child) bool { return c.Name == name && !c.Gone }); i >= 0 {
		return &all[i]
	}
	return nil
}

// earlierAttempts are the other children of the run of which c is the newest, the first one first.
func earlierAttempts(in *Input, all []Child, c Child) (earlier []Child) {
	if c.Attempt <= 1 {
		return nil
	}
	t, ok := proof(in, c)
	for k := 1; ok && k < c.Attempt; k++ {
		if before := childOfAttempt(in, all, t, k); before != nil {
			earlier = append(earlier, *before)
		}
	}
	return earlier
}

// isNewest tells whether no later attempt of the child's run is there.
func isNewest(in *Input, all []Child, c Child) bool {
	if !in.Traits.Durable.Has(PartResults) {
		return true
	}
	t, ok := proof(in, c)
	return !ok || nextAttempt(in, all, t, max(1, c.Attempt)) == nil
}

// startRetries starts the attempts that are due. They need no room, because their run has it, and go on whatever keeps
// scheduled times from starting.
func (s *syncState) startRetries() {
	in := s.in
	if in.Owner.Deleting || s.ready.makesNoChild {
		return
	}
	for i, run := range s.status.Active {
		if run.RetryAt == nil {
			continue
		}
		if in.replaces() && s.room() < 0 && s.gaveItsPlace(run) {
			s.endBetweenAttempts(run.child(in))
			s.startRetries() // of the others
			return
		}
		if run.RetryAt.After(in.Now) {
			s.retryAt = earlier(s.retryAt, *run.RetryAt)
			continue
		}
		if s.hasEndedElsewhere(run) {
			s.start.err = errors.Join(s.start.err, fmt.Errorf("the run of %s was given a result that is not recorded yet", stamp(in, run.Time)))
			continue
		}
		base := childName(in, run.Time)
		start := Start{Name: attemptName(base, run.Attempt+1), Run: base, Attempt: run.Attempt + 1, Trigger: run.Trigger, Time: run.Time,
			Stamp: stamp(in, run.Time)}
		d := s.decideRetry(start)
		s.start.addRetry(d)
		if d.result == startOwnerRemoved { // the attempt is used up, and so is its name
			s.status.Active = slices.Clone(s.status.Active)
			s.status.Active[i].Name, s.status.Active[i].Attempt = start.Name, start.Attempt
			s.retryAt = earlier(s.retryAt, in.Now.Add(minRequeue).UTC()) // it may have been the last one
		}
		if d.active != nil {
			s.status.Active = slices.Clone(s.status.Active)
			s.status.Active[i] = runOf(*d.active, run.Time, run.Trigger)
			s.status.Active[i].Attempt = start.Attempt
		}
	}
}

// endedRuns are the scheduled times of runs that could go on, had this sync not given them a result, or one before it whose
// record is on its way.
func (s *syncState) endedRuns() (ended []time.Time) {
	if s.in.RecordPending {
		ended = slices.Clip(s.in.Carried.inProcess().ended)
	}
	for _, o := range s.observed.ended {
		if o.Result != Succeeded && s.in.Policy.Retry.Limit > 0 && !slices.ContainsFunc(ended, o.First.Equal) {
			ended = append(ended, o.First)
		}
	}
	return ended
}

// hasEndedElsewhere tells whether an earlier sync has given the run a result whose record may be on its way: no attempt
// starts before it is clear whether that arrives.
func (s *syncState) hasEndedElsewhere(run ActiveRun) bool {
	return s.in.RecordPending && slices.ContainsFunc(s.in.Carried.inProcess().ended, run.Time.Equal)
}

// gaveItsPlace tells whether a later run has been started that is not recorded yet: under Replace that ended a run which had
// no child at the time.
func (s *syncState) gaveItsPlace(run ActiveRun) bool {
	return slices.ContainsFunc(s.children, func(c Child) bool {
		t, ok := proof(s.in, c)
		return ok && t.After(run.Time) && timeUnrecorded(s.in, c, &s.in.Stored) && !listed(s.in.Stored.Active, c.UID)
	})
}

// stopOverdue stops the children that have not ended in time. Their runs are active until they are gone.
func (s *syncState) stopOverdue() {
	in := s.in
	if in.Policy.Timeout <= 0 || in.Owner.Deleting {
		return
	}
	for _, run := range s.status.Active {
		i := slices.IndexFunc(s.children, func(c Child) bool { return c.UID == run.UID && !c.Phase.finished() })
		if i >= 0 && s.children[i].OwnDeadline {
			continue
		}
		created := in.created(run.Name, CreateSucceeded)
		if created != nil && !created.Child.OwnDeadline && !known(s.children, run.UID) { // there may be no other sync before its end
			if end := run.Started.Add(in.Policy.Timeout).UTC(); end.After(in.Now) {
				s.retryAt = earlier(s.retryAt, end)
			}
		}
		if i < 0 || s.children[i].Deleting {
			continue
		}
		if end := s.children[i].Created.Add(in.Policy.Timeout).UTC(); end.After(in.Now) {
			s.retryAt = earlier(s.retryAt, end)
			continue
		}
		s.status.Active = markStopping(s.status.Active, run.UID, RunTimeout)
		c := s.children[i]
		switch tried, err := in.stopped(c); {
		case err != nil:
			s.start.events = append(s.start.events, failedDelete(in, c, err))
			s.start.err = errors.Join(s.start.err, fmt.Errorf("deleting %s %s, which has not ended in time: %w", in.Traits.ChildKind, c.Name, err))
		case tried:
			s.start.events = append(s.start.events, deleted(in, c))
		case !slices.ContainsFunc(s.start.stop, func(d Deletion) bool { return d.UID == c.UID }):
			s.start.stop = append(s.start.stop, in.deletion(c, RunTimeout, "it has not ended in time"))
		}
	}
}

// decideRetry is what becomes of an attempt that is due: it is created, or tried again with back-off. A name that is
// taken and an answer that says neither yes nor no are read; what is found there is adopted by the rules for children.
func (s *syncState) decideRetry(start Start) startDecision {
	in := s.in
	done := in.attempted(start.Name)
	if done == nil && s.ownerRemoved {
		return startDecision{}
	}
	if done == nil {
		return startDecision{create: &start, active: &Child{Namespace: in.Owner.Namespace, Name: start.Name}}
	}
	switch done.result.Outcome {
	case CreateSucceeded:
		if d := createdWithoutController(s, dueTime{child: start.Name}); d != nil {
			return *d
		}
		return startDecision{active: done.result.Child}
	case CreateNameTaken, CreateUnconfirmed:
		if _, asked := in.readAnswer(start.Name); !asked {
			return startDecision{reads: []ReadRequest{in.requestChild(start.Name, "is it the attempt that was to be created?")}}
		}
	}
	return startDecision{events: []Event{failedCreate(in, start, done.result.Err)},
		err: fmt.Errorf("creating %s %s: %w", in.Traits.ChildKind, start.Name, done.result.Err)}
}

// endBetweenAttempts ends the run of c at once if it waits for its next attempt and so has no child that has to be
// stopped for a later run.
func (s *syncState) endBetweenAttempts(c Child) {
	i := slices.IndexFunc(s.status.Active, func(r ActiveRun) bool { return r.RetryAt != nil && r.Name == c.Name })
	if i < 0 {
		return
	}
	run := s.status.Active[i]
	run.Stopping = RunReplaced
	s.observed.end(s.in, s.children, run, nil)
	s.status.Active = slices.Delete(slices.Clone(s.status.Active), i, i+1)
}

// addRetry adds the decision about an attempt, which says nothing about the times that are due.
func (s *startDecisions) addRetry(d startDecision) {
	s.reads = append(s.reads, d.reads...)
	s.stop = append(s.stop, d.stop...)
	if d.create != nil {
		s.creates = append(s.creates, *d.create)
	}
	s.events = append(s.events, d.events...)
	s.err = errors.Join(s.err, d.err)
}

// ofActiveRun tells whether the child belongs to a run that goes on: its attempts stay until there is a result.
func (s *syncState) ofActiveRun(uid types.UID) bool {
	i := slices.IndexFunc(s.children, func(c Child) bool { return c.UID == uid })
	if i < 0 {
		return false
	}
	return ofRun(s.in, s.status.Active, s.children[i])
}

// ofRun tells whether the child is an attempt of one of the runs.
func ofRun(in *Input, runs []ActiveRun, c Child) bool {
	t, ok := proof(in, c)
	return ok && slices.ContainsFunc(runs, func(r ActiveRun) bool { return r.Attempt > 0 && r.Time.Equal(t) })
}
