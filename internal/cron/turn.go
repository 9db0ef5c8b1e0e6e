// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// turn is what becomes of the scheduled time that is due.
type turn struct {
	look  []Look
	stop  []Step
	start *Start
	state State
	notes []Note
	err   error
	// rest: do not even wake for the next scheduled time.
	rest bool
	// fate of the due time, for the outcomes.
	fate fate
	// manual are the runs that somebody started by hand and that Replace starts beside.
	manual []Child
	// misconfigured is what somebody has to mend before the due time can start.
	misconfigured Misconfiguration
}

// takeTurn decides about the due time, in this order: too many were missed (T10), it is taken already (K19, K23b), it
// is forbidden (K20), it replaces (K21), it starts (K23). state is that of the books.
func takeTurn(in Input, all []Child, tm timing, state State) turn {
	t := turn{state: state}
	if in.Spec.Concurrency == batchv1.ReplaceConcurrent {
		t.manual = manualRuns(in, unfinished(in, all, state))
	}
	if in.done.started != nil {
		t.replaced(in, all)
	}
	if tm.due.IsZero() { // perhaps because the create met a child that proves it, which the books have adopted
		return t
	}
	if tm.missed == many {
		if in.Traits.ManyRefused {
			t.rest, t.fate, t.misconfigured = true, fateTooMany, TooManyMissed
			t.notes = append(t.notes, manyRefused(in, tm))
			return t
		}
		t.notes = append(t.notes, tooManyMissed(in, tm))
	}
	t.fate = fateFailed // unless one of the following says otherwise
	if in.done.started != nil && t.outcome(in) {
		return t
	}
	if t.taken(in, all, tm.due) {
		return t
	}
	if in.done.started != nil { // and it met an object that is not ours (Q1)
		s, _ := seen(in, in.done.started.start.Name)
		t.fate, t.misconfigured = fateForeign, NameTaken
		t.notes = append(t.notes, foreignHolder(in, *s.child, tm.due))
		return t
	}
	exclusive := in.Spec.Concurrency == batchv1.ForbidConcurrent || in.Spec.Concurrency == batchv1.ReplaceConcurrent
	if exclusive && !t.resolve(in) {
		return t
	}
	blockers := unfinished(in, all, state)
	if in.Spec.Concurrency == batchv1.ForbidConcurrent {
		if waits := forbidding(in, blockers); len(waits) > 0 {
			t.fate = fateForbidden
			t.notes = append(t.notes, forbidden(in, waits, tm.due))
			return t
		}
	}
	if in.Spec.Concurrency == batchv1.ReplaceConcurrent && !t.replace(in, scheduledRuns(in, blockers), tm.due) {
		return t
	}
	t.begin(in, tm.due)
	return t
}

// taken tells whether the due time has its child already. A child of an earlier pass is adopted (cronjob.md K23b3,
// V22c): that pass crashed, or its answer or its status write got lost. Where two scheduled times share a name, the
// first one has used it up, even if its child is gone (B7).
func (t *turn) taken(in Input, all []Child, due time.Time) bool {
	name := childName(in, due)
	t.fate = fateAdopted
	if in.done.started != nil {
		t.fate = createdOrFound(in.done.started)
	}
	if last := t.state.LastSchedule; last != nil && childName(in, *last) == name {
		t.fate = fateShared
		return true
	}
	for _, ref := range t.state.Active {
		if ref.Name == name && inNamespace(in, ref) {
			if in.Traits.ActiveRebuilt {
				t.state.LastSchedule = later(t.state.LastSchedule, due)
			}
			return true
		}
	}
	i := slices.IndexFunc(all, func(c Child) bool { return c.Name == name })
	if i < 0 {
		t.fate = fateFailed
		return false
	}
	if !all[i].Phase.finished() {
		t.state.Active = append(slices.Clip(t.state.Active), reference(all[i]))
	}
	t.state.LastSchedule = later(t.state.LastSchedule, due)
	return true
}

// replace stops every unfinished child that the schedule started. It tells whether the way is free, on the assumption that the stops that are
// still to be made succeed.
func (t *turn) replace(in Input, blockers []Child, due time.Time) bool {
	if len(blockers) == 0 {
		return true
	}
	if in.Traits.LookBeforeStop {
		for _, c := range blockers {
			look := Look{Namespace: in.Owner.Namespace, Name: c.Name, Why: "about to be replaced"}
			if _, asked := in.looked.children[look.key()]; !asked {
				t.look = append(t.look, look)
			}
		}
		if len(t.look) > 0 {
			return false
		}
	}
	t.notes = append(t.notes, replacing(in, blockers, due))
	free := true
	for _, c := range blockers {
		if err := t.unseen(in, c); err != nil {
			free = false
			t.notes = append(t.notes, failedGet(in, c, due, err))
			t.err = errors.Join(t.err, fmt.Errorf("reading %s %s, which is to be replaced: %w", in.Traits.ChildKind, c.Name, err))
		}
	}
	if !free {
		return false
	}
	for _, c := range blockers {
		err, tried := in.done.stopped[c.UID]
		if in.Traits.GoneIsStopped && apierrors.IsNotFound(err) {
			err = nil
		}
		switch {
		case !tried:
			t.stop = append(t.stop, Step{Namespace: in.Owner.Namespace, Name: c.Name, UID: c.UID,
				Why: fmt.Sprintf("replaced by %s", childName(in, due))})
		case err != nil:
			free = false
			t.notes = append(t.notes, failedDelete(in, c, err))
			t.err = errors.Join(t.err, fmt.Errorf("deleting %s %s, which is to be replaced: %w", in.Traits.ChildKind, c.Name, err))
			continue
		}
		t.notes = append(t.notes, deleted(in, c))
		t.state.Active = without(t.state.Active, c.UID)
	}
	return free
}

// unseen is why a child that is to be replaced cannot be trusted to be there, nil if it can.
func (t *turn) unseen(in Input, c Child) error {
	if !in.Traits.LookBeforeStop {
		return nil
	}
	if _, tried := in.done.stopped[c.UID]; tried {
		return nil
	}
	s, _ := seen(in, c.Name)
	switch {
	case s.err != nil:
		return s.err
	case s.child == nil:
		return fmt.Errorf("it is gone")
	case s.child.UID != c.UID:
		return fmt.Errorf("it is gone, and another one with UID %s has its name", s.child.UID)
	}
	return nil
}

// begin asks for the child of the due time.
func (t *turn) begin(in Input, due time.Time) {
	t.start = &Start{Name: childName(in, due), Time: due, Stamp: stamp(in, due)}
	t.began(in, *t.start, Child{Namespace: in.Owner.Namespace, Name: t.start.Name})
}

// began enters a started child in the books.
func (t *turn) began(in Input, s Start, c Child) {
	t.state.Active = append(slices.Clip(t.state.Active), reference(c))
	t.state.LastSchedule = later(t.state.LastSchedule, s.Time)
	t.fate = fateStarted
	t.notes = append(t.notes, created(in, c, s.Time))
	if len(t.manual) > 0 {
		t.notes = append(t.notes, besideManual(in, t.manual, s.Time))
	}
}

// stoppedAlready are the UIDs of children that this pass deleted.
func stoppedAlready(in Input, uid types.UID) bool {
	err, tried := in.done.stopped[uid]
	return tried && (err == nil || in.Traits.GoneIsStopped && apierrors.IsNotFound(err))
}
