// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A lock is a file in locks/ with a flock on it: the kernel lets go of it when the last process that has it open ends,
// however it ends. The file is removed by a process that holds it alone; whoever locked a file that is removed, or
// another by now, begins anew.
//
// Locks are taken in this order, which excludes deadlock: store, then chain (a layer's before those of the layers on
// top of it), then blob, then image, then records.
const (
	// lockStore is shared while layers are looked up and published that no record names yet, and exclusive while layers
	// that no record names are removed.
	lockStore = "store"
	// lockRecords is exclusive while records are changed, and for short only.
	lockRecords = "records"
	// lockChain, with a chain ID, is exclusive while the layer is downloaded and applied.
	lockChain = "chain-"
	// lockBlob, with a digest, is exclusive while the blob is downloaded.
	lockBlob = "blob-"
	// lockImage, with an image ID, is shared while a container uses the image, and exclusive while it is removed.
	lockImage = "image-"
)

type lock struct {
	file *os.File
	path string
}

// tryLock takes a lock, or reports false if somebody else has it.
func (s *Store) tryLock(name string, how int) (*lock, bool, error) {
	for {
		f, err := s.locks.OpenFile(name, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, false, err
		}
		l := &lock{file: f, path: filepath.Join(s.locks.Path(), name)}
		err = flock(f, how|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, false, nil
		}
		if err == nil && l.current() {
			return l, true, nil
		}
		l.unlock()
		if err != nil {
			return nil, false, &os.PathError{Op: "lock", Path: l.path, Err: err}
		}
	}
}

// lock waits for a lock.
func (s *Store) lock(ctx context.Context, name string, how int) (*lock, error) {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		l, ok, err := s.tryLock(name, how)
		if err != nil || ok {
			return l, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// current reports whether the locked file is still the one with the name.
func (l *lock) current() bool {
	here, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(l.path)
	return err == nil && os.SameFile(here, there)
}

// unlock lets go of the lock in all processes that have this file open, also in a child that just begins.
func (l *lock) unlock() {
	_ = flock(l.file, unix.LOCK_UN) // closing does it too
	l.file.Close()
}

// drop lets go of a lock held alone that nobody is going to need again.
func (l *lock) drop() {
	_ = os.Remove(l.path) // a stray one is swept
	l.unlock()
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
