// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/controlplane"
)

const (
	// freshDir is the new state in the directory of a restore, until both have changed places.
	freshDir = "fresh"
	// oldDir is the old state beside it, where a filesystem cannot exchange two directories at once.
	oldDir = "old"
	// placingMark is in the new state until that has its place and the old one its name. It says in which directory the
	// new state was made ready, so whoever finds that after a kill knows which of the two he has found.
	placingMark = ".placing"
)

// place gives the new state its place, and what was there a name of its own, which it returns. Both change places at
// once; a kill before leaves the old state, one after it the new one.
func place(fresh string, t target, now time.Time) (aside string, err error) {
	// Nobody starts on the new state before all is done.
	lock, err := controlplane.LockDir(fresh)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	if err := os.WriteFile(filepath.Join(fresh, placingMark), []byte(filepath.Base(filepath.Dir(fresh))), 0o600); err != nil {
		return "", err
	}
	if err := syncAll(fresh); err != nil {
		return "", fmt.Errorf("make the restored state durable: %w", err)
	}
	if err := exchange(fresh, t.dir); err != nil {
		return "", cannotPlace(t.dir, err)
	}
	// From here on the new state is in its place, and fresh is the old one.
	if t.state {
		if aside, err = setAside(fresh, t.dir, now); err != nil {
			return fresh, fmt.Errorf("the backup is restored, but what was there before could not be given a name beside it: it will have it after the next restore: %w", err)
		}
	}
	err = errors.Join(os.Remove(filepath.Join(t.dir, placingMark)), syncDir(filepath.Dir(t.dir)))
	return aside, err
}

// exchange makes two directories change places. Where a filesystem cannot do that at once they do so in two steps; a kill
// between them leaves the old one's place empty.
func exchange(fresh, dir string) error {
	err := exchangeAtOnce(fresh, dir)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	old := filepath.Join(filepath.Dir(fresh), oldDir)
	if err := os.Rename(dir, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return os.Rename(old, fresh)
}

func cannotPlace(dir string, err error) error {
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EXDEV) {
		return request("%s is a mount point, and a restore gives a whole directory its name: name a directory in it, such as --data-dir %s, and nothing was changed", dir, filepath.Join(dir, "carillon"))
	}
	return fmt.Errorf("the restored state could not be put in place of %s: %w", dir, err)
}

// setAside gives the former state of dir, which is at old, a name that tells what it is.
func setAside(old, dir string, now time.Time) (string, error) {
	name := dir + ".before-restore-" + now.UTC().Format("20060102T150405Z")
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = dir + ".before-restore-" + now.UTC().Format("20060102T150405Z") + "-" + strconv.Itoa(n)
	}
	return name, os.Rename(old, name)
}

// rescue looks into the directory of a killed restore of dir for a state that had been there before, gives it its place
// back, or a name if another one has that, and tells what it did. "" says that there was none.
func rescue(work, dir string, now time.Time) (told string, err error) {
	old := filepath.Join(work, oldDir)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && os.Rename(old, dir) == nil {
		return fmt.Sprintf("a restore was killed while it put its state in place; the state before it is in %s again", dir), syncDir(filepath.Dir(dir))
	}
	mark, err := os.ReadFile(filepath.Join(dir, placingMark))
	if err != nil || string(mark) != filepath.Base(work) {
		return "", nil // the new state did not get its place
	}
	for _, path := range []string{old, filepath.Join(work, freshDir)} {
		names, err := entries(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
			continue
		}
		if err != nil {
			return "", err
		}
		aside, err := setAside(path, dir, now)
		if err != nil {
			return "", err
		}
		told = "a restore that was killed had put its state in place; the state before it is now in " + aside
	}
	return told, errors.Join(os.Remove(filepath.Join(dir, placingMark)), syncDir(filepath.Dir(dir)))
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
