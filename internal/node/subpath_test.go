// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/kubernetes/pkg/volume/util/subpath"
)

// A subPath is the directory in the volume, made when missing, and never one
// that a symbolic link in the volume leads to outside of it.
func TestPlainSubpath(t *testing.T) {
	volume := t.TempDir()
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(volume, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(volume, "in")); err != nil {
		t.Fatal(err)
	}

	if err := (plainSubpath{}).SafeMakeDir("a/b/", volume, 0o750); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(volume, "a/b")); err != nil || !info.IsDir() {
		t.Fatalf("not made: %v", err)
	}
	if err := (plainSubpath{}).SafeMakeDir("out/x", volume, 0o750); err == nil {
		t.Error("made a directory through a link that leads out")
	}
	if _, err := os.Stat(filepath.Join(outside, "x")); !os.IsNotExist(err) {
		t.Errorf("something was made outside: %v", err)
	}

	for _, dir := range []string{"../y", "/etc/y"} {
		if err := (plainSubpath{}).SafeMakeDir(dir, volume, 0o750); err == nil {
			t.Errorf("made %s", dir)
		}
	}
	if err := (plainSubpath{}).SafeMakeDir(".", volume, 0o750); err != nil {
		t.Errorf("the volume itself: %v", err)
	}

	tests := map[string]struct {
		path string
		want string // relative to the volume; empty means refused
	}{
		"directory":    {"a/b", "a/b"},
		"whole volume": {".", "."},
		"link inside":  {"in/b", "a/b"},
		"link outside": {"out", ""},
		"not there":    {"nothing", ""},
		"above":        {"..", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, _, err := plainSubpath{}.PrepareSafeSubpath(subpath.Subpath{VolumeName: "v", VolumePath: volume, Path: filepath.Join(volume, tt.path)})
			if tt.want == "" {
				if err == nil {
					t.Errorf("got %s", got)
				}
				return
			}
			if want := filepath.Join(volume, tt.want); err != nil || got != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}
