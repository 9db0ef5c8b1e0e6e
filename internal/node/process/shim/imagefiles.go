// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/files"
	"github.com/carillon-dev/carillon/internal/image/overlay"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// copyDir in LayerDir is the copy of an image that is a container's root where
// no overlay can be mounted. It is the container's writable layer, and counted
// and removed like any other.
const copyDir = "copy"

// noOverlayError says why the files of an image cannot be shown.
type noOverlayError struct {
	layers int
	why    error
}

func (e *noOverlayError) Error() string {
	return fmt.Sprintf("the image is kept as %d layers, which only an overlay puts together, and none can be mounted here (%v): choose another directory with --image-dir, where images are pulled anew as whole directories, or see that overlays can be mounted", e.layers, e.why)
}

func (e *noOverlayError) Unwrap() error { return e.why }

// image shows the files of an image at RootDir, for the container alone to
// change: as an overlay of its layers, with what is written on disk or else in
// memory, and where no overlay can be mounted as a copy.
func (l *layers) image(image *Image) error {
	err := l.numbered(1, RootDir, image.Lowers...)
	if err == nil || errors.As(err, new(*overlay.TooManyError)) {
		return err
	}
	if merr := l.inMemory(); merr != nil {
		return errors.Join(err, merr)
	}
	if l.numbered(1, RootDir, image.Lowers...) == nil {
		return nil
	}
	if uerr := unix.Unmount(LayerDir, unix.MNT_DETACH); uerr != nil {
		return errors.Join(err, uerr)
	}
	if len(image.Lowers) > 1 {
		return &noOverlayError{layers: len(image.Lowers), why: err}
	}
	if cerr := l.copied(image.Lowers[0], image.Own == nil); cerr != nil {
		return fmt.Errorf("copying the image, because no overlay can be mounted here (%w): %w", err, cerr)
	}
	return nil
}

// copied shows a copy of the directory from at RootDir. In a user namespace with
// one user all of it belongs to him.
func (l *layers) copied(from string, allUsers bool) error {
	to := filepath.Join(l.dir, copyDir)
	if err := privatedir.RemoveTree(to); err != nil { // half of one, of a supervisor that was killed
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := files.Copy(source, to, allUsers); err != nil {
		return err
	}
	if err := bindTree(to, RootDir); err != nil {
		return err
	}
	return restrict(RootDir, uint64(l.flags&unix.MS_NODEV), false) // the attribute has the value of the flag
}

// mountReadOnly shows the files of an image at target, which is made, to be
// looked at alone.
func mountReadOnly(lowers []string, target, options string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if len(lowers) == 1 {
		if err := bindTree(lowers[0], target); err != nil {
			return fmt.Errorf("mounting the image: %w", err)
		}
		return restrict(target, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID, true)
	}
	err := overlay.Mount{Lowers: lowers, Options: options, Flags: unix.MS_RDONLY | unix.MS_NODEV | unix.MS_NOSUID}.At(target)
	if err == nil || errors.As(err, new(*overlay.TooManyError)) || errors.Is(err, os.ErrNotExist) {
		return err
	}
	return &noOverlayError{layers: len(lowers), why: err}
}
