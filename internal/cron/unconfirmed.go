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
// status.
func unconfirmedAfter(in *Input, status *Memory) []string {
	names := slices.Clone(in.Carried.inProcess().unconfirmed)
	for _, c := range in.done.creates {
		unclear := c.result.Outcome == CreateUnconfirmed || c.result.Outcome == CreateNameTaken
		if unclear && !slices.Contains(names, c.start.Name) {
			names = append(names, c.start.Name)
		}
	}
	stored := in.Stored.Active
	if in.done.record != nil && in.done.record.err == nil {
		stored = status.Active
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		if cached(in, name) {
			return true
		}
		read, asked := in.readAnswer(name)
		if !asked || read.err != nil {
			return false
		}
		return read.child == nil || !ours(in, *read.child) || read.child.Phase.finished() || listed(stored, read.child.UID)
	})
	return names[max(0, len(names)-max(maxUnconfirmed, in.Policy.Room.Limit)):]
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
	return in.created(name, CreateUnconfirmed) != nil || in.created(name, CreateNameTaken) != nil ||
		slices.Contains(in.Carried.inProcess().unconfirmed, name)
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
	names := in.stillUnconfirmed()
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
