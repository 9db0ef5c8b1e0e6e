// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Plan is the first answer of a decision: what to do to pods before anything is written. The zero Plan asks for
// nothing.
type Plan struct {
	// Skip says why the Job needs nothing at all; "" when it was decided upon. With a Skip only Forget, Cleanup and
	// Events can be set, and PlanStatus gives nothing.
	Skip Skip

	// Forget says that everything remembered about this Job's UID may be dropped.
	Forget bool

	// Cleanup are pods that hold the tracking finalizer although nobody will account for them: those of a finished Job,
	// and those of a Job that is being deleted which its selector does not match, so that they are neither released nor
	// counted. Remove it. NotFound is a success.
	Cleanup []PodRef

	// Events to publish at once.
	Events []Event

	// Claim comes first. If any of its effects is not a success, the rest of the plan is void: after all of them were
	// tried, gather and decide again (at once when a pod or the Job turned out to be gone or changed, with backoff
	// after another error).
	Claim Claim

	// Delete and Create are never both filled.
	Delete []Deletion
	Create []Creation

	// Wake is when the Job must be synced again although nothing happens to it; zero means never. It always lies after
	// Snapshot.Now.
	Wake time.Time

	// RelistPods says that recorded pods are missing from Pods while PodsCurrent is false: read the pods anew, so that
	// they are, and decide again, now or by Wake.
	RelistPods bool

	// Action is the label of the sync metrics.
	Action Action

	// Verdict is how the Job will end, if that is known.
	Verdict Verdict

	sync *syncState
}

// Skip is the reason for which a Job needs nothing.
type Skip string

// The reasons, in the order in which they are tried.
const (
	SkipGone         Skip = "gone"          // it does not exist
	SkipNotOurs      Skip = "not ours"      // spec.managedBy names somebody else
	SkipFinished     Skip = "finished"      // it is Complete or Failed
	SkipJustFinished Skip = "just finished" // we finished it, the cache does not show it yet
	SkipUnknownMode  Skip = "unknown"       // spec.completionMode is not one we know
	SkipMalformed    Skip = "malformed"     // Indexed without completions: nothing can be derived
)

// Action is what a sync did to pods, in the words of the sync metrics.
type Action string

// The values of the action label (job.md 8.1).
const (
	ActionReconciling Action = "reconciling"
	ActionTracking    Action = "tracking"
	ActionPodsCreated Action = "pods_created"
	ActionPodsDeleted Action = "pods_deleted"
)

// PodRef names one pod object. Calls about it carry the UID as a precondition; a conflict on it means that this pod is
// gone.
type PodRef struct {
	Namespace, Name string
	UID             types.UID
	// ResourceVersion that the snapshot shows; only for calls that must meet the pod as it was when they were decided
	// upon, and then they carry it: adoption, and the removal of the finalizer from a pod that has not ended and is not
	// recorded. A conflict on it: gather and decide again.
	ResourceVersion string
}

// Claim is what has to happen so that the Job controls exactly the pods that its selector matches (job.md 1.8).
type Claim struct {
	// Adopt are pods to give our owner reference ([OwnerReference]) and the tracking finalizer, in one patch with the
	// resource version: a pod that was adopted, counted and unfinalized already, and that a cache that lags still shows as
	// an orphan, must not get the finalizer again. Before the first of them read the Job live, once: it must exist with
	// the same UID and not be deleted.
	Adopt []PodRef
	// Release are pods from which both are taken, in one patch. NotFound is a success.
	Release []PodRef
}

// Deletion is one pod to delete, with the server's default grace.
type Deletion struct {
	PodRef
	// Unfinalize: first take off the tracking finalizer, then delete. The pod will never count as failed. The patch
	// carries the resource version, so that a pod that ended meanwhile is not thrown away uncounted; a conflict on it
	// is NotDeleted. A crash in between leaves a surplus pod that the next sync deletes. (A pod stopped because the Job
	// ends keeps the finalizer: it has to be counted.)
	Unfinalize bool
	// Why, in a few words.
	Why string

	ready bool
	// events to publish when it is done.
	events []Event
}

// Creation is one pod to create.
type Creation struct {
	// Pod is complete, with a deterministic name (see [PodName]): sending it twice makes one pod. When the API answers
	// AlreadyExists, read that pod: if the Job controls it report Existed; otherwise clear Name and create with
	// GenerateName, which is filled too.
	Pod *corev1.Pod
	// Index is the completion index, -1 for a NonIndexed Job.
	Index int

	// events to publish when it is done.
	events []Event
}

