// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"

	"github.com/carillon-dev/carillon/internal/node/process"
)

// There is ephemeral storage for Pods that ask for it, and a Pod's cgroup that
// does not exist has no limits to be told in the Pod's status.
func TestContainerManager(t *testing.T) {
	manager := newContainerManager(newMachineStats(t.TempDir()), nil, false)
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
	if got := newContainerManager(newMachineStats("/does/not/exist"), nil, false).GetCapacity(false); len(got) != 0 {
		t.Errorf("capacity of nothing: %v", got)
	}
}

// An ordinary user's node asks its refuser about each Pod, root's asks nobody.
func TestContainerManagerRefuses(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64)}, Containers: []corev1.Container{{Image: "host"}}}}
	for name, refuse := range map[string]*refuser{"root": nil, "ordinary user": {uid: 1000, gid: 1000}} {
		manager := newContainerManager(newMachineStats(t.TempDir()), refuse, false)
		got := manager.GetAllocateResourcesPodAdmitHandler().Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
		if got.Admit != (refuse == nil) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The runtime is told which containers of RuntimeClass host name no user; one
// that must not be root is not run as root in place of its image's user.
func TestContainerManagerOwnUser(t *testing.T) {
	host, yes := RuntimeClassHost, true
	user := int64(1234)
	for name, tt := range map[string]struct {
		pod       corev1.PodSpec
		container corev1.SecurityContext
		uid       int64
		others    bool
		told      bool
		refused   bool
	}{
		"none":                {pod: corev1.PodSpec{RuntimeClassName: &host}, told: true},
		"another class":       {pod: corev1.PodSpec{}},
		"of the Pod":          {pod: corev1.PodSpec{RuntimeClassName: &host, SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user}}},
		"of the container":    {pod: corev1.PodSpec{RuntimeClassName: &host}, container: corev1.SecurityContext{RunAsUser: &user}},
		"not root":            {pod: corev1.PodSpec{RuntimeClassName: &host, SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes}}, refused: true},
		"not root, and isn't": {pod: corev1.PodSpec{RuntimeClassName: &host}, container: corev1.SecurityContext{RunAsNonRoot: &yes}, uid: 1000, told: true},
		"of another runtime":  {pod: corev1.PodSpec{RuntimeClassName: &host, SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes}}, others: true},
		"not root, and says":  {pod: corev1.PodSpec{RuntimeClassName: &host}, container: corev1.SecurityContext{RunAsNonRoot: &yes, RunAsUser: &user}},
	} {
		manager := newContainerManager(newMachineStats(t.TempDir()), nil, tt.others).(containerManager)
		manager.uid = tt.uid
		o, err := manager.GetResources(t.Context(), &corev1.Pod{Spec: tt.pod}, &corev1.Container{Name: "c", SecurityContext: &tt.container})
		if tt.refused != (err != nil) || tt.refused && !strings.Contains(err.Error(), "set runAsUser") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && tt.told != (o != nil && len(o.Annotations) == 1 && o.Annotations[0].Name == process.AnnotationOwnUser) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// An ordinary user's runtime is told which group is that of volumes; root's
// can give it.
func TestContainerManagerVolumeGroup(t *testing.T) {
	group := int64(7)
	pod := &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{FSGroup: &group}}}
	for name, refuse := range map[string]*refuser{"root": nil, "ordinary user": {uid: 1000, gid: 1000}} {
		o, err := newContainerManager(newMachineStats(t.TempDir()), refuse, false).GetResources(t.Context(), pod, &corev1.Container{})
		if err != nil {
			t.Fatal(err)
		}
		told := len(o.Annotations) == 1 && o.Annotations[0].Name == process.AnnotationVolumeGroup && o.Annotations[0].Value == "7"
		if told != (refuse != nil) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
