// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Decide says what the CronJob of in needs now. It is a pure function: the same input gives the same plan, and no input
// makes it panic. See the package comment for how a plan is carried out.
func Decide(in Input) Plan {
	if in.Traits == nil {
		in.Traits = &Traits{}
	}
	in.memo = parseMemo(in.Seen)
	if in.Owner.Deleting && in.Traits.DeletedIsIgnored {
		return Plan{}
	}
	if looks := ownerLook(in); len(looks) > 0 {
		return lookFirst(in, looks)
	}
	if in.looked.edited {
		return decideAgain(in)
	}
	all := children(in)
	if err := in.looked.ownerErr; err != nil {
		return cleanOnly(in, all, err)
	}
	if looks := activeLooks(in, all); len(looks) > 0 {
		return lookFirst(in, looks)
	}

	kept := keepBooks(in, all)
	change := noticeEdit(in)
	stand := gates(in, change)

	t := turn{state: kept.state}
	var tm timing
	var due string
	if stand.open {
		tm = timingOf(in, stand.calendar, kept.state, change)
		if !tm.due.IsZero() {
			due = childName(in, tm.due)
		}
		if kept.err == nil {
			t = takeTurn(in, all, tm, kept.state)
		}
	}
	if len(t.look) > 0 {
		return lookFirst(in, t.look)
	}

	account := accountFor(in, all, kept.state, stand, tm, t, change)
	if upto := account.missedUpto; !upto.IsZero() {
		change.now.Missed = new(upto)
	}
	t.state.Conditions = conditions(in, all, stand, t, kept.err, account.lost())

	known := t.state
	if t.start != nil { // which has not happened yet
		known = kept.state
	}
	p := Plan{Stop: t.stop, Start: t.start, Outcomes: account.outcomes}
	if p.Misconfigured = stand.misconfigured; p.Misconfigured == "" {
		p.Misconfigured = t.misconfigured
	}
	p.Err = errors.Join(kept.err, stand.err, t.err)
	steps := history(in, all)
	unwritten := p.Err != nil && !in.Traits.RecordDespiteError
	stored := in
	if unwritten && t.err != nil && len(provable(in, all, steps, due, false)) < len(steps) {
		// The start failed, and a prune waits for what the children prove. That is written all the same, and nothing of
		// what failed: else a create that a quota refuses would keep the very children that use the quota up (V26 does
		// not stand above guarantee 6).
		stored.State = kept.state
		p.Record = record(in, kept.state, change, false)
	} else {
		p.Record = record(in, t.state, change, unwritten)
	}
	var failed bool
	if done := in.done.record; done != nil {
		p.Record = nil
		if done.err != nil {
			failed, unwritten, stored = true, true, in
			p.Err = errors.Join(p.Err, fmt.Errorf("recording what was done: %w", done.err))
		}
	}

	if unwritten {
		steps = provable(stored, all, steps, due, failed)
	}
	p.Prune = pending(in, steps)

	if !failed { // what a failed write was to record is reported by the pass that records it
		p.Speak = append(completions(in, kept.completed, steps), kept.notes...)
	}
	if change.garbage {
		p.Speak = append(p.Speak, garbage(in))
	}
	p.Speak = append(p.Speak, stand.notes...)
	if len(account.told) > 0 {
		p.Speak = append(p.Speak, notStarted(in, account.told))
	}
	p.Speak = append(p.Speak, t.notes...)
	p.Speak = append(p.Speak, pruneNotes(in, steps)...)
	p.Speak = audible(p.Speak)
	told, retell := tellAgain(in, p.Speak)
	p.Timetable = memoOf(in, change, known, account.ledger, told, p.Misconfigured)

	if stand.open && !t.rest {
		p.Wake = wake(in, stand.calendar, t.state, change)
	}
	p.Wake = sooner(p.Wake, pruneAgain(in, steps))
	p.Wake = sooner(p.Wake, retell)
	p.Wake = sooner(p.Wake, account.wake)
	return p
}

