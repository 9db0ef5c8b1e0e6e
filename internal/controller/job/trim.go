// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// TrimPod is the transform for pods in the manager's cache (OPT-07): it keeps the metadata and the status, and of the
// spec what decisions look at, which is a tenth of a pod. Pods are only ever patched, so nothing is lost by it. Other
// objects pass unchanged.
func TrimPod(obj any) (any, error) {
	switch o := obj.(type) {
	case toolscache.DeletedFinalStateUnknown:
		trimmed, err := TrimPod(o.Obj)
		o.Obj = trimmed
		return o, err
	case *corev1.Pod:
		o.ManagedFields = nil
		o.Spec = corev1.PodSpec{
			NodeName:       o.Spec.NodeName,
			RestartPolicy:  o.Spec.RestartPolicy,
			InitContainers: trimContainers(o.Spec.InitContainers),
		}
		for _, statuses := range [][]corev1.ContainerStatus{o.Status.InitContainerStatuses, o.Status.ContainerStatuses} {
			for i := range statuses {
				s := &statuses[i]
				*s = corev1.ContainerStatus{Name: s.Name, State: s.State, Ready: s.Ready, RestartCount: s.RestartCount}
			}
		}
		o.Status.EphemeralContainerStatuses, o.Status.ResourceClaimStatuses = nil, nil
		o.Status.PodIPs, o.Status.HostIPs = nil, nil
	}
	return obj, nil
}

// trimContainers keeps what tells a sidecar from an init container.
func trimContainers(containers []corev1.Container) []corev1.Container {
	if len(containers) == 0 {
		return nil
	}
	trimmed := make([]corev1.Container, len(containers))
	for i, c := range containers {
		trimmed[i] = corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy}
	}
	return trimmed
}
