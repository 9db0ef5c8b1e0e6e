// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// One holder at a time; the next is told who it is, and gets the directory when it is free.
func TestLockDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockDir(dir)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Dir != dir {
		t.Fatalf("the second lock gave %v, want a LockedError with our pid", err)
	}
	if !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("%q does not name the cure", err)
	}
	first.Release()
	second, err := LockDir(dir)
	if err != nil {
		t.Fatalf("the lock outlived its release: %v", err)
	}
	second.Release()
}

// A lock file without a holder, as a killed process leaves it, is no lock, whatever it says.
func TestLockDirAfterDeath(t *testing.T) {
	for name, text := range map[string]string{"a pid": "1\n", "nothing": "", "nonsense": strings.Repeat("x", 4096)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, lockFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			lock, err := LockDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			lock.Release()
		})
	}
}

// Keys will lie in the directory, so it is closed to others.
func TestLockDirNarrowsMode(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v (%v), want 0700", info.Mode(), err)
	}
}

// Directories that cannot be used are refused with the cure.
func TestUnusableDir(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a file": file, "below a file": filepath.Join(file, "x", "y")} {
		t.Run(name, func(t *testing.T) {
			_, err := LockDir(dir)
			if err == nil || !strings.Contains(err.Error(), "not a directory") || !strings.Contains(err.Error(), "--data-dir") {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no permission":   {os.ErrPermission, "cannot be written"},
		"read-only":       {unix.EROFS, "cannot be written"},
		"full":            {unix.ENOSPC, "free some space"},
		"quota exhausted": {unix.EDQUOT, "free some space"},
		"anything else":   {unix.EIO, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			err := unusableDir("/d", &os.PathError{Op: "open", Path: "/d/x", Err: test.err})
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "/d ") && !strings.Contains(err.Error(), "/d:") {
				t.Errorf("%q does not say %q", err, test.want)
			}
			if !errors.Is(err, test.err) {
				t.Errorf("%q hides its cause", err)
			}
		})
	}
}
