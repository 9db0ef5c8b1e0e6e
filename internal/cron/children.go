// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ours tells whether this CronJob, and not an earlier one of the same name or another kind, controls the child
// (cronjob.md Q6). Nothing else, name and labels least of all, makes an object a child.
func ours(in *Input, c Child) bool {
	ref := c.Controller
	if ref == nil || ref.UID == "" || ref.UID != in.Owner.UID || ref.Kind != in.Traits.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == in.Traits.Group
}

// children gives the CronJob's children, each once, by name: those handed in, in the state that a live read of this
// sync showed, and those that only a live read showed because the cache is behind.
func children(in *Input) []Child {
	if len(in.read.children) == 0 && in.hasOwnByName() {
		return in.Children
	}
	all := make([]Child, 0, len(in.Children)+len(in.read.children))
	at := map[types.UID]int{}
	add := func(c Child) {
		if i, again := at[c.UID]; again {
			all[i] = c
		} else {
			at[c.UID] = len(all)
			all = append(all, c)
		}
	}
	for _, c := range in.Children {
		if ours(in, c) {
			add(c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.read.children)) {
		if c := in.read.children[name].child; c != nil && ours(in, *c) {
			add(*c)
		}
	}
	slices.SortFunc(all, byName)
	return all
}

// hasOwnByName tells whether the children handed in are ours, each once, by name: then nothing is to be made of them.
func (in *Input) hasOwnByName() bool {
	uids := map[types.UID]struct{}{}
	for i := range in.Children {
		c := &in.Children[i]
		if _, again := uids[c.UID]; again || !ours(in, *c) || i > 0 && byName(in.Children[i-1], *c) > 0 {
			return false
		}
		uids[c.UID] = struct{}{}
	}
	return true
}

// childName is the name of the child for scheduled time t, and by that the lock on t (cronjob.md 1.5). Two scheduled
// times of one minute share a name in kinds that count minutes (B7).
func childName(in *Input, t time.Time) string {
	if name := in.Traits.RunName; name != nil {
		return name(in.Owner.Name, t)
	}
	unit := int64(max(in.Traits.NameUnit, time.Second) / time.Second)
	n := t.Unix()
	q := n / unit
	if n%unit < 0 {
		q--
	}
	var room [64]byte // for most names: one allocation instead of two
	return string(strconv.AppendInt(append(append(room[:0], in.Owner.Name...), '-'), q, 10))
}

// proof is the scheduled time that the child was made for, if it proves one. Its name must be the one of that time,
// so that a stamp which a user copied into another Job claims nothing; kinds with TrustStamp do without.
func proof(in *Input, c Child) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, c.Stamp)
	if err != nil {
		return time.Time{}, false
	}
	if !in.Traits.TrustStamp && c.Name != attemptName(childName(in, t), c.Attempt) {
		return time.Time{}, false
	}
	return t, true
}

// timeUnrecorded tells whether the child proves a scheduled time that status does not know of yet: an earlier sync
// started it and could not write that down (cronjob.md R1, R2).
func timeUnrecorded(in *Input, c Child, status *Memory) bool {
	t, ok := proof(in, c)
	if in.Traits.Durable.Has(PartCursor) {
		return ok && (t.After(baseOf(in, status)) && !t.After(in.Now) || waits(status.Waiting, t))
	}
	return ok && (status.LastSchedule == nil || t.After(*status.LastSchedule))
}

// startUnrecorded tells whether the child should be in the active list and is not, or is finished and has not been
// reported: an earlier sync started it and could not write that down. One that runs belongs there also when later times
// have been recorded meanwhile; one that is on its way out was replaced.
func startUnrecorded(in *Input, c Child) bool {
	if listed(in.Stored.Active, c.UID) {
		return false
	}
	if in.Traits.Durable.Has(PartCursor) { // its counts know of every run that is older than the cursor
		return timeUnrecorded(in, c, &in.Stored)
	}
	_, started := proof(in, c)
	return timeUnrecorded(in, c, &in.Stored) || started && !c.Phase.finished() && !c.Deleting
}
