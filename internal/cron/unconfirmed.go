// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "slices"

// A create can succeed and its answer get lost. The child then exists, and neither the status nor, for a while, the
// cache knows it: under Forbid the next scheduled time would start beside it. So an answer that says neither yes nor
// no is followed by a live read, and the name is carried to later syncs and read again before each start that must not
// overlap, until the cache or the status shows what has it.

// maxUnconfirmed bounds what is carried; the server must be away for many scheduled times to get there.
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
	return names[max(0, len(names)-maxUnconfirmed):]
}

// stillUnconfirmed are the carried names of which this sync has found out nothing yet.
func (in *Input) stillUnconfirmed() []string {
	return slices.DeleteFunc(slices.Clone(in.Carried.inProcess().unconfirmed), func(name string) bool {
		read, asked := in.readAnswer(name)
		return cached(in, name) || asked && read.err == nil
	})
}

func cached(in *Input, name string) bool {
	return slices.ContainsFunc(in.Children, func(c Child) bool { return c.Name == name })
}
