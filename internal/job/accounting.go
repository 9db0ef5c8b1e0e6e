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

// accounting counts every finished pod exactly once (job.md 3). Each pod goes through four states that durable facts
// alone tell apart:
//
//	                  finalizer  UID in status  in the counter
//	P0 not accounted     yes          no             no
//	P1 recorded          yes          yes            no          after a status write
//	P2 unfinalized       no           yes            no          after the finalizer was removed
//	P3 counted           no           no             yes         after the next status write
//
// so a crash anywhere leaves a state from which the next sync goes on. An index in completedIndexes is as good as a UID
// and needs no settling, because writing it twice changes nothing.
type accounting struct {
	// succeeded and failed are the counters, succeeded only for NonIndexed Jobs.
	succeeded, failed int32
	// uncountedSucceeded and uncountedFailed are the UIDs recorded and not yet counted (P1 and P2); recorded are those
	// that the stored status has.
	uncountedSucceeded, uncountedFailed []types.UID
	recorded                            sets.Set[types.UID]
	// unfinalize are the pods whose finalizer may go once this is written.
	unfinalize []*podView
	// recordedNow is how many pods and indexes this write records first.
	recordedNow int
	// postponed are the pods for which the list of UIDs has no room.
	postponed []*podView
	// moreToUnfinalize: there are more finalizers that may go than one sync may remove.
	moreToUnfinalize bool
	// podsStale: a recorded pod is not among the pods and the pods may be older than the Job, so it is not known
	// whether its finalizer is gone.
	podsStale bool
	// policyActions of the failure policy on the pods recorded.
	policyActions map[batchv1.PodFailurePolicyAction]int
	// successTimes and failureTimes are when the pods recorded ended, and those that an Ignore rule keeps out.
	successTimes, failureTimes []time.Time
	// events about pods that lose the finalizer although they cannot be counted.
	events []Event
}

