// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"

	"github.com/carillon-dev/carillon/internal/image"
)

// reasonNeedsRoot is the reason of a Pod that failed because this process may
// not do what the Pod asks for.
const reasonNeedsRoot = "NeedsRoot"

// refuser fails Pods that ask for another user or group when this process may
// not change the owner of files. The kubelet would try for ever to give their
// volumes to that owner, and the Pod would stay in ContainerCreating. Failed,
// its Job counts the failure and comes to an end. In a container of an image
// this user can be any other one.
type refuser struct {
	uid, gid   int64
	localFiles bool // no container is one of an image
}

var _ lifecycle.PodAdmitHandler = refuser{}

// Admit fails a Pod before anything of it is started.
func (r refuser) Admit(attributes *lifecycle.PodAdmitAttributes) lifecycle.PodAdmitResult {
	field, id, own, refused := r.objection(attributes.Pod)
	if !refused {
		return lifecycle.PodAdmitResult{Admit: true}
	}
	return lifecycle.PodAdmitResult{
		Reason: reasonNeedsRoot,
		Message: fmt.Sprintf("%s is %d, but carillon runs as an ordinary user and can use %d only: "+
			"remove the field, or start carillon as root", field, id, own),
	}
}

// objection is the first field of the Pod that asks for an id which is not
// this process's own.
func (r refuser) objection(pod *corev1.Pod) (field string, id, own int64, found bool) {
	if security := pod.Spec.SecurityContext; security != nil {
		if differs(security.RunAsUser, r.uid) && r.anyLocal(pod, func(c *corev1.SecurityContext) bool { return c == nil || c.RunAsUser == nil }) {
			return "spec.securityContext.runAsUser", *security.RunAsUser, r.uid, true
		}
		if differs(security.RunAsGroup, r.gid) && r.anyLocal(pod, func(c *corev1.SecurityContext) bool { return c == nil || c.RunAsGroup == nil }) {
			return "spec.securityContext.runAsGroup", *security.RunAsGroup, r.gid, true
		}
		if differs(security.FSGroup, r.gid) {
			return "spec.securityContext.fsGroup", *security.FSGroup, r.gid, true
		}
	}
	for _, list := range []struct {
		path       string
		containers []corev1.Container
	}{
		{"spec.initContainers", pod.Spec.InitContainers},
		{"spec.containers", pod.Spec.Containers},
	} {
		for _, container := range list.containers {
			security := container.SecurityContext
			if security == nil || !r.local(pod, container.Image) {
				continue
			}
			path := fmt.Sprintf("%s[%s].securityContext", list.path, container.Name)
			if differs(security.RunAsUser, r.uid) {
				return path + ".runAsUser", *security.RunAsUser, r.uid, true
			}
			if differs(security.RunAsGroup, r.gid) {
				return path + ".runAsGroup", *security.RunAsGroup, r.gid, true
			}
		}
	}
	return "", 0, 0, false
}

// local reports whether a container of the Pod runs on this machine's files.
func (r refuser) local(pod *corev1.Pod, name string) bool {
	class := pod.Spec.RuntimeClassName
	return r.localFiles || class != nil && *class == RuntimeClassHost || image.IsHost(name)
}

// anyLocal reports whether such a container is one to which a field of the Pod applies.
func (r refuser) anyLocal(pod *corev1.Pod, applies func(*corev1.SecurityContext) bool) bool {
	if r.localFiles {
		return true
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if r.local(pod, c.Image) && applies(c.SecurityContext) {
			return true
		}
	}
	return false
}

func differs(asked *int64, own int64) bool { return asked != nil && *asked != own }
