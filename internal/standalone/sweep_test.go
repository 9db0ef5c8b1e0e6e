// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// Only directories that nobody holds, that are not just being made, and that are ours by name are removed.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-2 * sweepAge)
	make := func(name string, age time.Time) string {
		dir := filepath.Join(temp, name)
		if err := os.MkdirAll(datadir.Runtime(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, age, age); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	abandoned := make(ephemeralPrefix+"abandoned", old)
	young := make(ephemeralPrefix+"young", time.Now())
	other := make("other", old)
	held := make(ephemeralPrefix+"held", old)
	lock, err := controlplane.LockDir(held)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := os.Chtimes(held, old, old); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(temp, ephemeralPrefix+"link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}

	sweep(t.Context())
	for dir, want := range map[string]bool{abandoned: false, young: true, other: true, held: true, link: true} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", dir, err == nil, want)
		}
	}
}

// A plane that is kept cleans up after killed throw-away ones too.
func TestTakeDirectorySweeps(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	abandoned := filepath.Join(temp, ephemeralPrefix+"abandoned")
	old := time.Now().Add(-2 * sweepAge)
	if err := errors.Join(os.Mkdir(abandoned, 0o700), os.Chtimes(abandoned, old, old)); err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{DataDir: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.takeDirectory(); err != nil {
		t.Fatal(err)
	}
	s.lock.Release()
	if _, err := os.Lstat(abandoned); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", abandoned, err)
	}
}

// Whatever somebody else put into the directory for temporary files is left alone: his directories, links, and
// directories of ours that were open to him.
func TestSweepTouchesOnlyOurs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to play somebody else")
	}
	const stranger, precious = 2001, "not to be truncated"
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-2 * sweepAge)
	victim := filepath.Join(temp, "victim")
	if err := os.WriteFile(victim, []byte(precious), 0o600); err != nil {
		t.Fatal(err)
	}
	prepare := func(name string, mode os.FileMode, owner int, lock func(dir string) error) string {
		dir := filepath.Join(temp, ephemeralPrefix+name)
		root := filepath.Join(datadir.Runtime(dir), "containers", "0123456789abcdef0123456789abcdef")
		err := os.MkdirAll(root, 0o700)
		for _, err2 := range []error{
			os.WriteFile(filepath.Join(root, "container.json"), []byte("{}"), 0o600),
			lock(dir), os.Chmod(dir, mode), os.Lchown(dir, owner, owner), os.Chtimes(dir, old, old),
		} {
			err = errors.Join(err, err2)
		}
		if err != nil {
			t.Fatal(err)
		}
		return root
	}
	link := func(dir string) error { return os.Symlink(victim, filepath.Join(dir, "lock")) }
	none := func(string) error { return nil }
	stay := []string{
		prepare("foreign", 0o700, stranger, link),
		prepare("open", 0o777, 0, none),
		prepare("readable", 0o755, 0, none),
		prepare("linked-lock", 0o700, 0, link),
	}
	sweep(t.Context())
	for _, root := range stay {
		if text, err := os.ReadFile(filepath.Join(root, "container.json")); err != nil || string(text) != "{}" {
			t.Errorf("touched: %q, %v", text, err)
		}
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != precious {
		t.Errorf("the file behind a link holds %q (%v)", text, err)
	}
}

// An abandoned directory with a mount below it goes without what is on the other side, whatever its path looks like;
// while the mount cannot be ended it stays.
func TestSweepUnmounts(t *testing.T) {
	base := t.TempDir()
	temp, source := filepath.Join(base, "with a space"), filepath.Join(base, "source")
	dir := filepath.Join(temp, ephemeralPrefix+"abandoned")
	point := filepath.Join(datadir.Node(dir), "kubelet", "pods", "x y")
	for _, each := range []string{source, point} {
		if err := os.MkdirAll(each, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(source, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, point, "", unix.MS_BIND, ""); err != nil {
		t.Skip("needs the right to mount", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) }) // unmounted, as a rule
	old := time.Now().Add(-2 * sweepAge)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)

	if err := privatedir.RemoveTree(dir); !errors.As(err, new(*privatedir.MountedError)) {
		t.Errorf("with a live mount: %v", err)
	}
	sweep(t.Context())
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
	if _, err := os.Stat(filepath.Join(source, "precious")); err != nil {
		t.Errorf("what was mounted there: %v", err)
	}
}
