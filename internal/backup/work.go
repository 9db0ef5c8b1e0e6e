// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// spareBytes is what stays free on a disk that something is copied to.
const spareBytes = 64 << 20

// workDir is a directory for what is not finished. Its name says so, and a lock tells whether somebody is at it.
type workDir struct {
	path string
	lock *controlplane.Lock
	// keep: something is in it that has no other place.
	keep bool
}

// makeWork makes one in parent. prefix is what the names of all of one kind have in common.
func makeWork(parent, prefix string) (*workDir, error) {
	path := filepath.Join(parent, prefix+rand.Text())
	lock, err := controlplane.LockDir(path)
	if err != nil {
		return nil, err
	}
	return &workDir{path: path, lock: lock}, nil
}

// remove takes it away with all that is in it, unless that is to be kept.
func (w *workDir) remove() (err error) {
	if !w.keep {
		err = privatedir.RemoveTree(w.path)
	}
	w.lock.Release()
	return err
}

func (w *workDir) file(name string) string { return filepath.Join(w.path, name) }

// workLeft gives the paths of all directories of one kind in parent.
func workLeft(parent, prefix string) ([]string, error) {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.IsDir() {
			paths = append(paths, filepath.Join(parent, e.Name()))
		}
	}
	return paths, err
}

// sweepWork looks for what killed processes left in parent, calls each with the path, and removes what then remains. What
// somebody is at, or is not ours, it leaves alone.
func sweepWork(parent, prefix string, each func(path string) error) error {
	paths, err := workLeft(parent, prefix)
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range paths {
		dir, err := privatedir.Open(path)
		if err != nil {
			continue
		}
		lock, err := controlplane.LockOpen(dir)
		dir.Close()
		if err != nil {
			continue
		}
		if err = each(path); err == nil {
			err = privatedir.RemoveTree(path)
		}
		lock.Release()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkSpace makes sure that so many bytes can be written to a directory's disk.
func checkSpace(dir string, bytes int64, cure string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &os.PathError{Op: "look at", Path: dir, Err: err}
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < bytes+spareBytes { //nolint:gosec,unconvert // its types differ by system
		return fmt.Errorf("%d MiB are free on the disk of %s, and %d are needed: %s", free>>20, dir, (bytes+spareBytes)>>20, cure)
	}
	return nil
}
