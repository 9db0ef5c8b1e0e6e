// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AttemptsOf are the executions of containers that a Pod tells of, by container, those of init containers first: of
// each one the last that has ended before it was restarted, and the one after that, which may run still. Earlier ones
// are forgotten. The Pod is not modified.
func AttemptsOf(pod *corev1.Pod) []Attempt {
	var attempts []Attempt
	containers := ContainersOf(&pod.Spec)
	add := func(status *corev1.ContainerStatus, restart int32, a Attempt) {
		a.ContainerID = cmp.Or(withoutScheme(a.ContainerID), string(pod.UID)+"/"+status.Name+"/"+strconv.Itoa(int(restart)))
		a.RunUID, a.Namespace, a.Pod, a.PodUID = RunOf(pod), pod.Namespace, pod.Name, pod.UID
		a.Container, a.Restart = status.Name, restart
		containers.Place(&a)
		attempts = append(attempts, a)
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			status := &statuses[i]
			before := status.LastTerminationState.Terminated
			if before != nil && (status.State.Terminated == nil || before.ContainerID != status.State.Terminated.ContainerID) {
				// While the container waits for its restart, that is not counted yet.
				add(status, max(0, status.RestartCount-1), ended(pod, before))
			}
			switch {
			case status.State.Terminated != nil:
				add(status, status.RestartCount, ended(pod, status.State.Terminated))
			case status.State.Running != nil:
				add(status, status.RestartCount, Attempt{ContainerID: status.ContainerID, Started: status.State.Running.StartedAt.UTC()})
			}
		}
	}
	return attempts
}

func ended(pod *corev1.Pod, t *corev1.ContainerStateTerminated) Attempt {
	a := Attempt{ContainerID: t.ContainerID, ExitCode: t.ExitCode, Signal: t.Signal, Reason: t.Reason, Started: instant(&t.StartedAt)}
	for _, known := range []time.Time{instant(&t.FinishedAt), a.Started, notReadySince(pod), instant(&pod.CreationTimestamp), time.Unix(0, 0).UTC()} {
		if a.Ended.IsZero() {
			a.Ended = known // it says that it has ended, and mostly when
		}
	}
	return a
}

func notReadySince(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
			return instant(&c.LastTransitionTime)
		}
	}
	return time.Time{}
}

// RunOf is the UID of the run that a Pod belongs to: that of what controls it, but its own if a schedule does, or
// nobody.
func RunOf(pod *corev1.Pod) types.UID {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || kindOf(ref) != nil {
		return pod.UID
	}
	return ref.UID
}

func withoutScheme(id string) string {
	if _, bare, found := strings.Cut(id, "://"); found {
		return bare
	}
	return id
}

// Sum fills in what attempts of a run tell together, and when it began and ended (Refine): the outcome is known before.
// Without one that has ended the rest stays as it is.
func (r *Run) Sum(attempts []Attempt) {
	var span Span
	for i := range attempts {
		span.Add(&attempts[i])
	}
	r.Refine(span)
	ended := slices.DeleteFunc(slices.Clone(attempts), func(a Attempt) bool { return a.Ended.IsZero() })
	if len(ended) == 0 {
		return
	}
	slices.SortStableFunc(ended, func(a, b Attempt) int {
		return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Restart, b.Restart))
	})
	r.Attempts, r.CPU, r.MemoryPeak, r.OutputBytes = len(ended), 0, 0, 0
	told := &ended[0]
	for i := range ended {
		a := &ended[i]
		r.CPU += a.CPU
		r.MemoryPeak = max(r.MemoryPeak, a.MemoryPeak)
		r.OutputBytes += a.OutputBytes
		if a.Weight() >= told.Weight() {
			told = a
		}
	}
	r.ExitCode = new(told.ExitCode)
}
