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

// Tokens stay ours; other volumes are made as they were.
func TestWithoutOwners(t *testing.T) {
	for name, given := range map[string]bool{projectedPlugin: false, "kubernetes.io/secret": true} {
		var got volume.MounterArgs
		plugins := withoutOwners([]volume.VolumePlugin{fakePlugin{name: name, args: &got}})
		m, err := plugins[0].NewMounter(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		args := volume.MounterArgs{FsUser: ptr.To[int64](7), FsGroup: ptr.To[int64](8)}
		for _, setUp := range []func() error{func() error { return m.SetUp(args) }, func() error { return m.SetUpAt("/x", args) }} {
			got = volume.MounterArgs{}
			if err := setUp(); err != nil {
				t.Fatal(err)
			}
			if (got.FsUser != nil) != given || got.FsGroup == nil {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}
