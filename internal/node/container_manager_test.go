// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// There is ephemeral storage for Pods that ask for it, and a Pod's cgroup that
// does not exist has no limits to be told in the Pod's status.
func TestContainerManager(t *testing.T) {
	manager := newContainerManager(newMachineStats(t.TempDir()), nil)
	storage := manager.GetCapacity(false)[corev1.ResourceEphemeralStorage]
	if storage.Value() <= 0 {
		t.Errorf("ephemeral storage %v", storage)
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceCPU} {
		config, err := manager.NewPodContainerManager().GetPodCgroupConfig(&corev1.Pod{}, resource)
		if err != nil {
			t.Fatal(err)
		}
		if got := cm.MemoryLimitsFromConfig(config); got != nil {
			t.Errorf("%s: memory limit %v", resource, got)
		}
		if got := cm.CPURequestsFromConfig(config); got != nil {
			t.Errorf("%s: CPU request %v", resource, got)
		}
		if got := cm.CPULimitsFromConfig(config); got != nil {
			t.Errorf("%s: CPU limit %v", resource, got)
		}
	}
	if got := newContainerManager(newMachineStats("/does/not/exist"), nil).GetCapacity(false); len(got) != 0 {
		t.Errorf("capacity of nothing: %v", got)
	}
}

// An ordinary user's node asks its refuser about each Pod, root's asks nobody.
func TestContainerManagerRefuses(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64)}}}
	for name, refuse := range map[string]*refuser{"root": nil, "ordinary user": {uid: 1000, gid: 1000}} {
		manager := newContainerManager(newMachineStats(t.TempDir()), refuse)
		got := manager.GetAllocateResourcesPodAdmitHandler().Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
		if got.Admit != (refuse == nil) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
