// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume"
)

// ownerlessPlugins make the volumes that belong to a Pod alone.
var ownerlessPlugins = []string{
	"kubernetes.io/projected", "kubernetes.io/empty-dir", "kubernetes.io/secret", "kubernetes.io/configmap", "kubernetes.io/downward-api",
}

// withoutOwners keeps plugins from giving volumes to the Pod's fsGroup, and tokens
// of service accounts to the user of its containers, when this process may not:
// to users at all, and to groups but those that it is a member of. It need not:
// whoever a container runs as, on the machine it is us.
func withoutOwners(plugins []volume.VolumePlugin, member func(group int64) bool) []volume.VolumePlugin {
	for i, p := range plugins {
		if slices.Contains(ownerlessPlugins, p.GetPluginName()) {
			plugins[i] = ownerlessPlugin{p, member}
		}
	}
	return plugins
}

type ownerlessPlugin struct {
	volume.VolumePlugin
	member func(group int64) bool
}

func (p ownerlessPlugin) NewMounter(spec *volume.Spec, pod *corev1.Pod) (volume.Mounter, error) {
	m, err := p.VolumePlugin.NewMounter(spec, pod)
	return ownerlessMounter{m, p.member}, err
}

type ownerlessMounter struct {
	volume.Mounter
	member func(group int64) bool
}

func (m ownerlessMounter) SetUp(args volume.MounterArgs) error {
	return m.Mounter.SetUp(m.without(args))
}

func (m ownerlessMounter) SetUpAt(dir string, args volume.MounterArgs) error {
	return m.Mounter.SetUpAt(dir, m.without(args))
}

func (m ownerlessMounter) without(args volume.MounterArgs) volume.MounterArgs {
	args.FsUser = nil
	if args.FsGroup != nil && !m.member(*args.FsGroup) {
		args.FsGroup = nil
	}
	return args
}
