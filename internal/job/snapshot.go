// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Finalizer is the tracking finalizer: a pod that holds it has not been accounted for yet and cannot vanish. It is the
// built-in controller's own name, so that a cluster from which Carillon was removed can clean up.
const Finalizer = batchv1.JobTrackingFinalizer

// Snapshot is everything one decision may look at. It is read, never changed; pods and Job may come straight from a
// shared cache.
type Snapshot struct {
	// Job as last read. nil means that it does not exist any more.
	Job *batchv1.Job

	// Pods are the candidates: all pods that the Job controls, and pods of its namespace without a controller that its
	// selector may match. Others are ignored, so a caller may pass more; nil elements are skipped. Order does not
	// matter.
	Pods []*corev1.Pod

	// PodsCurrent says that Pods are at least as new as Job. Only then does the absence of a recorded pod prove that
	// its finalizer was removed (assumption A2 of job.md 3.2). When false such pods stay recorded and Plan.RelistPods
	// asks for newer ones; everything else goes on.
	PodsCurrent bool

	// Now is the one instant of this decision.
	Now time.Time

	// Expectations are what this process did and the cache may not show yet. The zero value is right after a restart.
	Expectations Expectations

	// Options are the same for all Jobs. The zero value means defaults.
	Options Options
}

// Expectations are what the shell remembers about one Job, keyed by the Job's UID and dropped with it. All of it may be
// lost at any time: without Backoff a failed pod may be replaced before its delay is over, and without the rest at most
// a call is repeated that the API refuses or that changes nothing. They must be read before the pods are listed, so
// that a pod that enters the cache in between only causes caution.
type Expectations struct {
	// Creating has the names of pods whose creation was sent and which the pod cache has not shown yet, with the time
	// of sending. Entered before the call; removed when the pod is seen or when the call is known to have created
	// nothing. While an entry is neither visible in Snapshot.Pods nor older than Options.ExpectationTimeout, no pod is
	// created or deleted by choice and the Job cannot end.
	Creating map[string]time.Time

	// Deleting has the UIDs of pods whose deletion was sent, with the time of sending. Entered before the call; removed
	// when the pod is seen with a deletionTimestamp or gone, or when the call failed. Such pods are taken as
	// terminating, until Options.ExpectationTimeout has passed.
	Deleting map[types.UID]time.Time

	// Unfinalizing has the UIDs of pods whose tracking finalizer this process removed, or is removing, and which the
	// cache still shows with it. Entered before the call; removed when the pod is seen without the finalizer or gone,
	// or when the call failed (NotFound is a success). It has no timeout: a pod must not be counted twice.
	Unfinalizing sets.Set[types.UID]

	// NamespaceTerminating says that a pod was refused because the namespace is going away. No namespace comes back
	// from that, so no pod is asked for any more; those that there are count as always.
	NamespaceTerminating bool

	// Finished says that this process wrote a terminal condition for this Job. Until the cache shows it, nothing is
	// done: a delayed view of the Job would otherwise create pods for a Job that has ended.
	Finished bool

	// Backoff is the value of the last [StatusWrite] that was carried out.
	Backoff Backoff
}

// ListExpired gives the creations and deletions that were sent so long ago that a decision does not wait any more for them to
// be seen. When there are any, the pods should not come from a cache: it lags, or the calls did nothing, and only the
// API server can tell which.
func (e Expectations) ListExpired(now time.Time, o Options) (creating []string, deleting []types.UID) {
	timeout := o.withDefaults().ExpectationTimeout
	for name, sent := range e.Creating {
		if now.Sub(sent) >= timeout {
			creating = append(creating, name)
		}
	}
	for uid, sent := range e.Deleting {
		if now.Sub(sent) >= timeout {
			deleting = append(deleting, uid)
		}
	}
	return creating, deleting
}

// Options are the limits and habits of the controller. Zero fields mean the default named with them.
type Options struct {
	// ManagedBy is our name in spec.managedBy. "" means that no Job names us.
	ManagedBy string

	// Standalone says that there is no other Job controller: Jobs without managedBy and those that name the built-in
	// controller are ours too.
	Standalone bool

	// MaxUncounted bounds the UIDs in status.uncountedTerminatedPods and the finalizers removed per sync. Default 500.
	MaxUncounted int

	// MaxPodChanges bounds pod creations, and deletions by choice, per sync. It does not bound suspending and
	// finishing. Default 500.
	MaxPodChanges int

	// BackoffBase and BackoffMax shape the delay before a failed pod is replaced: base, twice, four times, … up to max.
	// Default 10 s and 10 min.
	BackoffBase, BackoffMax time.Duration

	// SyncPeriod is how long a write that nothing waits for may be put off. Default 1 s.
	SyncPeriod time.Duration

	// ExpectationTimeout is how long an own creation or deletion that the cache does not show is waited for. Names are
	// deterministic, so a wrong guess costs one refused call. Default 10 s.
	ExpectationTimeout time.Duration

	// EventsPerSync bounds the SuccessfulCreate and SuccessfulDelete events of one sync; one more event stands for the
	// rest. Default 25, the burst that the API client's own event limiter lets through.
	EventsPerSync int
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxUncounted, 500)
	setDefault(&o.MaxPodChanges, 500)
	setDefault(&o.EventsPerSync, 25)
	setDefault(&o.BackoffBase, 10*time.Second)
	setDefault(&o.BackoffMax, 10*time.Minute)
	setDefault(&o.SyncPeriod, time.Second)
	setDefault(&o.ExpectationTimeout, 10*time.Second)
	return o
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
