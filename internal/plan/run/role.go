// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Role is what a container is to its Pod. The zero value says that nobody told: the runtime, which knows how it ended,
// is not told what it is.
type Role uint8

// The roles.
const (
	Main    Role = iota + 1 // one of spec.containers: the Pod has succeeded when all of them have
	Init                    // it ends before the main containers begin
	Sidecar                 // an init container that is restarted always: it is stopped when the main containers have ended
)

// Containers are the names of the containers of a Pod by what they are. The zero value knows none.
type Containers struct{ Main, Init, Sidecar []string }

// ContainersOf reads the containers of a Pod, or of a Pod's template. It keeps nothing of the spec but names.
func ContainersOf(spec *corev1.PodSpec) Containers {
	var c Containers
	for i := range spec.Containers {
		c.Main = append(c.Main, spec.Containers[i].Name)
	}
	for i := range spec.InitContainers {
		to := &c.Init
		if policy := spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			to = &c.Sidecar
		}
		*to = append(*to, spec.InitContainers[i].Name)
	}
	return c
}

// Place tells an attempt what it is in a Pod with these containers. One of a name that is not among them stays as it
// is.
func (c Containers) Place(a *Attempt) {
	switch {
	case slices.Contains(c.Main, a.Container):
		a.Role = Main
	case slices.Contains(c.Init, a.Container):
		a.Role = Init
	case slices.Contains(c.Sidecar, a.Container):
		a.Role = Sidecar
	default:
		return
	}
	a.Mains = int32(min(len(c.Main), math.MaxInt16)) //nolint:gosec // bounded
}
