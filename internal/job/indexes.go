// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
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
		if x.perIndex && v.finalizer && x.valid(v) && s.hasFailed(v) && (!ends || !v.deleted()) && s.failsIndex(v) {
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

// failsIndex reports whether this failure uses up the index's retries, or a FailIndex rule gives it up at once.
func (s *syncState) failsIndex(v *podView) bool {
	match := s.policy(v)
	if match.action == batchv1.PodFailurePolicyActionFailIndex {
		return true
	}
	return match.counts() && readCount(v.pod, failureCountKey) >= int(*s.job.Spec.BackoffLimitPerIndex)
}

func (s *syncState) delayedPods(x *indexes) map[int]*podView {
	running := make(map[int]bool, len(s.pods.active))
	for _, v := range s.pods.active {
		running[v.index] = true
	}
	delayed := map[int]*podView{}
	for _, v := range s.pods.relevant {
		if !v.tracked || !x.valid(v) || !s.hasFailed(v) || running[v.index] || x.completed.Has(v.index) || x.failed.Has(v.index) {
			continue
		}
		kept := delayed[v.index]
		if kept == nil || tries(v.pod) >= tries(kept.pod) && !finishTime(v.pod).Before(finishTime(kept.pod)) {
			delayed[v.index] = v
		}
	}
	return delayed
}

// indexFailures are the counts that a pod of an index carries.
type indexFailures struct{ counted, ignored int }

// failuresAfter are the counts for the pod that replaces this one; nil stands for the first pod of an index.
func (s *syncState) failuresAfter(replaced *podView) *indexFailures {
	f := &indexFailures{}
	if replaced == nil {
		return f
	}
	f.counted, f.ignored = readCount(replaced.pod, failureCountKey), readCount(replaced.pod, ignoredCountKey)
	if s.policy(replaced).counts() {
		f.counted = min(f.counted+1, math.MaxInt32)
	} else {
		f.ignored = min(f.ignored+1, math.MaxInt32)
	}
	return f
}

// tries is how many pods of its index failed before this one, ignored failures too.
func tries(pod *corev1.Pod) int {
	return readCount(pod, failureCountKey) + readCount(pod, ignoredCountKey)
}

// readCount reads a count annotation; what is not a number from 0 to MaxInt32 is 0.
func readCount(pod *corev1.Pod, key string) int {
	n, _ := parseCount(pod.Annotations[key])
	return n
}

func parseCount(text string) (n int, ok bool) {
	parsed, err := strconv.ParseInt(text, 10, 32)
	if err != nil || parsed < 0 {
		return 0, false
	}
	return int(parsed), true
}

// invalidCounts are events about counts on a replaced pod that cannot be read. We wrote them, so somebody has changed
// them.
func invalidCounts(replaced *podView) (events []Event) {
	if replaced == nil {
		return nil
	}
	for _, key := range []string{failureCountKey, ignoredCountKey} {
		if text, there := replaced.pod.Annotations[key]; there {
			if _, ok := parseCount(text); !ok {
				events = append(events, invalidCount(replaced.pod, key, text))
			}
		}
	}
	return events
}

// indexBackoff is the retry record of one index: it is read off the pod that the index keeps, so it survives a restart.
//
// When a failure in the future, by a node whose clock is ahead, was seen first is kept nowhere. In its place the
// creation of the pod is taken, by the API server's clock: the delay gets shorter by the time that the pod ran.
func indexBackoff(kept *podView, now time.Time) Backoff {
	if kept == nil {
		return Backoff{}
	}
	last := finishTime(kept.pod)
	if last.After(now) {
		last = earlier(now, kept.pod.CreationTimestamp.Time)
	}
	return Backoff{Failures: tries(kept.pod) + 1, LastFailure: last}
}

// pending are the lowest indexes, at most n, that have no pod and are neither completed nor failed. When the Job
// replaces only failed pods, a terminating pod still occupies its index.
func (s *syncState) pending(n int) []int {
	x := s.indexes
	busy := make([]int, 0, len(s.pods.active))
	for _, v := range s.pods.relevant {
		if x.valid(v) && (v.active() || s.onlyFailed && v.terminating()) {
			busy = append(busy, v.index)
		}
	}
	return x.completed.Union(x.failed).Add(busy...).Missing(x.completions, n)
}

// readyIndexes are those that may be tried now, and next is the earliest time at which one of the others may.
func (s *syncState) readyIndexes(candidates []int) (ready []int, next time.Time) {
	for _, index := range candidates {
		wait := indexBackoff(s.indexes.delayed[index], s.now).remaining(s.now, s.options)
		if wait <= 0 {
			ready = append(ready, index)
			continue
		}
		next = earlier(next, s.now.Add(wait))
	}
	return ready, next
}
