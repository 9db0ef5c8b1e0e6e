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

// soon is the delay before a sync that goes on with what one sync may not do at
// once.
const soon = 10 * time.Millisecond

// syncing is what is known in one sync: read from the snapshot, then derived
// step by step by Decide, and fixed from then on.
type syncing struct {
	job         *batchv1.Job
	now         time.Time
	options     Options
	podsCurrent bool

	tally *tally
	// everyPod is what the snapshot gave, the Job's or not.
	everyPod []*corev1.Pod
	// onlyFailed: terminating pods are neither failed nor replaced.
	onlyFailed bool
	// creationEnds: the namespace takes no more pods.
	creationEnds bool
	// waiting for own creations to show up, at most until awaitedUntil.
	waiting      bool
	awaitedUntil time.Time
	// start of the current run, see [startTime].
	start time.Time
	// book is the stored bookkeeping, settled.
	book *ledger
	// indexes of an Indexed Job; nil otherwise.
	indexes *indexes
	// succeeded and failed are the true totals: counted, recorded and fresh.
	// succeeded of an Indexed Job is its number of completed indexes.
	succeeded, failed int
	// remembered is the backoff record as it was; backoff has all fresh pods
	// worked in.
	remembered, backoff Backoff
	verdict             Verdict
	// managed: pods were managed, so the suspension may be marked.
	managed bool

	policies map[*view]policyMatch
}

// Decide gives the plan for one sync of a Job. It is total, deterministic and
// silent, changes nothing it is given, and may be called from many goroutines
// at once. See the package documentation for what to do with the answer.
func Decide(snapshot Snapshot) Plan {
	options := snapshot.Options.withDefaults()
	if plan, skip := skipped(snapshot, options); skip {
		return plan
	}
	job := snapshot.Job
	have, claims, left := claim(job, snapshot.Pods, snapshot.Memory)
	s := &syncing{
		job: job, now: snapshot.Now, options: options,
		podsCurrent:  snapshot.PodsCurrent,
		tally:        count(have, recorded(job), snapshot.Memory, snapshot.Now, options.ExpectationTimeout),
		everyPod:     snapshot.Pods,
		onlyFailed:   replacesOnlyFailed(job),
		creationEnds: snapshot.Memory.NamespaceTerminating,
		start:        startTime(job, snapshot.Now),
		remembered:   snapshot.Memory.Backoff,
		policies:     map[*view]policyMatch{},
	}
	s.waiting, s.awaitedUntil = awaited(snapshot, options.ExpectationTimeout)
	s.book = s.openLedger()
	if CompletionMode(job) == batchv1.IndexedCompletion {
		s.indexes = s.findIndexes()
	}
	s.total()
	s.verdict = s.judge()

	// Here a hook that prepares other objects before pods are managed would
	// run, and could fail the sync (gang scheduling, job.md 1.11).
	plan := Plan{Claim: claims, Cleanup: left, Action: ActionReconciling, Verdict: s.verdict, LookAgain: s.book.unsure, sync: s}
	switch {
	case s.verdict.Outcome == Undecided && !s.waiting && job.DeletionTimestamp == nil:
		s.managed = true
		s.managePods(&plan)
	case s.verdict.Stored:
		plan.Delete = s.stopAll()
	}
	plan.Wake = earlier(plan.Wake, s.wake())
	return plan
}

// skipped answers for Jobs that need nothing.
func skipped(snapshot Snapshot, options Options) (Plan, bool) {
	job := snapshot.Job
	switch {
	case job == nil:
		return Plan{Skip: SkipGone, Forget: true}, true
	case !Mine(job, options):
		return Plan{Skip: SkipNotOurs, Forget: true}, true
	case Finished(job):
		return Plan{Skip: SkipFinished, Forget: true, Cleanup: leftovers(snapshot)}, true
	case snapshot.Memory.Finished:
		return Plan{Skip: SkipJustEnded, Cleanup: leftovers(snapshot)}, true
	}
	switch CompletionMode(job) {
	case batchv1.NonIndexedCompletion:
	case batchv1.IndexedCompletion:
		if job.Spec.Completions == nil {
			return Plan{Skip: SkipMalformed, Notes: []Note{malformed()}}, true
		}
	default:
		return Plan{Skip: SkipUnknownMode, Notes: []Note{unknownMode()}}, true
	}
	return Plan{}, false
}

// leftovers are the pods of a finished Job from which the finalizer was not
// removed: the controller stopped between the last write and the patches.
func leftovers(snapshot Snapshot) []PodRef {
	var refs []PodRef
	for _, pod := range snapshot.Pods {
		if pod != nil && hasFinalizer(pod) && pod.Namespace == snapshot.Job.Namespace &&
			metav1.IsControlledBy(pod, snapshot.Job) && !snapshot.Memory.Unfinalizing.Has(pod.UID) {
			refs = append(refs, refOf(pod))
		}
	}
	return refs
}

// CompletionMode is spec.completionMode with its default.
func CompletionMode(job *batchv1.Job) batchv1.CompletionMode {
	return ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion)
}

// total adds up what is counted, recorded and fresh, and works the fresh pods
// into the backoff record.
func (s *syncing) total() {
	succeeded := int(s.book.succeeded) + len(s.book.awaitedSucceeded)
	s.failed = int(s.book.failed) + len(s.book.awaitedFailed)
	var successes, failures []time.Time
	for _, v := range s.tally.pods {
		switch {
		case !s.isFresh(v):
		case v.succeeded():
			succeeded++
			successes = append(successes, finishTime(v.pod))
		case s.hasFailed(v):
			if s.policy(v).counts() {
				s.failed++
			}
			failures = append(failures, finishTime(v.pod))
		}
	}
	s.succeeded = succeeded
	if s.indexes != nil {
		s.succeeded = s.indexes.completed.Len()
	}
	s.backoff = s.remembered.after(successes, failures, s.now)
}

// policy is what the pod failure policy says about a pod, looked up once.
func (s *syncing) policy(v *view) policyMatch {
	if s.job.Spec.PodFailurePolicy == nil {
		return policyMatch{}
	}
	match, ok := s.policies[v]
	if !ok {
		match = matchFailurePolicy(s.job.Spec.PodFailurePolicy, v.pod)
		s.policies[v] = match
	}
	return match
}

// wake is when time alone makes a difference.
func (s *syncing) wake() (at time.Time) {
	if s.waiting {
		at = earlier(at, s.awaitedUntil)
	}
	if s.book.unsure {
		at = earlier(at, s.now.Add(s.options.SyncPeriod))
	}
	if end, ok := deadline(s.job, s.start); ok && s.verdict.Outcome == Undecided {
		at = earlier(at, end)
	}
	return at
}
