// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Mounts are found below a directory only, also under escaped names, and the
// deepest and latest come first, so that each can be unmounted in turn.
func TestMountsUnder(t *testing.T) {
	const mountinfo = `22 1 8:1 / / rw - ext4 /dev/sda rw
30 22 0:5 / /data rw - tmpfs tmpfs rw
31 30 0:6 / /data/a\040b rw - tmpfs tmpfs rw
32 30 0:7 / /data/a\040b/deep rw - tmpfs tmpfs rw
33 22 0:8 / /database rw - tmpfs tmpfs rw
34 30 0:9 / /data/c rw - tmpfs one rw
35 34 0:9 / /data/c rw - tmpfs two rw
nonsense
`
	tests := map[string]struct {
		dir  string
		want []string
	}{
		"a tree":  {"/data", []string{"/data/a b/deep", "/data/c", "/data/c", "/data/a b", "/data"}},
		"one":     {"/database", []string{"/database"}},
		"nothing": {"/dat", nil},
		"a leaf":  {"/data/a b/deep", []string{"/data/a b/deep"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, mountsUnder(mountinfo, tt.dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzUnescapeMount(f *testing.F) {
	for _, seed := range []string{`/a\040b`, `\`, `\1`, `/x\777y`, "plain", `\0401`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := unescapeMount(text)
		if !strings.Contains(text, "\\") && plain != text {
			t.Errorf("%q became %q", text, plain)
		}
		if len(plain) > len(text) {
			t.Errorf("%q grew to %q", text, plain)
		}
	})
}

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
		if err := unmountUnder(dir, nil); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(podResourcesSocket(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := cleanLeftovers(dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{volume}, mounted(t, dir)); diff != "" {
		t.Errorf("mounted afterwards, -want +got:\n%s", diff)
	}
	if _, err := os.Stat(podResourcesSocket(dir)); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := os.Stat(stray); !os.IsNotExist(err) {
		t.Errorf("the probe is still there: %v", err)
	}
	if err := unmountUnder(dir, nil); err != nil {
		t.Fatal(err)
	}
	if left := mounted(t, dir); len(left) > 0 {
		t.Errorf("still mounted: %v", left)
	}
}

func mounted(t *testing.T, dir string) []string {
	t.Helper()
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return mountsUnder(string(info), dir)
}