// settleStored reads what the status says of the pods accounted for, and counts the recorded ones whose finalizer is
// gone (P2 to P3).
func (s *syncState) settleStored() *accounting {
	status := &s.job.Status
	a := &accounting{
		succeeded: max(0, status.Succeeded),
		failed:    max(0, status.Failed),
		recorded:  sets.New[types.UID](),
	}
	if u := status.UncountedTerminatedPods; u != nil {
		a.uncountedSucceeded = s.settle(a, u.Succeeded, &a.succeeded)
		a.uncountedFailed = s.settle(a, u.Failed, &a.failed)
	}
	return a
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

func (s *syncState) settle(a *accounting, uids []types.UID, counter *int32) (left []types.UID) {
	for _, uid := range uids {
		if uid == "" || a.recorded.Has(uid) {
			continue
		}
		a.recorded.Insert(uid)
		v, there := s.pods.byUID[uid]
		switch {
		case v != nil && v.tracked:
			left = append(left, uid)
		case !there && !s.podsCurrent:
			left = append(left, uid)
			a.podsStale = true
		default:
			*counter++
		}
	}
	return left
}

// isUnaccounted reports whether a pod is P0 and one that can be counted at all.
func (s *syncState) isUnaccounted(v *podView) bool {
	return v.tracked && !s.settled.recorded.Has(v.uid()) && (s.indexes == nil || s.indexes.valid(v))
}

// account records the pods that are to be counted with this write and lists the finalizers that may go after it.
// stopped are the pods that were deleted in this sync because the Job ends. UIDs and finalizers are limited, indexes
// are not: they take no more room however many there are (job.md 2.7, T5).
func (s *syncState) account(stopped sets.Set[types.UID]) *accounting {
	a := s.settled.clone()
	newIndexes := map[int]bool{}
	for _, v := range s.trackedPods() {
		if !s.mayUnfinalize(v, stopped) {
			continue
		}
		if !a.recorded.Has(v.uid()) {
			byIndex := s.indexes != nil && v.succeeded()
			if !byIndex && len(a.uncountedSucceeded)+len(a.uncountedFailed) >= s.options.MaxUncounted {
				a.postponed = append(a.postponed, v)
				continue
			}
			s.record(a, v, newIndexes)
		}
		if len(a.unfinalize) >= s.options.MaxUncounted {
			a.moreToUnfinalize = true
			continue
		}
		a.unfinalize = append(a.unfinalize, v)
	}
	a.recordedNow += len(newIndexes)
	return a
}

// withPostponed has the postponed pods recorded too, for a write that ends the Job: such a write counts at once and
// carries no UIDs, so their number is no limit, and the finalizers of a finished Job come off later as well
// ([podsWithFinalizer]).
func (s *syncState) withPostponed(a *accounting) *accounting {
	if len(a.postponed) == 0 {
		return a
	}
	w := a.clone()
	newIndexes := map[int]bool{}
	for _, v := range w.postponed {
		s.record(w, v, newIndexes)
	}
	w.recordedNow += len(newIndexes)
	w.postponed, w.moreToUnfinalize = nil, true
	return w
}

// trackedPods in the order of accounting: recorded ones first (they only wait for their finalizer to go), then by
// index, then by age.
func (s *syncState) trackedPods() []*podView {
	var tracked []*podView
	for _, v := range s.pods.relevant {
		if v.tracked {
			tracked = append(tracked, v)
		}
	}
	unrecorded := func(v *podView) int { return rank(!s.settled.recorded.Has(v.uid())) }
	slices.SortStableFunc(tracked, func(a, b *podView) int {
		order := cmp.Compare(unrecorded(a), unrecorded(b))
		if order == 0 && s.indexes != nil {
			order = cmp.Compare(a.index, b.index)
		}
		return order
	})
	return tracked
}

// mayUnfinalize reports whether the finalizer of a tracked pod may go (job.md 2.7, T4). A pod that still runs keeps it,
// unless the Job is being deleted or the pod was stopped because the Job ends: what it does until then has to be
// counted.
func (s *syncState) mayUnfinalize(v *podView, stopped sets.Set[types.UID]) bool {
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

// record takes one pod that is not accounted for into the status, if it counts.
func (s *syncState) record(a *accounting, v *podView, newIndexes map[int]bool) {
	valid := s.indexes == nil || s.indexes.valid(v)
	switch {
	case !valid:
		if v.index == unknownIndex && PodFinished(v.pod) {
			a.events = append(a.events, invalidIndex(v.pod))
		}
	case v.succeeded():
		a.successTimes = append(a.successTimes, finishTime(v.pod))
		if s.indexes == nil {
			a.uncountedSucceeded = append(a.uncountedSucceeded, v.uid())
			a.recordedNow++
		} else if !s.indexes.stored.Has(v.index) {
			newIndexes[v.index] = true
		}
	case s.countsAsFailed(v):
		a.failureTimes = append(a.failureTimes, finishTime(v.pod))
		match := s.failurePolicyMatch(v)
		if match.action != "" {
			if a.policyActions == nil {
				a.policyActions = map[batchv1.PodFailurePolicyAction]int{}
			}
			a.policyActions[match.action]++
		}
		if match.counts() {
			a.uncountedFailed = append(a.uncountedFailed, v.uid())
			a.recordedNow++
		}
	}
}

// countsAsFailed reports whether a pod that gives up its finalizer without having succeeded is a failure: it failed by
// itself, or it was stopped because the Job fails. Pods stopped because the Job succeeded are none, even when a crash
// lets us see them again only after they ended: what is being deleted after the success was stored, we deleted.
func (s *syncState) countsAsFailed(v *podView) bool {
	switch s.verdict.Outcome {
	case Failure:
		return true
	case Success:
		if s.verdict.Stored && v.deletionRequested() {
			return false
		}
	}
	return s.hasFailed(v)
}

// isUncounted reports whether the pod is recorded and not yet counted.
func (a *accounting) isUncounted(uid types.UID) bool {
	return slices.Contains(a.uncountedSucceeded, uid) || slices.Contains(a.uncountedFailed, uid)
}

// allCounted counts everything that is recorded, for the write that ends the Job: a finished Job is never counted
// again, so it does not matter that finalizers are still on.
func (a *accounting) allCounted() *accounting {
	a = a.clone()
	a.succeeded += int32(len(a.uncountedSucceeded))
	a.failed += int32(len(a.uncountedFailed))
	a.uncountedSucceeded, a.uncountedFailed = nil, nil
	return a
}

func (a *accounting) clone() *accounting {
	c := *a
	c.uncountedSucceeded, c.uncountedFailed = slices.Clone(a.uncountedSucceeded), slices.Clone(a.uncountedFailed)
	c.unfinalize, c.policyActions = slices.Clone(a.unfinalize), maps.Clone(a.policyActions)
	c.successTimes, c.failureTimes = slices.Clone(a.successTimes), slices.Clone(a.failureTimes)
	c.events = slices.Clone(a.events)
	return &c
}
