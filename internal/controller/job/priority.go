// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/job"
)

// When thousands of Jobs come at once, every call competes with every other for
// the API server. Work waits for its pods and people wait for the end of a Job;
// nobody waits for the rest. So creations of pods and due status writes enter the
// gate, and what stands back while somebody is in it, but never for long, is:
//
//   - events (package note);
//   - the write that says that a Job began, which a Job that ends meanwhile saves;
//   - the finalizers of pods that are accounted for (OPT-09). A pod that is being
//     deleted waits for nothing else, so its finalizer goes at once.
const (
	beginPatience   = 2 * time.Second
	cleanupPatience = 15 * time.Second
	// standBackLeast is how long cleanup waits at least before it looks at the gate
	// again; later looks are rarer, since thousands of Jobs may be waiting.
	standBackLeast = 250 * time.Millisecond
)

// standBack gives, of finalizers that may go, those that go now, and wakes the
// Job when it is time to look at the others again. since is when the first of
// them could have gone.
func (w *work) standBack(refs []job.PodRef, since time.Time) []job.PodRef {
	age := w.now.Sub(since)
	if len(refs) == 0 || w.job.DeletionTimestamp != nil || age >= cleanupPatience ||
		age < 0 { // the clock was set back, and nobody knows how long they have waited
		return refs
	}
	var leaving []job.PodRef
	for _, ref := range refs {
		if w.isLeaving(ref) {
			leaving = append(leaving, ref)
		}
	}
	if len(leaving) < len(refs) {
		w.wakeIn(min(standBackLeast+age/2, cleanupPatience-age))
	}
	return leaving
}

// releasable gives, of the finalizers that may go after a write, those that go
// now. The books of a Job that are full must be emptied before it can go on
// counting; and a Job that has more pods to create does that first.
func (w *work) releasable(record job.Record, creating bool) []job.PodRef {
	uid, refs := w.job.UID, record.Unfinalize
	if record.Write.More || !creating && !w.gate.Busy() {
		w.memory.released(uid)
		return refs
	}
	now := w.standBack(refs, w.memory.releasing(uid, w.now))
	if len(now) == len(refs) {
		w.memory.released(uid)
	}
	return now
}

// isLeaving reports whether somebody deletes the pod.
func (w *work) isLeaving(ref job.PodRef) bool {
	pod := w.cache.pod(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	return pod != nil && pod.UID == ref.UID && pod.DeletionTimestamp != nil
}

// endedAt is when the Job ended; zero, if it does not say.
func (w *work) endedAt() time.Time {
	for _, c := range w.job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
