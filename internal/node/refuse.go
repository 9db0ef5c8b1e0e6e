// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"fmt"
	"slices"
	"strconv"

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
// this user can be any other one, to whom the Pod's volumes belong, whatever
// group they should have.
type refuser struct {
	uid, gid   int64
	groups     []int64 // others that this process is in
	localFiles bool    // no container is one of an image

	othersRuntime bool // it can put a container into any group, which needs no files to be given away
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
		Message: fmt.Sprintf("%s is %d, but carillon runs as an ordinary user and can use %s only: "+
			"remove the field, or start carillon as root", field, id, own),
	}
}

// objection is the first field of the Pod that asks for an id which is not
// this process's own, and those that it could be.
func (r refuser) objection(pod *corev1.Pod) (field string, id int64, own string, found bool) {
	user, group := strconv.FormatInt(r.uid, 10), strconv.FormatInt(r.gid, 10)
	if security := pod.Spec.SecurityContext; security != nil {
		if differs(security.RunAsUser, r.uid) && r.anyLocal(pod, func(c *corev1.SecurityContext) bool { return c == nil || c.RunAsUser == nil }) {
			return "spec.securityContext.runAsUser", *security.RunAsUser, user, true
		}
		if differs(security.RunAsGroup, r.gid) && r.anyLocal(pod, func(c *corev1.SecurityContext) bool { return c == nil || c.RunAsGroup == nil }) {
			return "spec.securityContext.runAsGroup", *security.RunAsGroup, group, true
		}
		if security.FSGroup != nil && !r.member(*security.FSGroup) && !r.writesAnyhow(pod) {
			return "spec.securityContext.fsGroup", *security.FSGroup, r.memberships(), true
		}
		for _, g := range security.SupplementalGroups {
			if !r.othersRuntime && !r.member(g) && (differs(security.RunAsGroup, g) || security.RunAsGroup == nil) {
				return "spec.securityContext.supplementalGroups", g, r.memberships(), true
			}
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
				return path + ".runAsUser", *security.RunAsUser, user, true
			}
			if differs(security.RunAsGroup, r.gid) {
				return path + ".runAsGroup", *security.RunAsGroup, group, true
			}
		}
	}
	return "", 0, "", false
}

func (r refuser) member(group int64) bool { return group == r.gid || slices.Contains(r.groups, group) }

// memberships are the groups that this process can use, as a text.
func (r refuser) memberships() string {
	text := strconv.FormatInt(r.gid, 10)
	for _, g := range r.groups {
		if g != r.gid {
			text += ", " + strconv.FormatInt(g, 10)
		}
	}
	return text
}

// writesAnyhow reports whether the Pod's containers can write to its volumes without their group: each has one user,
// who is ours on the machine, and the volumes are made by us, for this Pod. Who gave a volume of another kind to whom is
// not known.
func (r refuser) writesAnyhow(pod *corev1.Pod) bool {
	if r.anyLocal(pod, func(*corev1.SecurityContext) bool { return true }) || len(pod.Spec.Containers) == 0 {
		return false
	}
	return !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.DownwardAPI == nil && v.Projected == nil && v.HostPath == nil && v.Image == nil
	})
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
