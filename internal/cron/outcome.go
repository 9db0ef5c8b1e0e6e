// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// outcome judges the server's answer to the create of this pass (cronjob.md K23, V21 to V25, T17). True: the turn is
// decided. False: the name is taken, and the live holder of it has become known to the rules that follow.
func (t *turn) outcome(in Input) bool {
	start, child, err := in.done.started.start, in.done.started.child, in.done.started.err
	switch {
	case err == nil && in.Traits.ChecksController && !ours(in, *child):
		t.disown(in, *child)
		return true
	case err == nil:
		t.began(in, start, *child)
		return true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		t.notes = append(t.notes, namespaceTerminating(in))
	case apierrors.IsAlreadyExists(err) && !in.Traits.ExistsFails:
		return t.holder(in, start)
	case unclear(err):
		return t.lost(in, start, err)
	default:
		t.notes = append(t.notes, failedCreate(in, start, err))
		t.misconfigured = refusedBy(err)
	}
	t.err = errors.Join(t.err, fmt.Errorf("creating %s %s: %w", in.Traits.ChildKind, start.Name, err))
	return true
}

// replaced enters the stops that made room for the create; they were all accepted, or there had been no create.
func (t *turn) replaced(in Input, all []Child) {
	var stopped []Child
	for _, c := range unfinished(in, all, t.state) {
		if stoppedAlready(in, c.UID) {
			stopped = append(stopped, c)
		}
	}
	if len(stopped) == 0 {
		return
	}
	t.notes = append(t.notes, replacing(in, stopped, in.done.started.start.Time))
	for _, c := range stopped {
		t.notes = append(t.notes, deleted(in, c))
		t.state.Active = without(t.state.Active, c.UID)
	}
}

// holder finds out who has the name that the create wanted. True: a look is needed, or it failed.
func (t *turn) holder(in Input, start Start) bool {
	s, asked := seen(in, start.Name)
	switch {
	case !asked:
		t.look = []Look{{Namespace: in.Owner.Namespace, Name: start.Name, Why: "it exists already; is it ours?"}}
	case s.err != nil:
		t.err = errors.Join(t.err, fmt.Errorf("reading %s %s, which exists already: %w", in.Traits.ChildKind, start.Name, s.err))
	case s.child == nil:
		t.err = errors.Join(t.err, fmt.Errorf("%s %s existed when it was to be created and is gone now; trying again",
			in.Traits.ChildKind, start.Name))
	default:
		return false
	}
	return true
}

// lost finds out what became of a create whose answer says neither yes nor no. False: it has shown an object of that
// name, of which the following rules know.
func (t *turn) lost(in Input, start Start, err error) bool {
	s, asked := seen(in, start.Name)
	switch {
	case !asked:
		t.look = []Look{{Namespace: in.Owner.Namespace, Name: start.Name, Why: "the answer to its create got lost"}}
		return true
	case s.child != nil:
		return false
	}
	t.notes = append(t.notes, failedCreate(in, start, err))
	t.err = errors.Join(t.err, fmt.Errorf("creating %s %s: %w", in.Traits.ChildKind, start.Name, err))
	return true
}

// disown deletes a child that came back from the server without our controller reference: nobody would ever count it
// or clean it up (cronjob.md V24).
func (t *turn) disown(in Input, child Child) {
	if _, tried := in.done.stopped[child.UID]; !tried {
		t.stop = []Step{{Namespace: in.Owner.Namespace, Name: child.Name, UID: child.UID,
			Why: "it was created without our controller reference"}}
	}
	t.err = errors.Join(t.err, fmt.Errorf("creating %s %s: the server returned it without our controller reference; "+
		"look for an admission webhook that removes owner references", in.Traits.ChildKind, child.Name))
}
