// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/securitycontext"

	"github.com/carillon-dev/carillon/internal/node/process"
)

// containerManager is the kubelet's container manager of a node whose limits
// are the runtime's affair: it makes no cgroups. It knows how much ephemeral
// storage there is, without which no Pod that asks for some would ever be
// scheduled.
type containerManager struct {
	cm.ContainerManager
	stats  cadvisor.Interface
	refuse *refuser // nil refuses no Pod
	uid    int64    // of this process
	others bool     // the runtime is somebody else's
}

func newContainerManager(stats cadvisor.Interface, refuse *refuser, othersRuntime bool) cm.ContainerManager {
	return containerManager{ContainerManager: cm.NewStubContainerManager(), stats: stats, refuse: refuse, uid: int64(os.Geteuid()), others: othersRuntime}
}

// GetAllocateResourcesPodAdmitHandler is asked whether a Pod may be started
// here. It is the one place where the kubelet takes an opinion from outside.
func (m containerManager) GetAllocateResourcesPodAdmitHandler() lifecycle.PodAdmitHandler {
	if m.refuse != nil {
		return m.refuse
	}
	return m.ContainerManager.GetAllocateResourcesPodAdmitHandler()
}

// GetResources is asked about each container before its user is looked up, and
// tells the runtime what that cannot know of the Pod. A container of RuntimeClass
// host runs as this process's user unless its Pod names another, which looks like
// the user of an image that the kubelet found; and the group of volumes looks like
// any other group.
func (m containerManager) GetResources(ctx context.Context, pod *corev1.Pod, container *corev1.Container) (*kubecontainer.RunContainerOptions, error) {
	o, err := m.ContainerManager.GetResources(ctx, pod, container)
	if err != nil || m.others {
		return o, err
	}
	if o == nil {
		o = &kubecontainer.RunContainerOptions{}
	}
	if group := fsGroup(pod); group != nil && m.refuse != nil {
		o.Annotations = append(o.Annotations, kubecontainer.Annotation{Name: process.AnnotationVolumeGroup, Value: strconv.FormatInt(*group, 10)})
	}
	security := securitycontext.DetermineEffectiveSecurityContext(pod, container)
	if class := pod.Spec.RuntimeClassName; class == nil || *class != RuntimeClassHost || security != nil && security.RunAsUser != nil {
		return o, nil
	}
	if security != nil && security.RunAsNonRoot != nil && *security.RunAsNonRoot && m.uid == 0 {
		return nil, fmt.Errorf("container %s has runAsNonRoot, but with RuntimeClass %s it runs as carillon's user, who is root, whatever its image says: set runAsUser", container.Name, RuntimeClassHost)
	}
	o.Annotations = append(o.Annotations, kubecontainer.Annotation{Name: process.AnnotationOwnUser, Value: "true"})
	return o, nil
}

func fsGroup(pod *corev1.Pod) *int64 {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.FSGroup
}

func (m containerManager) GetCapacity(bool) corev1.ResourceList {
	fs, err := m.stats.RootFsInfo()
	if err != nil {
		return corev1.ResourceList{}
	}
	return cadvisor.EphemeralStorageCapacityFromFsInfo(fs)
}

// nodeCapacity is what the kubelet will find: processors, memory, ephemeral
// storage, and room for Pods.
func nodeCapacity(stats *machineStats, maxPods int) (corev1.ResourceList, error) {
	info, err := stats.MachineInfo()
	if err != nil {
		return nil, err
	}
	capacity := cadvisor.CapacityFromMachineInfo(info)
	maps.Copy(capacity, newContainerManager(stats, nil, false).GetCapacity(true))
	capacity[corev1.ResourcePods] = *resource.NewQuantity(int64(maxPods), resource.DecimalSI)
	return capacity, nil
}

func (m containerManager) NewPodContainerManager() cm.PodContainerManager {
	return podContainerManager{m.ContainerManager.NewPodContainerManager()}
}

// podContainerManager says that a Pod's cgroup sets nothing, where the stub
// fails and makes the kubelet log an error for each sync of each Pod.
type podContainerManager struct{ cm.PodContainerManager }

// GetPodCgroupConfig answers with every field set: the kubelet follows the
// pointers without a look.
func (podContainerManager) GetPodCgroupConfig(*corev1.Pod, corev1.ResourceName) (*cm.ResourceConfig, error) {
	return &cm.ResourceConfig{
		Memory:    new(int64),
		CPUShares: new(uint64),
		CPUQuota:  new(int64),
		CPUPeriod: new(uint64),
	}, nil
}
