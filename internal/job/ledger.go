// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// ledger counts every finished pod exactly once (job.md 3). Each pod goes
// through four states that durable facts alone tell apart:
//
//	          finalizer  UID in status  in the counter
//	P0 fresh     yes          no             no
//	P1 recorded  yes          yes            no          after a status write
//	P2 released  no           yes            no          after the finalizer was removed
//	P3 counted   no           no             yes         after the next status write
//
// so a crash anywhere leaves a state from which the next sync goes on. An index
// in completedIndexes is as good as a UID and needs no settling, because
// writing it twice changes nothing.
type ledger struct {
	// succeeded and failed are the counters, succeeded only for NonIndexed Jobs.
	succeeded, failed int32
	// awaitedSucceeded and awaitedFailed are the UIDs recorded and not yet
	// counted (P1 and P2).
	awaitedSucceeded, awaitedFailed []types.UID
	recorded                        sets.Set[types.UID]
	// release are the pods whose finalizer may go once this ledger is written.
	release []*view
	// fresh is how many pods and indexes this write records first.
	fresh int
	// limited: the list of UIDs is full. rest are the pods that it keeps out.
	limited bool
	rest    []*view
	// unreleased: there are more finalizers that may go than one sync may remove.
	unreleased bool
	// unsure: a recorded pod is not among the pods and the pods may be older than
	// the Job, so it is not known whether its finalizer is gone.
	unsure bool
	// actions of the failure policy on the pods recorded.
	actions map[batchv1.PodFailurePolicyAction]int
	// finish times of the pods recorded, and of those that an Ignore rule keeps
	// out.
	successes, failures []time.Time
	// remarks on pods that are let go although they cannot be counted.
	remarks []Note
}

// openLedger reads the stored bookkeeping and settles it: recorded pods whose
// finalizer is gone are counted (P2 to P3).
func (s *syncing) openLedger() *ledger {
	status := &s.job.Status
	l := &ledger{
		succeeded: max(0, status.Succeeded),
		failed:    max(0, status.Failed),
		recorded:  sets.New[types.UID](),
	}
	if u := status.UncountedTerminatedPods; u != nil {
		l.awaitedSucceeded = s.settle(l, u.Succeeded, &l.succeeded)
		l.awaitedFailed = s.settle(l, u.Failed, &l.failed)
	}
	return l
}

// recordedPods are the pods in the stored status that are not yet counted.
type recordedPods struct{ succeeded, failed sets.Set[types.UID] }

func recorded(job *batchv1.Job) recordedPods {
	u := job.Status.UncountedTerminatedPods
	if u == nil {
		return recordedPods{}
	}
	// A UID that is in both lists was recorded as succeeded, see settle.
	succeeded := sets.New(u.Succeeded...)
	return recordedPods{succeeded, sets.New(u.Failed...).Difference(succeeded)}
}

func (r recordedPods) has(uid types.UID) bool { return r.succeeded.Has(uid) || r.failed.Has(uid) }

func (s *syncing) settle(l *ledger, uids []types.UID, counter *int32) (left []types.UID) {
	for _, uid := range uids {
		if uid == "" || l.recorded.Has(uid) {
			continue
		}
		l.recorded.Insert(uid)
		v, there := s.tally.byUID[uid]
		switch {
		case v != nil && v.held:
			left = append(left, uid)
		case !there && !s.podsCurrent:
			left = append(left, uid)
			l.unsure = true
		default:
			*counter++
		}
	}
	return left
}

// isFresh reports whether a pod is P0 and one that can be counted at all.
func (s *syncing) isFresh(v *view) bool {
	return v.held && !s.book.recorded.Has(v.uid()) && (s.indexes == nil || s.indexes.valid(v))
}

// account records the pods that are to be counted with this write and lists the
// finalizers that may go after it. stopped are the pods that were deleted in
// this sync because the Job ends. UIDs and finalizers are limited, indexes are
// not: they take no more room however many there are (job.md 2.7, T5).
func (s *syncing) account(stopped sets.Set[types.UID]) *ledger {
	l := s.book.clone()
	newIndexes := map[int]bool{}
	for _, v := range s.heldPods() {
		if !s.mayRelease(v, stopped) {
			continue
		}
		if !l.recorded.Has(v.uid()) {
			byIndex := s.indexes != nil && v.succeeded()
			if !byIndex && len(l.awaitedSucceeded)+len(l.awaitedFailed) >= s.options.MaxUncounted {
				l.limited = true
				l.rest = append(l.rest, v)
				continue
			}
			s.record(l, v, newIndexes)
		}
		if len(l.release) >= s.options.MaxUncounted {
			l.unreleased = true
			continue
		}
		l.release = append(l.release, v)
	}
	l.fresh += len(newIndexes)
	return l
}

