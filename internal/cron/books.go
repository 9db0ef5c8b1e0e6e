// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// books is the state as the children show it, before anything is started.
type books struct {
	state State
	// completed are the children whose completion this pass reports.
	completed []Child
	notes     []Note
	// err: a live read failed, so that nothing may be started on this picture.
	err error
}

// keepBooks brings the remembered state up to date (cronjob.md K8, K9, V5 to V9, T3 to T5): references of finished and
// vanished children go, children that an earlier pass could not record are adopted, and the two times move forward.
// They never move back, whatever disappears (Q5).
func keepBooks(in Input, all []Child) books {
	b := books{state: in.State}
	if in.Traits.ActiveRebuilt {
		b.state.Active = nil
		for _, c := range all {
			if !c.Phase.finished() {
				b.state.Active = append(b.state.Active, rebuilt(in, c))
			}
		}
		b.keepOrder(in)
		for _, ref := range in.State.Active {
			if s, _ := seen(in, ref.Name); s.err != nil && !known(all, ref.UID) && inNamespace(in, ref) && !listed(b.state.Active, ref.UID) {
				b.unread(in, ref, s.err)
				b.state.Active = append(b.state.Active, ref)
			}
		}
	} else {
		b.state.Active = nil
		for _, ref := range in.State.Active {
			if !listed(b.state.Active, ref.UID) && b.keeps(in, all, ref) {
				b.state.Active = append(b.state.Active, ref)
			}
		}
		b.reportUnknown(in)
	}

	if served := in.memo.Served; served != nil {
		b.state.LastSchedule = later(b.state.LastSchedule, *served)
	}
	for _, c := range all {
		if t, ok := proof(in, c); ok {
			b.state.LastSchedule = later(b.state.LastSchedule, t)
		}
		if unlisted(in, c) && !in.Traits.ActiveRebuilt {
			b.adopt(in, c)
		}
		if in.Traits.HasSuccess && c.Succeeded && c.Finished != nil {
			b.state.LastSuccessful = later(b.state.LastSuccessful, *c.Finished)
		}
	}
	return b
}

// rebuilt is the reference of an active child: the one that is stored, if there is one, so that the progress of a child
// is no reason to write.
func rebuilt(in Input, c Child) corev1.ObjectReference {
	if i := slices.IndexFunc(in.State.Active, func(r corev1.ObjectReference) bool { return r.UID == c.UID }); i >= 0 {
		return in.State.Active[i]
	}
	return reference(c)
}

// keepOrder puts the references that are stored into their stored order, before those that are new, so that the order in
// which children became known is no reason to write either.
func (b *books) keepOrder(in Input) {
	rank := func(r corev1.ObjectReference) int {
		if i := slices.IndexFunc(in.State.Active, func(s corev1.ObjectReference) bool { return s.UID == r.UID }); i >= 0 {
			return i
		}
		return len(in.State.Active)
	}
	slices.SortStableFunc(b.state.Active, func(x, y corev1.ObjectReference) int { return rank(x) - rank(y) })
}

// keeps tells whether an active reference stays in the list.
func (b *books) keeps(in Input, all []Child, ref corev1.ObjectReference) bool {
	if i := slices.IndexFunc(all, func(c Child) bool { return c.UID == ref.UID }); i >= 0 {
		if !all[i].Phase.finished() {
			return true
		}
		b.completed = append(b.completed, all[i])
		return false
	}
	if !inNamespace(in, ref) {
		b.notes = append(b.notes, missing(in, ref, ""))
		return false
	}
	switch s, _ := seen(in, ref.Name); {
	case s.err != nil:
		b.unread(in, ref, s.err)
		return true
	case s.child == nil:
		b.notes = append(b.notes, missing(in, ref, ""))
		return false
	case s.child.UID != ref.UID:
		b.notes = append(b.notes, missing(in, ref, s.child.UID))
		return false
	case s.child.Phase.finished():
		b.completed = append(b.completed, *s.child)
		return false
	default: // no longer controlled by us, but it runs, and we started it
		return true
	}
}

// unread notes that an active reference could not be followed: nothing may start without knowing.
func (b *books) unread(in Input, ref corev1.ObjectReference, err error) {
	b.err = errors.Join(b.err, fmt.Errorf("reading active %s %s: %w", in.Traits.ChildKind, ref.Name, err))
}

// adopt takes over a child that an earlier pass started without being able to write that down. Its scheduled time
// counts as served already; a child that is unfinished becomes active.
func (b *books) adopt(in Input, c Child) {
	switch {
	case !c.Phase.finished():
		b.state.Active = append(slices.Clip(b.state.Active), reference(c))
	case in.Traits.AdoptionReports:
		b.completed = append(b.completed, c)
	}
}

// reportUnknown warns of unfinished children that neither the cached nor the live state lists.
func (b *books) reportUnknown(in Input) {
	for _, c := range unknown(in) {
		b.notes = append(b.notes, unexpected(in, c, unlisted(in, c)))
	}
}

// unfinished are the children, and the active references to what is no child any more, that Forbid and Replace must
// know of: every one of them, also manual runs and those that no status lists (cronjob.md B1). What they make of manual
// runs is in manual.go.
func unfinished(in Input, all []Child, state State) []Child {
	var found []Child
	for _, c := range all {
		if !c.Phase.finished() {
			found = append(found, c)
		}
	}
	for _, ref := range state.Active {
		if !known(all, ref.UID) {
			found = append(found, Child{Namespace: in.Owner.Namespace, Name: ref.Name, UID: ref.UID})
		}
	}
	return found
}

func later(t *time.Time, other time.Time) *time.Time {
	if t != nil && !other.After(*t) {
		return t
	}
	return &other
}

func without(refs []corev1.ObjectReference, uid types.UID) []corev1.ObjectReference {
	return slices.DeleteFunc(slices.Clone(refs), func(r corev1.ObjectReference) bool { return r.UID == uid })
}
