// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
)

// A create can succeed and its answer get lost. The child then exists, and neither the status nor, for a while, the
// cache knows it: under Forbid the next scheduled time would start beside it. So an answer that says neither yes nor
// no is followed by a live read, and the name is carried to later syncs and read again before each start that must not
// overlap, until the cache or the status shows what has it.

// maxUnconfirmed bounds what is carried where one sync starts no more; the server must be away for many scheduled times
// to get there.
const maxUnconfirmed = 8

// unconfirmedAfter are the unconfirmed creates that this sync leaves: names that a create met or may have made, unless
// the cache shows them by now, or a live read found nothing that could be in the way, or what it found is in the stored
// status: that its child runs, and where the status holds results, how it ended.
func unconfirmedAfter(in *Input, status *Memory) []string {
	names := slices.Clone(in.Carried.inProcess().unconfirmed)
	for _, c := range in.done.creates {
		unclear := c.result.Outcome == CreateUnconfirmed || c.result.Outcome == CreateNameTaken
		if unclear && !slices.Contains(names, c.start.Name) {
			names = append(names, c.start.Name)
		}
	}
	stored := &in.Stored
	if in.done.record != nil && in.done.record.err == nil {
		stored = status
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		if cached(in, name) {
			return true
		}
		read, asked := in.readAnswer(name)
		if !asked || read.err != nil {
			return false
		}
		return read.child == nil || !ours(in, *read.child) || read.child.Phase.finished() && !lacksEnd(in, *read.child, stored) || listed(stored.Active, read.child.UID)
	})
	return names[max(0, len(names)-max(maxUnconfirmed, in.Policy.Room.Limit)):]
}

// lacksEnd tells whether the status does not know of the run of a child that has ended, or still awaits that attempt: a
// run that is to be repeated keeps its place.
func lacksEnd(in *Input, c Child, status *Memory) bool {
	if !in.Traits.Durable.Has(PartCursor) {
		return false
	}
	return timeUnrecorded(in, c, status) || slices.ContainsFunc(status.Active, func(r ActiveRun) bool {
		return r.RetryAt != nil && attemptName(childName(in, r.Time), r.Attempt+1) == c.Name
	})
}

// stillUnconfirmed are the carried names of which this sync has found out nothing yet.
func (in *Input) stillUnconfirmed() []string {
	return slices.DeleteFunc(slices.Clone(in.Carried.inProcess().unconfirmed), func(name string) bool {
		read, asked := in.readAnswer(name)
		return cached(in, name) || asked && read.err == nil
	})
}

// mayExist tells whether nobody can say if there is a child of that name: the answer to its create got lost, in this sync
// or an earlier one, and it could not be read since. Its scheduled time has no result until then (timetable.md 5.9).
func (in *Input) mayExist(name string) bool {
	if read, asked := in.readAnswer(name); asked && read.err == nil || cached(in, name) {
		return false
	}
	if in.attempted(name) != nil {
		return in.created(name, CreateUnconfirmed) != nil || in.created(name, CreateNameTaken) != nil
	}
	return slices.Contains(in.Carried.inProcess().unconfirmed, name)
}

// unconfirmedReads asks what became of the creates of earlier syncs that got no answer, where the status holds a cursor:
// its books are of what has started.
func unconfirmedReads(in *Input) (reads []ReadRequest) {
	if !in.Traits.Durable.Has(PartCursor) {
		return nil
	}
	for _, name := range in.Carried.inProcess().unconfirmed {
		if _, asked := in.readAnswer(name); !asked && in.mayExist(name) {
			reads = append(reads, in.requestChild(name, "an earlier create may have succeeded"))
		}
	}
	return reads
}

// unreadStarts tells why it is not known what earlier syncs have started: a create got no answer, it cannot be read, and
// the status tells neither of a time that waits for it nor of a run whose next attempt it is. Under Replace such a run may
// have to give its place to another one, which nobody can decide until its attempt is read.
func unreadStarts(in *Input, memory *Memory) (err error) {
	if !in.Traits.Durable.Has(PartCursor) {
		return nil
	}
	for _, name := range in.Carried.inProcess().unconfirmed {
		if !in.mayExist(name) || slices.ContainsFunc(memory.Waiting, func(w WaitingTime) bool { return childName(in, w.Time) == name }) ||
			!in.replaces() && slices.ContainsFunc(memory.Active, func(r ActiveRun) bool { return attemptName(childName(in, r.Time), r.Attempt+1) == name }) {
			continue
		}
		read, _ := in.readAnswer(name)
		err = errors.Join(err, fmt.Errorf("reading %s %s, which may have been created: %w", in.Traits.ChildKind, name, read.err))
	}
	for _, run := range in.Carried.inProcess().attempts {
		if read, asked := in.readAnswer(run.Name); asked && read.err != nil && run.RetryAt == nil {
			err = errors.Join(err, fmt.Errorf("reading %s %s, which this process has started: %w", in.Traits.ChildKind, run.Name, read.err))
		}
	}
	return err
}

// clearUp reads what became of creates that got no answer; the sync fails while that cannot be read.
func (s *syncState) clearUp(names ...string) {
	in, d := s.in, &s.start
	for _, name := range names {
		if slices.Contains(d.unclear, name) {
			continue
		}
		d.unclear = append(d.unclear, name)
		if read, asked := in.readAnswer(name); !asked {
			d.addReads(in.requestChild(name, "an earlier create may have succeeded"))
		} else {
			d.err = errors.Join(d.err, fmt.Errorf("reading %s %s, which may have been created: %w", in.Traits.ChildKind, name, read.err))
		}
	}
}

// unclear are the names of all children of which nobody can tell whether they exist.
func (in *Input) unclear() []string {
	names := slices.DeleteFunc(in.stillUnconfirmed(), func(name string) bool { return !in.mayExist(name) })
	for _, c := range in.done.creates {
		if in.mayExist(c.start.Name) && !slices.Contains(names, c.start.Name) {
			names = append(names, c.start.Name)
		}
	}
	return names
}

func cached(in *Input, name string) bool {
	return slices.ContainsFunc(in.Children, func(c Child) bool { return c.Name == name })
}
