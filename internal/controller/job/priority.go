// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// When thousands of Jobs come at once, every call competes with every other for
// the API server. Work waits for its pods and people wait for the end of a Job;
// nobody waits for the rest. So creations of pods and due status writes enter the
// gate, and what stands back while somebody is in it, but never for long, is:
//
//   - events (package note);
//   - the write that says that a Job began, which a Job that ends meanwhile saves;
//   - the finalizers of the pods of a Job that ended.
const (
	beginPatience   = 2 * time.Second
	cleanupPatience = 5 * time.Second
	// standBackFor is how long cleanup waits before it looks at the gate again.
	standBackFor = 250 * time.Millisecond
)

// standBack reports whether the cleanup of a finished Job waits for more urgent
// work, and wakes it later.
func (w *work) standBack() bool {
	if !w.gate.Busy() {
		return false
	}
	for _, c := range w.job.Status.Conditions {
		ended := (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		if age := w.now.Sub(c.LastTransitionTime.Time); ended && age >= 0 && age < cleanupPatience {
			w.wakeIn(standBackFor)
			return true
		}
	}
	return false
}
