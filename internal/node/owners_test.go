// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/utils/ptr"
)

type fakePlugin struct {
	volume.VolumePlugin
	name string
	args *volume.MounterArgs
}

func (p fakePlugin) GetPluginName() string { return p.name }

func (p fakePlugin) NewMounter(*volume.Spec, *corev1.Pod) (volume.Mounter, error) {
	return fakeMounter{args: p.args}, nil
}

type fakeMounter struct {
	volume.Mounter
	args *volume.MounterArgs
}

func (m fakeMounter) SetUp(args volume.MounterArgs) error {
	*m.args = args
	return nil
}

func (m fakeMounter) SetUpAt(_ string, args volume.MounterArgs) error { return m.SetUp(args) }

// Volumes of a Pod alone stay ours, but for a group that we may give them to;
// others are made as they were.
func TestWithoutOwners(t *testing.T) {
	const ours = 8
	for name, given := range map[string]bool{
		"kubernetes.io/projected": false, "kubernetes.io/secret": false, "kubernetes.io/configmap": false,
		"kubernetes.io/downward-api": false, "kubernetes.io/empty-dir": false, "kubernetes.io/local-volume": true,
	} {
		var got volume.MounterArgs
		plugins := withoutOwners([]volume.VolumePlugin{fakePlugin{name: name, args: &got}}, func(group int64) bool { return group == ours })
		m, err := plugins[0].NewMounter(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range []int64{ours, 9} {
			args := volume.MounterArgs{FsUser: ptr.To[int64](7), FsGroup: &group}
			for _, setUp := range []func() error{func() error { return m.SetUp(args) }, func() error { return m.SetUpAt("/x", args) }} {
				got = volume.MounterArgs{}
				if err := setUp(); err != nil {
					t.Fatal(err)
				}
				if (got.FsUser != nil) != given || (got.FsGroup != nil) != (given || group == ours) {
					t.Errorf("%s, group %d: %+v", name, group, got)
				}
			}
		}
	}
}