// whole is the ledger with the rest recorded too, for a write that ends the
// Job: such a write counts at once and carries no UIDs, so their number is no
// limit, and the finalizers of a finished Job come off later as well ([leftovers]).
func (s *syncing) whole(l *ledger) *ledger {
	if !l.limited {
		return l
	}
	w := l.clone()
	newIndexes := map[int]bool{}
	for _, v := range w.rest {
		s.record(w, v, newIndexes)
	}
	w.fresh += len(newIndexes)
	w.limited, w.unreleased = false, true
	return w
}

// heldPods in the order of accounting: recorded ones first (they only wait for
// their finalizer to go), then by index, then by age.
func (s *syncing) heldPods() []*view {
	var held []*view
	for _, v := range s.tally.pods {
		if v.held {
			held = append(held, v)
		}
	}
	waits := func(v *view) int { return rank(!s.book.recorded.Has(v.uid())) }
	slices.SortStableFunc(held, func(a, b *view) int {
		order := cmp.Compare(waits(a), waits(b))
		if order == 0 && s.indexes != nil {
			order = cmp.Compare(a.index, b.index)
		}
		return order
	})
	return held
}

// mayRelease reports whether the finalizer of a held pod may go (job.md 2.7, T4).
// A pod that still runs keeps it, unless the Job is being deleted or the pod was
// stopped because the Job ends: what it does until then has to be counted.
func (s *syncing) mayRelease(v *view, stopped sets.Set[types.UID]) bool {
	switch {
	case s.job.DeletionTimestamp != nil, v.succeeded():
		return true
	case s.verdict.Outcome != Undecided:
		return !v.active() || stopped.Has(v.uid())
	case !s.hasFailed(v):
		return false
	default:
		return s.indexes == nil || s.indexes.delayed[v.index] != v
	}
}

// record takes one fresh pod into the books, if it counts.
func (s *syncing) record(l *ledger, v *view, newIndexes map[int]bool) {
	valid := s.indexes == nil || s.indexes.valid(v)
	switch {
	case !valid:
		if v.index == unknownIndex && ended(v.pod) {
			l.remarks = append(l.remarks, noIndex(v.pod))
		}
	case v.succeeded():
		l.successes = append(l.successes, finishTime(v.pod))
		if s.indexes == nil {
			l.awaitedSucceeded = append(l.awaitedSucceeded, v.uid())
			l.fresh++
		} else if !s.indexes.stored.Has(v.index) {
			newIndexes[v.index] = true
		}
	case s.countsAsFailed(v):
		l.failures = append(l.failures, finishTime(v.pod))
		match := s.policy(v)
		if match.action != "" {
			if l.actions == nil {
				l.actions = map[batchv1.PodFailurePolicyAction]int{}
			}
			l.actions[match.action]++
		}
		if match.counts() {
			l.awaitedFailed = append(l.awaitedFailed, v.uid())
			l.fresh++
		}
	}
}

// countsAsFailed reports whether a pod that gives up its finalizer without
// having succeeded is a failure: it failed by itself, or it was stopped because
// the Job fails. Pods stopped because the Job succeeded are none, even when a
// crash lets us see them again only after they ended: what is being deleted
// after the success was stored, we deleted.
func (s *syncing) countsAsFailed(v *view) bool {
	switch s.verdict.Outcome {
	case Failure:
		return true
	case Success:
		if s.verdict.Stored && (v.terminating() || v.pod.DeletionTimestamp != nil) {
			return false
		}
	}
	return s.hasFailed(v)
}

// awaits reports whether the pod is recorded and not yet counted.
func (l *ledger) awaits(uid types.UID) bool {
	return slices.Contains(l.awaitedSucceeded, uid) || slices.Contains(l.awaitedFailed, uid)
}

// closed counts everything that is recorded, for the write that ends the Job: a
// finished Job is never counted again, so it does not matter that finalizers
// are still on.
func (l *ledger) closed() *ledger {
	l = l.clone()
	l.succeeded += int32(len(l.awaitedSucceeded))
	l.failed += int32(len(l.awaitedFailed))
	l.awaitedSucceeded, l.awaitedFailed = nil, nil
	return l
}

func (l *ledger) clone() *ledger {
	c := *l
	c.awaitedSucceeded, c.awaitedFailed = slices.Clone(l.awaitedSucceeded), slices.Clone(l.awaitedFailed)
	c.release, c.actions = slices.Clone(l.release), maps.Clone(l.actions)
	c.successes, c.failures = slices.Clone(l.successes), slices.Clone(l.failures)
	c.remarks = slices.Clone(l.remarks)
	return &c
}
