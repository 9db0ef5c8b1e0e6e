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
	if in.Owner.Deleting && in.Traits.DeletedIsIgnored {
		return Plan{}
	}
	if looks := ownerLook(in); len(looks) > 0 {
		return Plan{Look: looks, Timetable: in.Seen}
	}
	all := children(in)
	if err := in.looked.ownerErr; err != nil {
		return cleanOnly(in, all, err)
	}
	if looks := activeLooks(in, all); len(looks) > 0 {
		return Plan{Look: looks, Timetable: in.Seen}
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
		return Plan{Look: t.look, Timetable: in.Seen}
	}

	account := accountFor(in, stand, tm, t, change)
	t.state.Conditions = conditions(in, all, stand, t, kept.err, account.lost())

	p := Plan{Stop: t.stop, Start: t.start, Outcomes: account.outcomes, Timetable: memoOf(in, all, change, t, account.ledger)}
	p.Err = errors.Join(kept.err, stand.err, t.err)
	p.Record = record(in, t.state, change, p.Err != nil)
	unwritten := p.Err != nil && !in.Traits.RecordDespiteError
	var failed bool
	if done := in.done.record; done != nil {
		p.Record = nil
		if done.err != nil {
			failed, unwritten = true, true
			p.Err = errors.Join(p.Err, fmt.Errorf("recording what was done: %w", done.err))
		}
	}

	steps := history(in, all)
	if unwritten {
		steps = provable(in, all, steps, due, failed)
	}
	p.Prune = pending(in, steps)

	if !failed { // what a failed write was to record is reported by the pass that records it
		p.Speak = append(completions(in, kept.completed, steps), kept.notes...)
	}
	if change.garbage {
		p.Speak = append(p.Speak, garbage(in))
	}
	p.Speak = append(p.Speak, stand.notes...)
	p.Speak = append(p.Speak, t.notes...)
	p.Speak = append(p.Speak, pruneNotes(in, steps)...)
	p.Speak = audible(p.Speak)

	if stand.open && !t.rest {
		p.Wake = wake(in, stand.calendar, t.state, change)
	}
	p.Wake = sooner(p.Wake, pruneAgain(in, steps))
	return p
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
	}
	change := noticeEdit(in)
	if stand := gates(in, change); stand.open {
		p.Wake = wake(in, stand.calendar, in.State, change)
	}
	p.Wake = sooner(p.Wake, pruneAgain(in, steps))
	return p
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
func record(in Input, state State, e edit, failed bool) *Record {
	if room := in.Traits.MaxActive; room > 0 && len(state.Active) > room {
		state.Active = state.Active[:room:room]
	}
	r := Record{State: state, Timetable: e.due}
	if failed && !in.Traits.RecordDespiteError {
		r.State = in.State
	} else {
		r.Status = !sameStatus(in.State, state)
	}
	if r.Status && in.Traits.TimetableRides && e.text != "" && e.text != in.State.Timetable {
		r.Timetable = true
	}
	if r.Timetable {
		r.State.Timetable = e.text
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
