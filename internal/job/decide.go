// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// syncState is what is known in one sync: read from the snapshot, then derived step by step by Decide, and fixed from
// then on.
type syncState struct {
	job         *batchv1.Job
	now         time.Time
	options     Options
	podsCurrent bool
	// allPods is what the snapshot gave, the Job's or not.
	allPods []*corev1.Pod
	// namespaceTerminating: no pod can be created any more.
	namespaceTerminating bool
	// replacesOnlyFailed: terminating pods are neither failed nor replaced.
	replacesOnlyFailed bool
	// start of the current run, see [startTime].
	start time.Time
	// lastBackoff is what the last sync left; backoff takes in the pods that have ended and are not accounted for, too.
	lastBackoff, backoff Backoff

	pods *jobPods
	// creationsPending: own creations have yet to show up, and are waited for at most until creationsExpire.
	creationsPending bool
	creationsExpire  time.Time
	// settled is the stored counters and recorded UIDs; recorded pods that are unfinalized have become counted in it.
	settled *accounting
	// indexes of an Indexed Job; nil otherwise.
	indexes *indexes
	// succeeded and failed are the true totals: counted, recorded and not accounted for. succeeded of an Indexed Job is
	// its number of completed indexes.
	succeeded, failed int
	verdict           Verdict
	// podsManaged: this sync ran managePods, on which [markSuspension] depends.
	podsManaged bool

	failurePolicyMatches map[*podView]policyMatch
}

// Decide gives the plan for one sync of a Job. It is total, deterministic and silent, changes nothing it is given, and
// may be called from many goroutines at once. See the package documentation for what to do with the answer.
func Decide(snapshot Snapshot) Plan {
	options := snapshot.Options.withDefaults()
	if plan, skip := skipped(snapshot, options); skip {
		return plan
	}
	plan := Plan{Action: ActionReconciling}

	// Which pods are the Job's, and in which state each of them is.
	var owned []claimedPod
	owned, plan.Claim, plan.Cleanup = claim(snapshot.Job, snapshot.Pods, snapshot.Expectations)
	s := newSyncState(snapshot, options, owned)

	// Which pods are counted, which are still to be counted, and the totals of both.
	s.settled = s.settleStored()
	if CompletionMode(s.job) == batchv1.IndexedCompletion {
		s.indexes = s.findIndexes()
	}
	s.addTotals()

	// How the Job ends, if that can be said now.
	s.verdict = s.findVerdict()

	// Which pods to create or delete.
	switch {
	case s.verdict.Outcome == Undecided && !s.creationsPending && s.job.DeletionTimestamp == nil:
		s.podsManaged = true
		s.managePods(&plan)
	case s.verdict.Stored:
		plan.Delete = s.deleteAll()
	}

	// When time alone asks for the next sync.
	plan.Wake = Earlier(plan.Wake, s.nextWake())
	plan.Verdict, plan.RelistPods, plan.sync = s.verdict, s.settled.podsStale, s
	return plan
}

func newSyncState(snapshot Snapshot, options Options, owned []claimedPod) *syncState {
	s := &syncState{
		job: snapshot.Job, now: snapshot.Now, options: options,
		podsCurrent:          snapshot.PodsCurrent,
		allPods:              snapshot.Pods,
		namespaceTerminating: snapshot.Expectations.NamespaceTerminating,
		replacesOnlyFailed:   replacesOnlyFailed(snapshot.Job),
		start:                startTime(snapshot.Job, snapshot.Now),
		lastBackoff:          snapshot.Expectations.Backoff,
		pods:                 classifyPods(owned, recorded(snapshot.Job), snapshot.Expectations, snapshot.Now, options.ExpectationTimeout),
		failurePolicyMatches: map[*podView]policyMatch{},
	}
	s.creationsPending, s.creationsExpire = pendingCreations(snapshot, options.ExpectationTimeout)
	return s
}

// skipped answers for Jobs that need nothing.
func skipped(snapshot Snapshot, options Options) (Plan, bool) {
	job := snapshot.Job
	switch {
	case job == nil:
		return Plan{Skip: SkipGone, Forget: true}, true
	case !IsOurs(job, options):
		return Plan{Skip: SkipNotOurs, Forget: true}, true
	case Finished(job):
		return Plan{Skip: SkipFinished, Forget: true, Cleanup: podsWithFinalizer(snapshot)}, true
	case snapshot.Expectations.Finished:
		return Plan{Skip: SkipJustFinished, Cleanup: podsWithFinalizer(snapshot)}, true
	}
	switch CompletionMode(job) {
	case batchv1.NonIndexedCompletion:
	case batchv1.IndexedCompletion:
		if job.Spec.Completions == nil {
			return Plan{Skip: SkipMalformed, Events: []Event{missingCompletions()}}, true
		}
	default:
		return Plan{Skip: SkipUnknownMode, Events: []Event{unknownMode()}}, true
	}
	return Plan{}, false
}

// podsWithFinalizer are the pods of a finished Job from which the finalizer was not removed: the controller stopped
// between the last write and the patches.
func podsWithFinalizer(snapshot Snapshot) []PodRef {
	var refs []PodRef
	for _, pod := range snapshot.Pods {
		if pod != nil && HasFinalizer(pod) && pod.Namespace == snapshot.Job.Namespace &&
			metav1.IsControlledBy(pod, snapshot.Job) && !snapshot.Expectations.Unfinalizing.Has(pod.UID) {
			refs = append(refs, refOf(pod))
		}
	}
	return refs
}

// CompletionMode is spec.completionMode with its default.
func CompletionMode(job *batchv1.Job) batchv1.CompletionMode {
	return ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion)
}

// addTotals adds up the pods that are counted, recorded and not accounted for, and works the latter into the back-off.
func (s *syncState) addTotals() {
	succeeded := int(s.settled.succeeded) + len(s.settled.uncountedSucceeded)
	s.failed = int(s.settled.failed) + len(s.settled.uncountedFailed)
	var successes, failures []time.Time
	for _, v := range s.pods.relevant {
		switch {
		case !s.isUnaccounted(v):
		case v.succeeded():
			succeeded++
			successes = append(successes, finishTime(v.pod))
		case s.hasFailed(v):
			if s.failurePolicyMatch(v).counts() {
				s.failed++
			}
			failures = append(failures, finishTime(v.pod))
		}
	}
	s.succeeded = succeeded
	if s.indexes != nil {
		s.succeeded = s.indexes.completed.Len()
	}
	s.backoff = s.lastBackoff.after(successes, failures, s.now)
}

// failurePolicyMatch is what the pod failure policy says about a pod, looked up once.
func (s *syncState) failurePolicyMatch(v *podView) policyMatch {
	if s.job.Spec.PodFailurePolicy == nil {
		return policyMatch{}
	}
	match, ok := s.failurePolicyMatches[v]
	if !ok {
		match = matchFailurePolicy(s.job.Spec.PodFailurePolicy, v.pod)
		s.failurePolicyMatches[v] = match
	}
	return match
}

// nextWake is when time alone makes a difference.
func (s *syncState) nextWake() (at time.Time) {
	if s.creationsPending {
		at = Earlier(at, s.creationsExpire)
	}
	if s.settled.podsStale {
		at = Earlier(at, s.now.Add(s.options.SyncPeriod))
	}
	if end, ok := deadline(s.job, s.start); ok && s.verdict.Outcome == Undecided {
		at = Earlier(at, end)
	}
	return at
}

// Earlier of two times of which zero means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
