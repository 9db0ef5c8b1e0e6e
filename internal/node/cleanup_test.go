// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// What a killed node left is removed, except the volumes of Pods that may be
// running on.
func TestCleanLeftovers(t *testing.T) {
	dir := t.TempDir()
	if found, err := findRights(dir); err != nil || !found.mount {
		t.Skip("needs the right to mount", err)
	}
	volume := filepath.Join(kubeletDir(dir), "pods", "uid", "volumes", "secret")
	for _, each := range []string{volume, filepath.Dir(podResourcesSocket(dir))} {
		if err := os.MkdirAll(each, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	stray := filepath.Join(dir, ".rights-123")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, each := range []string{volume, stray} {
		if err := unix.Mount("tmpfs", each, "tmpfs", 0, "size=4k"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := mounts.UnmountBelow(dir, nil); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(podResourcesSocket(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := cleanLeftovers(dir); err != nil {
		t.Fatal(err)
	}
	left, err := mounts.Below(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{volume}, left); diff != "" {
		t.Errorf("mounted afterwards, -want +got:\n%s", diff)
	}
	if _, err := os.Stat(podResourcesSocket(dir)); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := os.Stat(stray); !os.IsNotExist(err) {
		t.Errorf("the probe is still there: %v", err)
	}
	if err := mounts.UnmountBelow(dir, nil); err != nil {
		t.Fatal(err)
	}
	if left, err = mounts.Below(dir); err != nil || len(left) > 0 {
		t.Errorf("still mounted: %v (%v)", left, err)
	}
}

func mounted(t *testing.T, dir string) []string {
	t.Helper()
	left, err := mounts.Below(dir)
	if err != nil {
		t.Fatal(err)
	}
	return left
}
