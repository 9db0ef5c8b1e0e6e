// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ownerReads asks for the live CronJob when an unfinished child is not in the active list: perhaps only the cache does
// not show our last status write yet (cronjob.md K8a, V8). Kinds that rebuild the list have nothing to compare.
func ownerReads(in *Input) []ReadRequest {
	if in.Traits.ActiveRebuilt || in.read.owner {
		return nil
	}
	for _, c := range unlistedChildren(in) {
		return []ReadRequest{in.requestOwner(fmt.Sprintf("%s %s is unfinished and not in status.active", in.Traits.ChildKind, c.Name))}
	}
	return nil
}

// unlistedChildren are the unfinished children of the cache that status.active does not list. A child that only
// a live read of this sync showed is not one of them: it was looked for.
func unlistedChildren(in *Input) []Child {
	var found []Child
	for _, c := range in.Children {
		if ours(in, c) && !c.Phase.finished() && !listed(in.Stored.Active, c.UID) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, byName)
	return found
}

// activeReads asks for the live object of each active reference that no child explains: deleted, or not in the cache
// yet (cronjob.md K9, Q4); also of each attempt of which only this process knows that it was active. A reference that
// points outside the namespace or nowhere needs no read: nothing of ours is there.
func activeReads(in *Input, all []Child) []ReadRequest {
	var reads []ReadRequest
	ask := func(refs []ActiveRun, why string) {
		for _, ref := range refs {
			if ref.RetryAt != nil {
				continue // it has no child just now
			}
			if known(all, ref.UID) || !inNamespace(in, ref) {
				continue
			}
			read := in.requestChild(ref.Name, why)
			asked := slices.ContainsFunc(reads, func(other ReadRequest) bool { return other.Name == read.Name })
			if _, answered := in.readAnswer(ref.Name); answered || asked {
				continue
			}
			reads = append(reads, read)
		}
	}
	ask(in.Stored.Active, "in status.active, but the cache has no such child")
	ask(in.Carried.inProcess().attempts, "not in status.active yet, and the cache has no such child")
	return reads
}

func inNamespace(in *Input, ref ActiveRun) bool {
	return ref.Name != "" && (ref.Namespace == "" || ref.Namespace == in.Owner.Namespace)
}

// requestOwner asks for the live object itself.
func (in *Input) requestOwner(why string) ReadRequest {
	return ReadRequest{Owner: true, Namespace: in.Owner.Namespace, Name: in.Owner.Name, Why: why}
}

// requestChild asks for the object that has a child's name.
func (in *Input) requestChild(name, why string) ReadRequest {
	return ReadRequest{Namespace: in.Owner.Namespace, Name: name, Why: why}
}

// readAnswer gives the answer to a live read of the object of that name, if there was one in this sync.
func (in *Input) readAnswer(name string) (readResult, bool) {
	result, ok := in.read.children[name]
	return result, ok
}

func listed(refs []ActiveRun, uid types.UID) bool {
	return slices.ContainsFunc(refs, func(r ActiveRun) bool { return r.UID == uid })
}

func known(all []Child, uid types.UID) bool {
	return slices.ContainsFunc(all, func(c Child) bool { return c.UID == uid })
}

// takenAwayInterval is how often a run is read whose child somebody took from us.
const takenAwayInterval = time.Minute

// readTakenAwayAt is when to look again at active runs whose children somebody took from us, zero if there is none. Where
// the status holds how runs end, it says that they are active until it is seen that they are not, and while nothing is
// due, as in a pause, no other sync would see it.
func (s *syncState) readTakenAwayAt() time.Time {
	if !s.observed.takenAway || !s.in.Traits.Durable.Has(PartResults) {
		return time.Time{}
	}
	return s.in.Now.Add(takenAwayInterval).UTC()
}
