// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// PlanStatus takes in what became of the pods and gives the status write of this sync and the finalizers that may go
// after it (job.md 2.7). It may be called more than once and does not change the plan.
func (p Plan) PlanStatus(r Results) StatusPlan {
	s := p.sync
	if s == nil {
		return StatusPlan{}
	}
	after := s.afterEffects(p, r)
	acc, ends := s.account(after.stopped), false
	if whole := s.withPostponed(acc); s.mayFinish(after, whole) {
		acc, ends = whole.allCounted(), true
	}
	status, events := s.newStatus(after, acc)
	events = append(events, acc.events[:min(len(acc.events), s.options.EventsPerSync)]...)
	if ends {
		setTerminal(s.job, status, s.verdict, s.stamp())
		events = append(events, finishEvents(s.job, s.verdict, status.Succeeded)...)
	}
	plan := StatusPlan{
		Events:       podEvents(p, r, s.options.EventsPerSync),
		PodsCreation: after.creation,
		Write: StatusWrite{
			Events:   events,
			Finished: ends,
			Backoff:  s.lastBackoff.after(acc.successTimes, acc.failureTimes, s.now),
		},
	}
	plan.Wake, plan.Remainder = s.wakeAfter(after, acc, ends)
	if changed(&s.job.Status, status) {
		plan.Write.Status, plan.Write.Urgency = status, s.urgency(status, after, acc, ends)
	}
	plan.Write.Metrics = s.metrics(status, acc, ends)
	for _, v := range acc.unfinalize {
		ref := refOf(v.pod)
		if !PodFinished(v.pod) && !acc.isUncounted(v.uid()) {
			ref = refAtVersion(v.pod) // it may have ended meanwhile, and then it counts
		}
		plan.Unfinalize = append(plan.Unfinalize, ref)
	}
	return plan
}

// podsAfter is the pods as they are after what this sync did to them.
type podsAfter struct {
	active, ready, terminating int
	// stopped are pods deleted because the Job ends.
	stopped  sets.Set[types.UID]
	creation PodsCreation
}

func (s *syncState) afterEffects(p Plan, r Results) podsAfter {
	a := podsAfter{
		active:      len(s.pods.active),
		ready:       s.pods.ready,
		terminating: s.pods.terminating,
		stopped:     sets.New[types.UID](),
	}
	for i, d := range p.Delete {
		outcome := resultOf(r.Delete, i).Outcome
		if outcome != Deleted && outcome != Vanished {
			continue
		}
		a.active--
		if d.ready {
			a.ready--
		}
		if outcome == Deleted {
			a.terminating++
		}
		if !d.Unfinalize && s.verdict.Stored {
			a.stopped.Insert(d.UID)
		}
	}
	for i := range p.Create {
		switch resultOf(r.Create, i).Outcome {
		case Created:
			a.creation.Succeeded++
			a.active++
		case Existed:
			a.active++
		case CreateFailed, CreateUnknown, NamespaceTerminating:
			a.creation.Failed++
		}
	}
	if a.creation != (PodsCreation{}) {
		a.creation.Reason = s.creationReason()
	}
	return a
}

// mayFinish reports whether this very write can end the Job: it is decided how, nothing runs, terminates or is being
// created, and it is known what is left to count; all of that goes into the write ([syncState.withPostponed]).
func (s *syncState) mayFinish(a podsAfter, acc *accounting) bool {
	return s.verdict.Outcome != Undecided &&
		a.active == 0 && a.terminating == 0 &&
		!s.creationsPending && !acc.podsStale
}

// stamp is Now with the resolution that the API stores.
func (s *syncState) stamp() metav1.Time { return metav1.NewTime(s.now.Truncate(time.Second)) }

