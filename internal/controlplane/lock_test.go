// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// A directory that somebody else made is refused with one line that names him and the cure, and is left as it is; so
// is one in which others could have put something. Before, its authority was believed and its links were followed.
func TestLockDirRefusesWhatIsNotOurs(t *testing.T) {
	const precious = "not to be truncated"
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, dir, victim string)
		root    bool
		want    []string
	}{
		"somebody else's": {root: true, want: []string{"user 2001", "directory of your own", "--data-dir"}, prepare: func(t *testing.T, dir, _ string) {
			if err := os.Chown(dir, 2001, 2001); err != nil {
				t.Fatal(err)
			}
		}},
		"open to be written": {want: []string{"0777", "chmod 0700", "--data-dir"}, prepare: func(t *testing.T, dir, _ string) {
			if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(filepath.Join(dir, "ca.pem"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}},
		"a link as lock": {want: []string{"is a link", "remove the link"}, prepare: func(t *testing.T, dir, victim string) {
			if err := os.Symlink(victim, filepath.Join(dir, lockFile)); err != nil {
				t.Fatal(err)
			}
		}},
		"a pipe as lock": {want: []string{"not a regular file"}, prepare: func(t *testing.T, dir, _ string) {
			if err := unix.Mkfifo(filepath.Join(dir, lockFile), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("needs root to give a directory to somebody else")
			}
			base := t.TempDir()
			dir, victim := filepath.Join(base, "data"), filepath.Join(base, "victim")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(victim, []byte(precious), 0o600)); err != nil {
				t.Fatal(err)
			}
			tt.prepare(t, dir, victim)
			before, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			lock, err := LockDir(dir)
			if err == nil {
				lock.Release()
				t.Fatal("it was taken")
			}
			for _, want := range append(tt.want, dir) {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q is not one line that says %q", err, want)
				}
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != precious {
				t.Errorf("the file behind the link holds %q (%v)", text, err)
			}
			if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
				t.Errorf("it held %v and holds %v (%v)", before, after, err)
			}
		})
	}
}

// No log, key or certificate is written through a link.
func TestFilesAreNotLinks(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.WriteFile(victim, nil, 0o600), os.Symlink(victim, filepath.Join(dir, "carillon.log"))); err != nil {
		t.Fatal(err)
	}
	if sink, err := openLog(Options{LogFile: filepath.Join(dir, "carillon.log")}); err == nil {
		_ = sink.close() // the failure is told below
		t.Error("a log was opened through a link")
	} else if !strings.Contains(err.Error(), "remove the link") {
		t.Errorf("%q does not name the cure", err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	if _, err := openPKI(dir, time.Now(), DefaultSigningDuration); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a key that is a link: %v", err)
	}
	if text, err := os.ReadFile(victim); err != nil || len(text) > 0 {
		t.Errorf("the file behind the link holds %q (%v)", text, err)
	}
}

// A process that was killed may leave its lock to a child that it was just making, for a moment. The next start waits
// for that, and not for a process that lives.
func TestLockOfAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	killed := exec.Command(os.Args[0], "-test.run=^$")
	if err := killed.Run(); err != nil {
		t.Fatal(err)
	}
	lock, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), fmt.Appendln(nil, killed.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, lock.Release)
	next, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release()
	var locked *LockedError
	if _, err := LockDir(dir); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("of a process that lives: %v", err)
	}
}
