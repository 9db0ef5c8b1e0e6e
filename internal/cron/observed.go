// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// observedStatus is the status as the children show it, before anything is started.
type observedStatus struct {
	status Memory
	// completed are the children whose completion this sync reports.
	completed []Child
	// ended are the outcomes of runs that have ended, where the status holds them.
	ended  []RunOutcome
	events []Event
	// err: a live read failed, so that nothing may be started on this picture.
	err error
	// unproved are the times of runs that this process knows to have begun, and that neither a child nor the status proves.
	unproved []time.Time
	// takenAway: an active run goes on whose child somebody took from us. No watch tells when that ends.
	takenAway bool
}

// observeStatus brings the remembered status up to date (cronjob.md K8, K9, V5 to V9, T3 to T5): references of finished
// and vanished children go, children that an earlier sync could not record are adopted, and the two times move forward.
// They never move back, whatever disappears (Q5).
func observeStatus(in *Input, memory *Memory, all []Child) observedStatus {
	o := observedStatus{status: in.Stored, err: unreadStarts(in, memory)}
	o.status.LastSchedule = memory.LastSchedule
	o.status.Active = nil
	for _, ref := range in.Stored.Active {
		if ref.RetryAt != nil {
			ref = in.latestAttempt(all, ref)
		}
		if (ref.RetryAt != nil || !listed(o.status.Active, ref.UID)) && o.keeps(in, all, ref) {
			o.status.Active = append(o.status.Active, ref)
		}
	}
	if !in.Traits.ActiveRebuilt {
		for _, c := range unlistedChildren(in) {
			o.events = append(o.events, unexpected(in, c, startUnrecorded(in, c)))
		}
	}

	// Where starts are counted, that of a child is adopted only by a sync that counts it, too.
	adopts := !in.Traits.Durable.Has(PartCursor) || o.err == nil && !in.Owner.Deleting
	for _, c := range all {
		if t, ok := proof(in, c); ok {
			o.status.LastSchedule = later(o.status.LastSchedule, t)
		}
		// A start that is unrecorded is that of an earlier sync, which could not write it down.
		switch running := !c.Phase.finished(); {
		case !adopts:
		case running && !listed(o.status.Active, c.UID) && isNewest(in, all, c) && (startUnrecorded(in, c) || in.Traits.ActiveRebuilt && !listed(o.status.Active, c.UID)):
			o.status.Active = append(o.status.Active, adoptedRun(in, c))
		case !running && in.Traits.AdoptionReports && startUnrecorded(in, c) && isNewest(in, all, c):
			o.completed = append(o.completed, c)
			o.end(in, all, adoptedRun(in, c), &c)
		}
		if successUnrecorded(in, c, &o.status) {
			o.status.LastSuccessful = c.Finished
		}
	}
	if adopts && in.Traits.Durable.Has(PartCursor) {
		o.takeUpUnproved(in, all)
	}
	return o
}

// takeUpUnproved goes on with the runs of this process that no child proves any more, or ends them.
func (o *observedStatus) takeUpUnproved(in *Input, all []Child) {
	for _, run := range in.unprovedRuns(all) {
		o.unproved = append(o.unproved, run.Time)
		o.status.LastSchedule = later(o.status.LastSchedule, run.Time)
		if o.keeps(in, all, run) {
			o.status.Active = append(o.status.Active, run)
		}
	}
}

// keeps tells whether an active reference stays in the list: in its place and as it is stored, so that the progress of
// a child is no reason to write.
func (o *observedStatus) keeps(in *Input, all []Child, ref ActiveRun) bool {
	if ref.RetryAt != nil {
		return o.keepsRetry(in, all, ref)
	}
	if i := slices.IndexFunc(all, func(c Child) bool { return c.UID == ref.UID }); i >= 0 {
		if !all[i].Phase.finished() {
			return true
		}
		o.completed = append(o.completed, all[i])
		o.end(in, all, ref, &all[i])
		return false
	}
	if !inNamespace(in, ref) {
		o.events = append(o.events, missing(in, ref.ObjectReference, ""))
		return false
	}
	switch read, _ := in.readAnswer(ref.Name); {
	case read.err != nil:
		o.err = errors.Join(o.err, fmt.Errorf("reading active %s %s: %w", in.Traits.ChildKind, ref.Name, read.err))
		return true
	case read.child == nil:
		o.events = append(o.events, missing(in, ref.ObjectReference, ""))
		o.end(in, all, ref, nil)
		return false
	case read.child.UID != ref.UID:
		o.events = append(o.events, missing(in, ref.ObjectReference, read.child.UID))
		o.end(in, all, ref, nil)
		return false
	case read.child.Phase.finished():
		o.completed = append(o.completed, *read.child)
		o.end(in, all, ref, read.child)
		return false
	default: // no longer controlled by us, but it runs, and we started it
		o.takenAway = true
		return !in.Traits.ActiveRebuilt
	}
}

// unfinished are the children, and the active references to what is no child any more, that Forbid and Replace must
// know of: every one of them, also manual runs and those that no status lists (cronjob.md B1). What they make of manual
// runs is in manual.go.
func unfinished(in *Input, all []Child, status *Memory) []Child {
	var found []Child
	for _, c := range all {
		if !c.Phase.finished() {
			found = append(found, c)
		}
	}
	for _, ref := range status.Active {
		if !known(all, ref.UID) {
			found = append(found, ref.child(in))
		}
	}
	return found
}

// LacksEnd tells whether the stored status does not show yet that the child has ended, and how.
func (in *Input) LacksEnd(c Child) bool {
	stored := &in.Stored
	return ours(in, c) && c.Phase.finished() && (listed(stored.Active, c.UID) || timeUnrecorded(in, c, stored) || successUnrecorded(in, c, stored))
}

// successUnrecorded tells whether status does not know of the child's success yet.
func successUnrecorded(in *Input, c Child, status *Memory) bool {
	return in.Traits.Durable.Has(PartLastSuccessful) && c.Succeeded && c.Finished != nil && (status.LastSuccessful == nil || c.Finished.After(*status.LastSuccessful))
}

func later(t *time.Time, other time.Time) *time.Time {
	if t != nil && !other.After(*t) {
		return t
	}
	return new(other)
}

func without(refs []ActiveRun, uid types.UID) []ActiveRun {
	return slices.DeleteFunc(slices.Clone(refs), func(r ActiveRun) bool { return r.UID == uid })
}
