// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// failsIndex reports whether this failure uses up the index's retries, or a FailIndex rule gives it up at once.
func (s *syncState) failsIndex(v *podView) bool {
	match := s.failurePolicyMatch(v)
	if match.action == batchv1.PodFailurePolicyActionFailIndex {
		return true
	}
	return match.counts() && readCount(v.pod, failureCountKey) >= int(*s.job.Spec.BackoffLimitPerIndex)
}

// delayedPods keeps of several pods of an index the one with the most failures, and only of equals the one that ended
// last: nodes' clocks differ.
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
		if kept == nil || cmp.Or(cmp.Compare(tries(v.pod), tries(kept.pod)), finishTime(v.pod).Compare(finishTime(kept.pod))) >= 0 {
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
	if s.failurePolicyMatch(replaced).counts() {
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

// indexBackoff is the back-off of one index: it is read off the pod that the index keeps, so it survives a restart.
//
// When a failure in the future, by a node whose clock is ahead, was seen first is kept nowhere. In its place the
// creation of the pod is taken, by the API server's clock: the delay gets shorter by the time that the pod ran.
func indexBackoff(kept *podView, now time.Time) Backoff {
	if kept == nil {
		return Backoff{}
	}
	last := finishTime(kept.pod)
	if last.After(now) {
		last = Earlier(now, kept.pod.CreationTimestamp.Time)
	}
	return Backoff{Failures: tries(kept.pod) + 1, LastFailure: last}
}

// readyIndexes are those that may be tried now, and next is the earliest time at which one of the others may.
func (s *syncState) readyIndexes(candidates []int) (ready []int, next time.Time) {
	for _, index := range candidates {
		wait := indexBackoff(s.indexes.delayed[index], s.now).remaining(s.now, s.options)
		if wait <= 0 {
			ready = append(ready, index)
			continue
		}
		next = Earlier(next, s.now.Add(wait))
	}
	return ready, next
}