// newStatus is the stored status brought up to date, short of the end. Conditions of others stay as they are.
func (s *syncState) newStatus(a podsAfter, acc *accounting) (*batchv1.JobStatus, []Event) {
	status := s.job.Status.DeepCopy()
	var events []Event
	if status.StartTime == nil && !suspended(s.job) {
		status.StartTime = ptr.To(s.stamp())
	}
	// A suspended Job that has all its successes is not marked: it ends, and the end needs a start time.
	if s.podsManaged && (!suspended(s.job) || !s.reached()) {
		events = append(events, markSuspension(s.job, status, s.stamp())...)
	}
	status.Active = int32(max(0, a.active))
	status.Ready = ptr.To(int32(max(0, a.ready)))
	status.Terminating = ptr.To(int32(max(0, a.terminating)))
	status.Failed = acc.failed
	status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{
		Succeeded: acc.uncountedSucceeded,
		Failed:    acc.uncountedFailed,
	}
	if s.indexes == nil {
		status.Succeeded = acc.succeeded
	} else {
		events = append(events, s.writeIndexes(status)...)
	}
	setInterim(status, s.verdict, s.stamp())
	return status, events
}

// writeIndexes writes the index sets and their number. The number may become smaller when the Job was scaled down, but
// the API server takes that only while parallelism equals completions; otherwise the old number stays until that holds
// again.
func (s *syncState) writeIndexes(status *batchv1.JobStatus) []Event {
	x := s.indexes
	status.CompletedIndexes = x.completed.String()
	if x.perIndex {
		status.FailedIndexes = ptr.To(x.failed.String())
	}
	real, stored := int32(x.completed.Len()), s.job.Status.Succeeded
	status.Succeeded = real
	if real < stored && !ptr.Equal(s.job.Spec.Completions, s.job.Spec.Parallelism) {
		status.Succeeded = stored
		return []Event{succeededKept(int(stored), int(real))}
	}
	return nil
}

// changed reports whether the status says anything new.
func changed(stored, status *batchv1.JobStatus) bool {
	old := *stored
	if old.UncountedTerminatedPods == nil {
		old.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return !equality.Semantic.DeepEqual(&old, status)
}

// continueDelay is the delay before the sync that continues what exceeded one sync's limits.
const continueDelay = 10 * time.Millisecond

// wakeAfter: what did not fit goes on in the next sync, where a verdict that was found just now stops the pods, too;
// what is recorded and loses its finalizer now is counted within a period.
func (s *syncState) wakeAfter(a podsAfter, acc *accounting, ends bool) (time.Time, Remainder) {
	switch {
	case len(acc.postponed) > 0:
		return s.now.Add(continueDelay), RemainderUncounted
	case !ends && s.verdict.Outcome != Undecided && !s.verdict.Stored && a.active > 0:
		return s.now.Add(continueDelay), RemainderNone
	case acc.moreToUnfinalize:
		return s.now.Add(continueDelay), RemainderFinalizers
	case !ends && len(acc.unfinalize) > 0 && len(acc.uncountedSucceeded)+len(acc.uncountedFailed) > 0:
		return s.now.Add(s.options.SyncPeriod), RemainderNone
	}
	return time.Time{}, RemainderNone
}

func (s *syncState) metrics(status *batchv1.JobStatus, acc *accounting, ends bool) Metrics {
	old := &s.job.Status
	m := Metrics{
		PodsSucceeded: max(0, int(status.Succeeded-max(0, old.Succeeded))),
		PodsFailed:    max(0, int(status.Failed-max(0, old.Failed))),
		PolicyActions: acc.policyActions,
	}
	if x := s.indexes; x != nil {
		m.PerIndex = x.perIndex
		m.IndexesSucceeded = x.completed.Minus(x.stored).Len()
		m.PodsSucceeded = m.IndexesSucceeded
		if x.perIndex {
			m.IndexesFailed = x.failed.Minus(x.storedFailed).Len()
		}
	}
	if ends {
		m.Reason = s.verdict.Reason
		m.Result = "succeeded"
		if s.verdict.Outcome == Failure {
			m.Result = "failed"
		}
	}
	return m
}

// resultOf is the result of the i-th effect; without one it was not tried.
func resultOf[T any](results []T, i int) (result T) {
	if i < len(results) {
		result = results[i]
	}
	return result
}
