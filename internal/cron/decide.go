// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
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

	books := keepBooks(in, all)
	edit := noticeEdit(in)
	gates := gates(in, edit)

	t := turn{state: books.state}
	var due string
	if gates.open {
		timing := timingOf(in, gates.calendar, books.state, edit)
		if !timing.due.IsZero() {
			due = childName(in, timing.due)
		}
		if books.err == nil {
			t = takeTurn(in, all, timing, books.state)
		}
	}
	if len(t.look) > 0 {
		return Plan{Look: t.look, Timetable: in.Seen}
	}

	p := Plan{Stop: t.stop, Start: t.start, Timetable: memoOf(in, all, edit, t)}
	p.Err = firstOf(books.err, gates.err, t.err)
	p.Record = record(in, t.state, edit, p.Err != nil)
	unwritten := p.Err != nil && !in.Traits.RecordDespiteError
	var failed bool
	if done := in.done.record; done != nil {
		p.Record = nil
		if done.err != nil {
			failed, unwritten = true, true
			p.Err = joined(p.Err, fmt.Errorf("recording what was done: %w", done.err))
		}
	}

	steps := history(in, all)
	if unwritten {
		steps = provable(in, all, steps, due, failed)
	}
	p.Prune = pending(in, steps)

	if !failed { // what a failed write was to record is reported by the pass that records it
		p.Speak = append(completions(in, books.completed, steps), books.notes...)
	}
	p.Speak = append(p.Speak, gates.notes...)
	p.Speak = append(p.Speak, t.notes...)
	p.Speak = append(p.Speak, pruneNotes(in, steps)...)
	p.Speak = audible(p.Speak)

	if gates.open && !t.rest {
		p.Wake = wake(in, gates.calendar, t.state, edit)
	}
	if again := pruneAgain(in, steps); !again.IsZero() && (p.Wake.IsZero() || again.Before(p.Wake)) {
		p.Wake = again
	}
	return p
}

// cleanOnly is the plan when the live CronJob could not be read: nothing is known well enough to start or record, but
// cleaning up goes on (cronjob.md R23).
func cleanOnly(in Input, all []Child, err error) Plan {
	steps := provable(in, all, history(in, all), "", true)
	return Plan{
		Prune:     pending(in, steps),
		Speak:     audible(pruneNotes(in, steps)),
		Wake:      pruneAgain(in, steps),
		Err:       fmt.Errorf("reading the live CronJob: %w", err),
		Timetable: in.Seen,
	}
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
	r := Record{State: state, Timetable: e.due}
	if failed && !in.Traits.RecordDespiteError {
		r.State = in.State
	} else {
		r.Status = in.Traits.RecordAlways || !sameStatus(in.State, state)
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
		sameTime(a.LastSchedule, b.LastSchedule) && sameTime(a.LastSuccessful, b.LastSuccessful)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

func firstOf(errs ...error) error {
	var all error
	for _, err := range errs {
		if err != nil {
			all = joined(all, err)
		}
	}
	return all
}
