// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/interval"
)

// unknownIndex is the index of a pod that has none that can be read.
const unknownIndex = -1

// indexOf reads the completion index from the annotation; the label is never read, because users may change it freely.
func indexOf(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Annotations[indexKey])
	if err != nil || index < 0 {
		return unknownIndex
	}
	return index
}

// indexes is what is known about the completion indexes of an Indexed Job.
type indexes struct {
	completions int
	// stored is status.completedIndexes as far as it is in range; completed adds the pods that succeeded since.
	stored, completed interval.Set
	// perIndex: the Job has a backoff limit per index; only then can an index fail.
	perIndex bool
	// failed is status.failedIndexes and what failed since. A completed index is never failed too. storedFailed
	// is what the status says of it.
	failed, storedFailed interval.Set
	// delayed has, for each index that waits for a replacement, the failed pod that carries the failure count. It keeps
	// its finalizer, and is not counted, until the replacement exists: it is the only durable place of that number
	// (job.md 4.5).
	delayed map[int]*podView
}

// valid reports whether a pod's index is one that the Job wants done.
func (x *indexes) valid(v *podView) bool { return v.index >= 0 && v.index < x.completions }

func (s *syncState) findIndexes() *indexes {
	job := s.job
	x := &indexes{
		completions: int(ptr.Deref(job.Spec.Completions, 0)),
		perIndex:    job.Spec.BackoffLimitPerIndex != nil,
	}
	x.stored = interval.Parse(job.Status.CompletedIndexes, x.completions)
	x.completed = x.stored
	// Once how the Job ends is stored, we delete its pods: those fail no index (JOB-238).
	ends := storedSuccess(s).Stored || storedFailure(s).Stored
	var succeeded, failing []int
	for _, v := range s.pods.relevant {
		if v.finalizer && v.succeeded() && x.valid(v) {
			succeeded = append(succeeded, v.index)
		}
		if x.perIndex && v.finalizer && x.valid(v) && s.hasFailed(v) && (!ends || !v.deletionRequested()) && s.failsIndex(v) {
			failing = append(failing, v.index)
		}
	}
	x.completed = x.completed.Add(succeeded...)
	if x.perIndex {
		x.storedFailed = interval.Parse(ptr.Deref(job.Status.FailedIndexes, ""), x.completions)
		x.failed = x.storedFailed.Add(failing...).Minus(x.completed)
		x.delayed = s.delayedPods(x)
	}
	return x
}

// pending are the lowest indexes, at most n, that have no pod and are neither completed nor failed. When the Job
// replaces only failed pods, a terminating pod still occupies its index.
func (s *syncState) pending(n int) []int {
	x := s.indexes
	busy := make([]int, 0, len(s.pods.active))
	for _, v := range s.pods.relevant {
		if x.valid(v) && (v.active() || s.replacesOnlyFailed && v.terminating()) {
			busy = append(busy, v.index)
		}
	}
	return x.completed.Union(x.failed).Add(busy...).Missing(x.completions, n)
}
