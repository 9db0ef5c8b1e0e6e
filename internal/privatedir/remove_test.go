// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package privatedir

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A tree goes with everything in it; what its links lead to stays.
func TestRemoveTree(t *testing.T) {
	base := private(t)
	victim := filepath.Join(base, "victim")
	must(t, os.MkdirAll(filepath.Join(victim, "deep"), 0o700))
	top := filepath.Join(base, "top")
	deep := top
	for i := range 40 {
		deep = filepath.Join(deep, strconv.Itoa(i)+" \n")
	}
	must(t, os.MkdirAll(deep, 0o700))
	must(t, os.Symlink(victim, filepath.Join(deep, "link")))
	must(t, os.WriteFile(filepath.Join(top, "read-only"), nil, 0o400))
	must(t, unix.Mkfifo(filepath.Join(top, "pipe"), 0o600))
	must(t, os.MkdirAll(filepath.Join(top, "closed", "in"), 0o700))
	must(t, os.Chmod(filepath.Join(top, "closed"), 0))
	must(t, os.Symlink(victim, filepath.Join(base, "link")))

	for _, name := range []string{"top", "link", "none", "none/deeper"} {
		if err := RemoveTree(filepath.Join(base, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) != 1 || entries[0].Name() != "victim" {
		t.Errorf("left %v (%v)", entries, err)
	}
	if _, err := os.Stat(filepath.Join(victim, "deep")); err != nil {
		t.Error(err)
	}
}

// Several may remove one tree at once, and none minds the others.
func TestRemoveTreeAtOnce(t *testing.T) {
	for range 5 {
		top := filepath.Join(private(t), "top")
		for i := range 50 {
			must(t, os.MkdirAll(filepath.Join(top, strconv.Itoa(i%7), strconv.Itoa(i), "x"), 0o700))
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := RemoveTree(top); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := os.Lstat(top); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", top, err)
		}
	}
}

// While anything is mounted in a tree nothing of it is removed, and never anything on the other side.
func TestRemoveTreeStopsAtMounts(t *testing.T) {
	for name, tt := range map[string]struct {
		mount func(source, target string) error
		at    string
	}{
		"another filesystem": {mount: func(_, target string) error { return unix.Mount("tmpfs", target, "tmpfs", 0, "size=16k") }, at: "a/b c"},
		"a bind mount of the same": {mount: func(source, target string) error {
			return unix.Mount(source, target, "", unix.MS_BIND, "")
		}, at: "a/b c"},
		"the top itself": {mount: func(source, target string) error {
			return unix.Mount(source, target, "", unix.MS_BIND, "")
		}, at: ""},
	} {
		t.Run(name, func(t *testing.T) {
			base := private(t)
			source, top := filepath.Join(base, "source"), filepath.Join(base, "top dir")
			point := filepath.Join(top, tt.at)
			for _, dir := range []string{source, point, filepath.Join(top, "other")} {
				must(t, os.MkdirAll(dir, 0o700))
			}
			if err := tt.mount(source, point); errors.Is(err, unix.EPERM) {
				t.Skip("needs the right to mount")
			} else {
				must(t, err)
			}
			t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) }) // unmounted, as a rule
			must(t, os.WriteFile(filepath.Join(point, "precious"), nil, 0o600))

			var mounted *MountedError
			if err := RemoveTree(top); !errors.As(err, &mounted) || mounted.Point != point || mounted.Dir != top {
				t.Errorf("got %v, want a MountedError at %s", err, point)
			}
			// The same when the table did not tell: the walk notices by itself.
			parent, err := Open(base)
			must(t, err)
			defer parent.Close()
			home, err := mountOf(parent.fd())
			must(t, err)
			if err := (&remover{top: top, home: home}).remove(parent, "top dir"); !errors.As(err, &mounted) {
				t.Errorf("the walk: got %v, want a MountedError", err)
			}
			if _, err := os.Stat(filepath.Join(point, "precious")); err != nil {
				t.Errorf("a file on the other side of the mount: %v", err)
			}

			must(t, unix.Unmount(point, unix.MNT_DETACH))
			must(t, RemoveTree(top))
			if _, err := os.Lstat(top); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("after unmounting it stays: %v", err)
			}
		})
	}
}
