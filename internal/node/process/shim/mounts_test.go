// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Paths are resolved as a process with that root would, and never leave it.
func TestResolve(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"run/x", "a/b"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"var": "/", "a/up": "../../../../run", "a/abs": "/run", "loop": "loop", "a/rel": "b", "dots": "..", "gone": "/no/such"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/":                 "/",
		"/run/x":            "/run/x",
		"//run/./x/":        "/run/x",
		"/../../run":        "/run",
		"/var/run/x":        "/run/x",
		"/a/up/x":           "/run/x",
		"/a/abs/x/y":        "/run/x/y",
		"/a/rel/../abs":     "/run",
		"/dots/dots/run":    "/run",
		"/gone/more":        "/no/such/more",
		"/not/there/at/all": "/not/there/at/all",
	} {
		got, err := resolve(root, path)
		if err != nil || got != filepath.Join(root, want) {
			t.Errorf("%s: %s, want %s (%v)", path, got, want, err)
		}
	}
	if _, err := resolve(root, "/loop/x"); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a loop: %v", err)
	}
}

// Mounts inside others come after them, and equal ones keep their order.
func TestByDepth(t *testing.T) {
	in := []Mount{{Target: "/a/b/c"}, {Target: "/x"}, {Target: "/a/"}, {Target: "/a//b"}}
	want := []Mount{{Target: "/x"}, {Target: "/a/"}, {Target: "/a//b"}, {Target: "/a/b/c"}}
	if diff := cmp.Diff(want, byDepth(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A mount point is made as what is mounted needs it, and an existing one of
// the other kind is refused.
func TestMakeMountPoint(t *testing.T) {
	dir := t.TempDir()
	for path, isDir := range map[string]bool{"d/e/f": true, "g/h": false} {
		path = filepath.Join(dir, path)
		for range 2 {
			if err := makeMountPoint(path, isDir); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() != isDir {
			t.Errorf("%s: %v %v", path, info, err)
		}
		if err := makeMountPoint(path, !isDir); err == nil {
			t.Errorf("%s as the other kind", path)
		}
	}
}

// Only what does not exist is listed as made, the deepest first.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	want := []string{dir + "/a/b", dir + "/a"}
	if diff := cmp.Diff(want, missing(dir+"/a/b")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := missing(dir); got != nil {
		t.Errorf("%q", got)
	}
}
