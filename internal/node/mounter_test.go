// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/mount-utils"
)

// Without mount rights a memory volume is the directory that is there, and
// everything else says that it needs root.
func TestMounterOfAnOrdinaryUser(t *testing.T) {
	dir := t.TempDir()
	m := newMounter(false)
	if err := m.Mount("tmpfs", dir, "tmpfs", []string{"size=4k"}); err != nil {
		t.Errorf("tmpfs: %v", err)
	}
	if notMounted, err := m.IsLikelyNotMountPoint(dir); err != nil || !notMounted {
		t.Errorf("mounted: %v, %v", !notMounted, err)
	}
	if err := m.Unmount(dir); err != nil {
		t.Errorf("unmount: %v", err)
	}
	for name, err := range map[string]error{
		"bind": m.Mount("/usr", dir, "", []string{"bind"}),
		"nfs":  m.MountSensitive("host:/x", dir, "nfs", nil, []string{"secret"}),
	} {
		if err == nil || !strings.Contains(err.Error(), "needs root") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells a secret option: %v", name, err)
		}
	}
	if left := mounted(t, dir); len(left) > 0 {
		t.Errorf("mounted: %v", left)
	}
}

// With mount rights a memory volume is a tmpfs, which unmounting twice ends.
func TestMounterOfRoot(t *testing.T) {
	dir := t.TempDir()
	if found, err := findRights(dir); err != nil || !found.mount {
		t.Skip("needs the right to mount", err)
	}
	m := newMounter(true)
	if err := m.MountSensitiveWithoutSystemd("tmpfs", dir, "tmpfs", []string{"size=8k"}, nil); err != nil {
		t.Fatal(err)
	}
	if notMounted, err := m.IsLikelyNotMountPoint(dir); err != nil || notMounted {
		t.Errorf("mounted: %v, %v", !notMounted, err)
	}
	for range 2 {
		if err := m.Unmount(dir); err != nil {
			t.Errorf("unmount: %v", err)
		}
	}
	if left := mounted(t, dir); len(left) > 0 {
		t.Errorf("still mounted: %v", left)
	}
}

// Nothing is mounted after the node is closed, whoever asks.
func TestClosedMounter(t *testing.T) {
	dir := t.TempDir()
	m := newMounter(true)
	var kubelet mount.Interface = m
	m.close()
	if err := kubelet.Mount("tmpfs", dir, "tmpfs", nil); !errors.Is(err, errMounterClosed) {
		t.Errorf("got %v", err)
	}
	if err := kubelet.Unmount(dir); err != nil {
		t.Errorf("unmount: %v", err)
	}
}
