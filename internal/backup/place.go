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
	"github.com/carillon-dev/carillon/internal/datadir"
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

// placing puts a new state in its place by the system's own calls, which tests replace.
type placing struct{ exchange, rename func(a, b string) error }

var systemCalls = placing{exchangeAtOnce, os.Rename}

// placed tells where the state is that was in a place before.
type placed struct {
	// aside is the name that it was given; empty if there was none, or if it has none.
	aside string
	// left is where it is in the directory of the restore if it could not be given a name: that must not be removed.
	left string
}

// place gives the new state its place, and what was there a name of its own. Both change places at once; a kill before
// leaves the old state, one after it the new one.
func (p placing) place(fresh string, t target, now time.Time) (done placed, err error) {
	// Nobody starts on the new state before all is done.
	lock, err := controlplane.LockDir(fresh)
	if err != nil {
		return placed{}, err
	}
	defer lock.Release()
	if err := os.WriteFile(filepath.Join(fresh, placingMark), []byte(filepath.Base(filepath.Dir(fresh))), 0o600); err != nil {
		return placed{}, err
	}
	if err := syncAll(fresh); err != nil {
		return placed{}, fmt.Errorf("make the restored state durable: %w", err)
	}
	former, err := p.change(fresh, t.dir)
	switch {
	case err != nil && former != "":
		return placed{left: former}, fmt.Errorf("the restored state could not be put in place of %s, and what was there could not be given its place back: it is in %s (nothing of it is lost; the same restore again, or a rename by hand, brings it back): %w", t.dir, former, err)
	case err != nil:
		return placed{}, cannotPlace(t.dir, err)
	}
	// From here on the new state is in its place.
	if t.state {
		if done.aside, err = p.setAside(former, t.dir, now); err != nil {
			return placed{left: former}, fmt.Errorf("the backup is restored, but what was there before could not be given a name beside it: it is in %s until the next restore names it: %w", former, err)
		}
	}
	err = errors.Join(os.Remove(filepath.Join(t.dir, placingMark)), syncDir(filepath.Dir(t.dir)))
	return done, err
}

// change puts fresh in the place of dir, and tells where that is now; after an error "" says that nothing was changed.
// Where a filesystem cannot exchange two directories at once it is done in two steps; a kill between them leaves the
// place empty.
func (p placing) change(fresh, dir string) (former string, err error) {
	err = p.exchange(fresh, dir)
	if err == nil {
		return fresh, nil
	}
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.ENOTSUP) {
		return "", err
	}
	old := filepath.Join(filepath.Dir(fresh), oldDir)
	if err := p.rename(dir, old); err != nil {
		return "", err
	}
	if err := p.rename(fresh, dir); err != nil {
		if berr := p.rename(old, dir); berr != nil {
			return old, errors.Join(err, berr)
		}
		return "", err
	}
	return old, nil
}

func cannotPlace(dir string, err error) error {
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EXDEV) {
		return request("%s is a mount point, and a restore gives a whole directory its name: name a directory in it, such as --data-dir %s, and nothing was changed", dir, filepath.Join(dir, "carillon"))
	}
	return fmt.Errorf("the restored state could not be put in place of %s: %w", dir, err)
}

// setAside gives the former state of dir, which is at old, a name that tells what it is.
func (p placing) setAside(old, dir string, now time.Time) (string, error) {
	name := datadir.SetAsidePrefix(dir) + now.UTC().Format("20060102T150405Z")
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = datadir.SetAsidePrefix(dir) + now.UTC().Format("20060102T150405Z") + "-" + strconv.Itoa(n)
	}
	if err := p.rename(old, name); err != nil {
		return "", err
	}
	return name, nil
}

// rescue looks into the directory of a killed restore of dir for a state that had been there before, gives it its place
// back, or a name if another one has that, and tells what it did. "" says that there was none.
func rescue(work, dir string, now time.Time) (told string, err error) {
	old := filepath.Join(work, oldDir)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && os.Rename(old, dir) == nil {
		return fmt.Sprintf("a restore was killed while it put its state in place; the state before it is in %s again", dir), syncDir(filepath.Dir(dir))
	}
	// Nothing but a former state is ever there, whatever has its place by now.
	told, err = rescueOne(old, dir, now)
	if err != nil {
		return "", err
	}
	mark, err := os.ReadFile(filepath.Join(dir, placingMark))
	if err != nil || string(mark) != filepath.Base(work) {
		return told, nil // the new state did not get its place
	}
	exchanged, err := rescueOne(filepath.Join(work, freshDir), dir, now)
	if err != nil {
		return "", err
	}
	if exchanged != "" {
		told = exchanged
	}
	return told, errors.Join(os.Remove(filepath.Join(dir, placingMark)), syncDir(filepath.Dir(dir)))
}

// rescueOne gives a former state of dir a name, if there is anything in it.
func rescueOne(path, dir string, now time.Time) (told string, err error) {
	names, err := entries(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	aside, err := systemCalls.setAside(path, dir, now)
	if err != nil {
		return "", err
	}
	return "a restore was killed, or failed, while it put its state in place; the state before it is now in " + aside, syncDir(filepath.Dir(dir))
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
