// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// lockFile is the name of the file in a data directory on which its user holds a lock.
const lockFile = "lock"

// Lock is the sole use of a data directory. The kernel holds it for the process, so it ends with the process however
// that ends; the file itself stays and means nothing without the lock.
type Lock struct{ file *os.File }

// LockedError says that another process uses a data directory.
type LockedError struct {
	Dir string
	// PID is the process that holds the directory, 0 if it did not say.
	PID int
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("the data directory %s is in use by %s: stop that process, or choose another directory with --data-dir", e.Dir, who)
}

// orphanedTimeout is how long the lock of a process that was killed is waited for. A child that it was making holds the
// lock with it until it executes its own program, which takes milliseconds, and longer on a machine with much to do.
const orphanedTimeout = 5 * time.Second

// LockDir creates dir with mode 0700 if need be and takes the sole use of it. It returns a *LockedError when another
// process, or another value in this process, has it: at once if that lives, so that only what a kill leaves is waited
// for. A directory that somebody else made is
// refused, since keys will lie in it; one of ours that others can read is narrowed to 0700.
func LockDir(dir string) (*Lock, error) {
	for {
		d, err := privatedir.Make(dir)
		if err != nil {
			return nil, unusableDir(dir, err)
		}
		lock, err := LockOpen(d)
		// A restore puts another directory in the place of one that it has locked.
		if err == nil && !isStill(d, dir) {
			lock.Release()
			d.Close()
			continue
		}
		d.Close()
		return lock, err
	}
}

// isStill tells whether an open directory is the one that its path means.
func isStill(d *privatedir.Dir, path string) bool {
	opened, err := d.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, now)
}

// LockOpen is LockDir for a directory that is open: its path may mean another one by now.
func LockOpen(d *privatedir.Dir) (*Lock, error) {
	dir := d.Path()
	file, err := d.OpenFile(lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, unusableDir(dir, err)
	}
	for end := time.Now().Add(orphanedTimeout); ; <-time.After(10 * time.Millisecond) { // nobody tells of a lock that is free
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("lock the data directory %s (does its file system support locks?): %w", dir, err)
		}
		if pid := holder(file); pid == 0 || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) || time.Now().After(end) {
			file.Close()
			return nil, &LockedError{Dir: dir, PID: pid}
		}
	}
	// The pid is only for the message of the next one who tries; the lock does not depend on it.
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		file.Close()
		return nil, unusableDir(dir, err)
	}
	return &Lock{file: file}, nil
}

// holder is the process that took the lock, as it says itself; 0 when it did not say.
func holder(lock *os.File) int {
	text := make([]byte, 32)
	n, _ := lock.ReadAt(text, 0) // what is shorter is read, too
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return max(pid, 0)
}

// Release gives the directory up. Calling it again does nothing.
func (l *Lock) Release() {
	l.file.Close()
}

// unusableDir turns the usual ways in which a directory cannot be used into words that name the cure.
func unusableDir(dir string, err error) error {
	var notOurs *privatedir.NotOursError
	switch {
	case errors.As(err, &notOurs):
		return fmt.Errorf("the data directory cannot be used: %w (--data-dir names another)", err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("no space left for the data directory %s: free some space, or choose another directory with --data-dir: %w", dir, err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.EROFS):
		return fmt.Errorf("the data directory %s cannot be written: choose one that you may write with --data-dir, or correct its owner and mode: %w", dir, err)
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, os.ErrExist):
		return fmt.Errorf("the data directory %s cannot be made because a part of its path is not a directory: choose another with --data-dir: %w", dir, err)
	}
	return fmt.Errorf("the data directory %s cannot be used: %w", dir, err)
}
