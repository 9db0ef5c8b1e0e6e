// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/files"
)

const (
	whiteoutPrefix = ".wh."
	opaque         = ".wh..opq" // after whiteoutPrefix: hides what layers below have in the directory
)

// whiteout hides what is named hidden in dir, or all in dir, as far as it comes from layers below: what this layer has
// itself stays, whether it came before or comes after.
func (a *applier) whiteout(dir, hidden string) error {
	switch {
	case hidden == "" || hidden == "." || hidden == "..":
		return archiveError("it hides no file")
	case hidden != opaque && len(hidden) > len(whiteoutPrefix) && hidden[:len(whiteoutPrefix)] == whiteoutPrefix:
		return nil // a note of an old filesystem to itself
	}
	parent, err := a.tree.enter(dir, false)
	if err != nil || parent == nil {
		return err // nothing to hide
	}
	if hidden == opaque {
		return a.hideIn(parent.fd, parent.path, &parent.changed)
	}
	return a.hide(parent.fd, parent.path, hidden, &parent.changed)
}

// hide removes name in the directory dir, which has a path, as far as it is not of this layer.
func (a *applier) hide(dir int, dirPath, name string, changed *bool) error {
	if !a.tree.of.has(dirPath, name) {
		*changed = true
		return removeAll(dir, name)
	}
	fd, err := unix.Openat(dir, name, files.OpenDir, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	times, err := timesAt(fd)
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	inside := false
	err = a.hideIn(fd, path.Join(dirPath, name), &inside)
	_ = unix.Close(fd)
	if err == nil && inside {
		err = files.SetTimes(dir, name, times)
	}
	return err
}

// hideIn does so with all that is in a directory.
func (a *applier) hideIn(dir int, dirPath string, changed *bool) error {
	return files.EachName(dir, func(name string) error { return a.hide(dir, dirPath, name, changed) })
}

// removeAll removes name in the directory dir with all that is in it. What is not there is no error.
func removeAll(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	fd, err := unix.Openat(dir, name, files.OpenDir, 0)
	if err != nil {
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	err = files.EachName(fd, func(inside string) error { return removeAll(fd, inside) })
	_ = unix.Close(fd)
	if err != nil {
		return err
	}
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil {
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}