// Results report step 2, element by element in the order of the plan. Missing elements count as not tried.
type Results struct {
	Delete []DeleteResult
	Create []CreateResult
}

// DeleteResult is what became of a [Deletion].
type DeleteResult struct {
	Outcome DeleteOutcome
	// Message of the error, for the event; only with DeleteFailed.
	Message string
}

// DeleteOutcome of one call.
type DeleteOutcome int

// NotFound, and a conflict on the UID, are Vanished.
const (
	// NotDeleted is the zero value: not tried, or given up because the pod is not as the snapshot shows it (a conflict
	// on its ResourceVersion). Nothing was done to it; gather and decide again within a SyncPeriod.
	NotDeleted DeleteOutcome = iota
	Deleted
	Vanished
	DeleteFailed
)

// CreateResult is what became of a [Creation].
type CreateResult struct {
	Outcome CreateOutcome
	// Name of the pod as created; needed only when it is not the planned one.
	Name string
	// Message of the error, for the event; only with CreateFailed or CreateUnknown.
	Message string
}

// CreateOutcome of one call.
type CreateOutcome int

// NotCreated is the zero value: not tried.
const (
	NotCreated CreateOutcome = iota
	// Created by this call.
	Created
	// Existed already under this name and is controlled by this Job.
	Existed
	// CreateFailed: the API refused; no pod was made.
	CreateFailed
	// CreateUnknown: no answer. Keep the name in Expectations.Creating: the pod may exist, and asking again makes no
	// second one.
	CreateUnknown
	// NamespaceTerminating: refused because the namespace is going away. No event and no error: nothing can be done
	// about it. It is for Expectations.NamespaceTerminating.
	NamespaceTerminating
)

// StatusPlan is the second and last answer: what to write down, and which finalizers go after it.
type StatusPlan struct {
	// Events about pods, to publish whether or not the write succeeds.
	Events []Event

	// PodsCreation is what to add to the pod creation metric.
	PodsCreation PodsCreation

	// Write is the status write. If it fails, or is put off though not [UrgencyLazy], the sync ends here: nothing below
	// is carried out.
	Write StatusWrite

	// Unfinalize are pods from which the tracking finalizer is to be removed. NotFound is a success.
	Unfinalize []PodRef

	// Wake as in Plan; the earlier of the two counts.
	Wake time.Time
	// Remainder is what did not fit, and what to wake for then.
	Remainder Remainder
}

// Remainder is what a sync leaves to the next because of Options.MaxUncounted.
type Remainder string

const (
	// RemainderNone: everything fitted.
	RemainderNone Remainder = ""
	// RemainderUncounted: more pods have ended than the list of UIDs in the status holds. It must be emptied, by
	// removing the finalizers, and written again.
	RemainderUncounted Remainder = "uncounted pods"
	// RemainderFinalizers: only more finalizers may go. Whoever puts off those in Unfinalize puts off these, too, and
	// need not wake for them.
	RemainderFinalizers Remainder = "finalizers"
)

// StatusWrite is one status write; without a Status there is nothing to write.
type StatusWrite struct {
	// Status is the whole new status of the Job: a fresh value.
	Status *batchv1.JobStatus

	// Urgency is who waits for it.
	Urgency Urgency

	// Events and Metrics are to be published after the write succeeded, at once when there is nothing to write, and not
	// at all when it is left out.
	Events  []Event
	Metrics Metrics

	// Finished: this write ends the Job. It is for Expectations.Finished.
	Finished bool

	// Backoff is for Expectations.Backoff, when the write succeeded, is lazy and left out, or has nothing to write.
	Backoff Backoff
}

// Metrics are increments of metrics (job.md 8.1).
type Metrics struct {
	// PodsSucceeded and PodsFailed: growth of the status counters.
	PodsSucceeded, PodsFailed int
	// IndexesSucceeded and IndexesFailed: growth of the index sets.
	IndexesSucceeded, IndexesFailed int
	// PerIndex says that the Job has a backoff limit per index.
	PerIndex bool
	// PolicyActions: pods whose failure policy action took effect, by action.
	PolicyActions map[batchv1.PodFailurePolicyAction]int
	// Result is "succeeded" or "failed" when the Job ended with this write.
	Result string
	// Reason is the reason of its terminal condition.
	Reason string
}

// PodsCreation are the increments of job_pods_creation_total.
type PodsCreation struct {
	// Reason is "new", "recreate_terminating_or_failed" or "recreate_failed".
	Reason string
	// Succeeded and Failed calls.
	Succeeded, Failed int
}

// Event is one event about the Job.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason in CamelCase, as in job.md 2.11.
	Reason  string
	Message string
}
