// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

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
