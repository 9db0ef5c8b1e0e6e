// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

const (
	// reasonRestored is why a Pod has failed, and the reason of its condition DisruptionTarget: by that a Job's
	// podFailurePolicy tells such an end from a failure of the work.
	reasonRestored = "RestoredFromBackup"
	// runtimeName is before the IDs of the node's own runtime in statuses.
	runtimeName = "carillon-process://"
	// The reason and exit code by which the kubelet tells of a container whose end nobody saw.
	reasonUnknown   = "ContainerStatusUnknown"
	exitCodeUnknown = 137

	lostPod       = "It was running, or about to, on another machine or in an earlier state of this one, when the backup was made that this state was restored from"
	lostContainer = "Nobody saw how it ended: it was running, or about to, when the backup was made that this state was restored from"
)

// endPod says in the status of a Pod that it has ended: as its containers did, where that is known, and otherwise
// failed at the time at. It returns whether all of it is known.
func endPod(pod *corev1.Pod, known map[string]run.Attempt, at metav1.Time) bool {
	status := &pod.Status
	e := ending{known: known, at: at, restarts: pod.Spec.RestartPolicy}
	status.InitContainerStatuses = e.endAll(pod.Spec.InitContainers, status.InitContainerStatuses, true)
	status.ContainerStatuses = e.endAll(pod.Spec.Containers, status.ContainerStatuses, false)
	status.Phase = corev1.PodSucceeded
	reason := "PodCompleted"
	if e.failed || e.lost {
		status.Phase, reason = corev1.PodFailed, "PodFailed"
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if (c.Type == corev1.PodReady || c.Type == corev1.ContainersReady) && c.Status != corev1.ConditionFalse {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, reason, at
		}
	}
	if e.lost {
		status.Reason, status.Message = reasonRestored, lostPod
		if !e.failed {
			disrupted(status, at)
		}
	}
	return !e.lost
}

// disrupted says that the Pod ended for a reason that lies outside of it.
func disrupted(status *corev1.PodStatus, at metav1.Time) {
	condition := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reasonRestored, Message: lostPod, LastTransitionTime: at}
	for i := range status.Conditions {
		if status.Conditions[i].Type == corev1.DisruptionTarget {
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}

// ending is the end of one Pod.
type ending struct {
	known    map[string]run.Attempt
	at       metav1.Time
	restarts corev1.RestartPolicy
	// failed: a container is known to have failed. lost: nobody knows how one ended.
	failed, lost bool
}

// endAll gives the statuses of containers that have all ended.
func (e *ending) endAll(containers []corev1.Container, statuses []corev1.ContainerStatus, init bool) []corev1.ContainerStatus {
	byName := map[string]corev1.ContainerStatus{}
	for _, s := range statuses {
		byName[s.Name] = s
	}
	all := make([]corev1.ContainerStatus, 0, len(containers))
	for i := range containers {
		c := &containers[i]
		s, there := byName[c.Name]
		if !there {
			s = corev1.ContainerStatus{Name: c.Name, Image: c.Image}
		}
		sidecar := init && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		e.end(&s, sidecar)
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// end ends one container. What a sidecar did says nothing about its Pod.
func (e *ending) end(s *corev1.ContainerStatus, sidecar bool) {
	started := false
	s.Ready, s.Started = false, &started
	if a, ok := e.known[s.Name]; ok && (s.State.Terminated == nil || a.Ended.After(s.State.Terminated.FinishedAt.Time)) {
		s.RestartCount = max(s.RestartCount, a.Restart)
		s.ContainerID = runtimeName + a.ContainerID
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: a.ExitCode, Signal: a.Signal, Reason: a.Reason, StartedAt: metav1.NewTime(a.Started), FinishedAt: metav1.NewTime(a.Ended),
			ContainerID: s.ContainerID,
		}}
	}
	if s.State.Terminated == nil {
		end := &corev1.ContainerStateTerminated{ExitCode: exitCodeUnknown, Reason: reasonUnknown, Message: lostContainer, FinishedAt: e.at, ContainerID: s.ContainerID}
		if s.State.Running != nil {
			end.StartedAt = s.State.Running.StartedAt
		}
		s.State = corev1.ContainerState{Terminated: end}
		e.lost = e.lost || !sidecar
		return
	}
	if s.State.Terminated.ExitCode == 0 || sidecar {
		return
	}
	if e.restarts == corev1.RestartPolicyOnFailure {
		e.lost = true // the next start of it, which the kubelet was about to make
		return
	}
	e.failed = true
}
