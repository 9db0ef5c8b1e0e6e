// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// delayFor is the wait before the next try after n failures in a row: base, doubled each time, at most limit; none for
// n = 0.
func delayFor(n int, base, limit time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	d := base
	for i := 1; i < n; i++ {
		if d >= limit/2 {
			return limit
		}
		d *= 2
	}
	return min(d, limit)
}

// remaining is what is left of the delay at now, never more than the delay.
func (b Backoff) remaining(now time.Time, o Options) time.Duration {
	if b.LastFailure.IsZero() {
		return 0
	}
	return max(0, delayFor(b.Failures, o.BackoffBase, o.BackoffMax)-max(0, now.Sub(b.LastFailure)))
}

// after is the record with the finish times of newly finished pods worked in (job.md 5.2): a success wipes out the
// failures up to and including its own time.
//
// Finish times are those of the nodes' clocks. Their order is believed; but no failure is later than now, or a node
// whose clock is ahead would hold up the replacement until its time has come.
func (b Backoff) after(successes, failures []time.Time, now time.Time) Backoff {
	if len(successes) > 0 {
		b = Backoff{}
	}
	success := latest(successes)
	for _, t := range failures {
		if len(successes) > 0 && !t.After(success) {
			continue
		}
		b.Failures++
		if t.After(b.LastFailure) {
			b.LastFailure = t
		}
	}
	if b.LastFailure.After(now) {
		b.LastFailure = now
	}
	return b
}

func latest(times []time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// finishTime is when a finished or terminating pod stopped working, from the best source there is (job.md 5.4): its
// containers, its Ready condition, its deletion, its creation.
func finishTime(pod *corev1.Pod) time.Time {
	if t, ok := containersFinished(pod); ok {
		return t
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp != nil {
		return pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
	}
	return pod.CreationTimestamp.Time
}

// containersFinished is the latest end of the app containers, if all of them ended, and of the sidecars, all of which
// must have ended.
func containersFinished(pod *corev1.Pod) (latest time.Time, ok bool) {
	ok = len(pod.Status.ContainerStatuses) > 0
	for i := range pod.Status.ContainerStatuses {
		t := endOf(&pod.Status.ContainerStatuses[i])
		if t.IsZero() {
			latest, ok = time.Time{}, false
			break
		}
		if t.After(latest) {
			latest = t
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		if !isSidecar(pod, s.Name) {
			continue
		}
		t := endOf(s)
		if t.IsZero() {
			return time.Time{}, false
		}
		if t.After(latest) {
			latest = t
		}
		ok = true
	}
	return latest, ok
}

func endOf(s *corev1.ContainerStatus) time.Time {
	if s.State.Terminated == nil {
		return time.Time{}
	}
	return s.State.Terminated.FinishedAt.Time
}

func isSidecar(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// tooManyFailures is the rule of spec.backoffLimit (job.md 5.3): more failed pods than the limit or, for restartPolicy
// OnFailure, as many container restarts in pods that still run (any restart when the limit is 0).
func (s *syncState) tooManyFailures() bool {
	limit := int(ptr.Deref(s.job.Spec.BackoffLimit, defaultBackoffLimit))
	if s.failed > limit {
		return true
	}
	if s.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := 0
	for _, v := range s.pods.relevant {
		if phase := v.pod.Status.Phase; phase != corev1.PodPending && phase != corev1.PodRunning {
			continue
		}
		for i := range v.pod.Status.InitContainerStatuses {
			restarts += int(v.pod.Status.InitContainerStatuses[i].RestartCount)
		}
		for i := range v.pod.Status.ContainerStatuses {
			restarts += int(v.pod.Status.ContainerStatuses[i].RestartCount)
		}
	}
	return restarts > 0 && restarts >= limit
}

// defaultBackoffLimit stands in where the API server's default is missing.
const defaultBackoffLimit = 6