// again is the least time between two passes.
const again = time.Millisecond

// decideAgain is the plan when a live read of this pass showed that the schedule was changed. Nobody knows when, but that
// it was no later than the read; and the next pass begins after that.
func decideAgain(in Input) Plan {
	return Plan{Timetable: in.Seen, Wake: in.Now.Add(again).UTC(), Misconfigured: in.memo.Misconfigured}
}

// cleanOnly is the plan when the live CronJob could not be read: nothing is known well enough to start or record, but
// cleaning up goes on (cronjob.md R23), and the next scheduled time that the cache knows of does not wait for the
// back-off.
func cleanOnly(in Input, all []Child, err error) Plan {
	steps := provable(in, all, history(in, all), "", true)
	p := Plan{
		Prune:     pending(in, steps),
		Speak:     audible(pruneNotes(in, steps)),
		Err:       fmt.Errorf("reading the live CronJob: %w", err),
		Timetable: in.Seen,

		Misconfigured: in.memo.Misconfigured,
	}
	p.Wake = sooner(wakeAnyhow(in), pruneAgain(in, steps))
	return p
}

// lookFirst is the plan when something has to be read before anything can be said. A shell that cannot even try, or
// gives up the pass, still has a time to wake at: the next scheduled time waits for nobody's back-off.
func lookFirst(in Input, looks []Look) Plan {
	return Plan{Look: looks, Timetable: in.Seen, Wake: wakeAnyhow(in), Misconfigured: in.memo.Misconfigured}
}

// wakeAnyhow is the next scheduled time as far as it can be told from what is known already.
func wakeAnyhow(in Input) time.Time {
	change := noticeEdit(in)
	stand := gates(in, change)
	if !stand.open {
		return time.Time{}
	}
	return wake(in, stand.calendar, in.State, change)
}

// completions reports the children that have left the active list. Some kinds leave it out when the child is pruned
// in the same pass (cronjob.md 2.1.2 note 3).
func completions(in Input, finished []Child, pruned []Step) []Note {
	var notes []Note
	for _, c := range finished {
		goes := slices.ContainsFunc(pruned, func(s Step) bool { return s.UID == c.UID && in.done.pruned[s.UID] == nil })
		if !goes || !in.Traits.PruneSilencesCompletion {
			notes = append(notes, completed(in, c))
		}
	}
	return notes
}

// audible drops what the kind has no event for.
func audible(notes []Note) []Note {
	return slices.DeleteFunc(notes, func(n Note) bool { return n.Reason == "" })
}

// record is what has to be remembered, nil if nothing is new. A kind that does not write the status of a failed pass
// (cronjob.md V26) still remembers an edit: no later pass could notice it again.
func record(in Input, state State, e edit, unwritten bool) *Record {
	if room := in.Traits.MaxActive; room > 0 && len(state.Active) > room {
		state.Active = state.Active[:room:room]
	}
	r := Record{State: state}
	if unwritten {
		r.State = in.State
	} else {
		r.Status = !sameStatus(in.State, state)
	}
	// The first record of a state has the timetable that was decided on, for all kinds: a later process need not guess.
	t := e.asStored(r.State)
	first := (!e.hasStored || !t.same(e.stored)) && !in.Owner.Deleting
	if e.due(t) || r.Status && (first || in.Traits.TimetableRides && !t.equal(e.stored)) {
		if text := t.text(); text != "" {
			r.Timetable, r.State.Timetable = true, text
		}
	}
	if !r.Status && !r.Timetable {
		return nil
	}
	return &r
}

func sameStatus(a, b State) bool {
	return slices.EqualFunc(a.Active, b.Active, func(x, y corev1.ObjectReference) bool { return x == y }) &&
		sameTime(a.LastSchedule, b.LastSchedule) && sameTime(a.LastSuccessful, b.LastSuccessful) &&
		slices.EqualFunc(a.Conditions, b.Conditions, sameCondition)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// sooner is the earlier of two wake-ups; zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
