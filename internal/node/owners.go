// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume"
)

// projectedPlugin makes the volumes with service account tokens.
const projectedPlugin = "kubernetes.io/projected"

// withoutOwners keeps the plugin of projected volumes from giving tokens to the
// user of the Pod's containers, when this process may not change the owner of
// files. It need not: whoever a container runs as, on the machine it is us.
func withoutOwners(plugins []volume.VolumePlugin) []volume.VolumePlugin {
	for i, p := range plugins {
		if p.GetPluginName() == projectedPlugin {
			plugins[i] = ownerlessPlugin{p}
		}
	}
	return plugins
}

type ownerlessPlugin struct{ volume.VolumePlugin }

func (p ownerlessPlugin) NewMounter(spec *volume.Spec, pod *corev1.Pod) (volume.Mounter, error) {
	m, err := p.VolumePlugin.NewMounter(spec, pod)
	return ownerlessMounter{m}, err
}

type ownerlessMounter struct{ volume.Mounter }

func (m ownerlessMounter) SetUp(args volume.MounterArgs) error {
	args.FsUser = nil
	return m.Mounter.SetUp(args)
}

func (m ownerlessMounter) SetUpAt(dir string, args volume.MounterArgs) error {
	args.FsUser = nil
	return m.Mounter.SetUpAt(dir, args)
}
