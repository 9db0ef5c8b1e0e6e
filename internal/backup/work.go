// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

const (
	// spareBytes is what stays free on a disk that something is copied to; runningSpareBytes if that is the disk of a
	// Carillon that runs, whose store and Pods need it.
	spareBytes        = 64 << 20
	runningSpareBytes = 512 << 20
	// lookAfter is how many bytes are written between two looks at how much is free: others write, too.
	lookAfter = 16 << 20
)

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

// sweepWork looks for what killed processes left in parent, calls each with the path, and removes what then remains.
// What somebody is at, or is not ours, it leaves alone.
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

// space is a disk that must not become full.
type space struct {
	dir   string
	spare int64 // bytes that stay free
	cure  string
	free  func(dir string) (int64, error) // freeBytes
}

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "look at", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec,unconvert // its types differ by system
}

// check makes sure that so many bytes can be written.
func (s *space) check(bytes int64) error {
	free, err := s.free(s.dir)
	if err != nil {
		return err
	}
	if free-s.spare < bytes {
		return fmt.Errorf("%d MiB are free on the disk of %s, and %d are needed: %s", free>>20, s.dir, bytes>>20+s.spare>>20, s.cure)
	}
	return nil
}

// writer writes to w for as long as there is space.
func (s *space) writer(w io.WriteCloser) io.WriteCloser {
	return &spaceWriter{WriteCloser: w, space: s}
}

type spaceWriter struct {
	io.WriteCloser
	space   *space
	written int64 // since the last look
}

// Write implements io.Writer.
func (w *spaceWriter) Write(p []byte) (int, error) {
	if w.written += int64(len(p)); w.written >= lookAfter {
		w.written = 0
		if err := w.space.check(int64(len(p))); err != nil {
			return 0, err
		}
	}
	return w.WriteCloser.Write(p)
}
