// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MountedError says that a tree was not removed, because something is mounted in it.
type MountedError struct {
	Dir   string
	Point string // one place where something is mounted
}

func (e *MountedError) Error() string {
	return fmt.Sprintf("%s is not removed, because something is mounted at %s: unmount it (umount %q), then remove the directory", e.Dir, e.Point, e.Point)
}

// RemoveTree removes a directory with everything in it, or a file; what is not there is no error. It never leaves the
// mount on which path lies: while anything is mounted at or below path it removes nothing, and a mount that comes while
// it works stops it. Links are removed and not followed. The parent of path must be one that nobody else can change.
//
// An ordinary user's own directories are removed also when he closed them to himself; the kernel makes such ones in the
// work directories of overlays.
func RemoveTree(path string) error {
	parent, err := open(unix.AT_FDCWD, filepath.Dir(path), filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if point, err := mountedBelow(parent.fd(), filepath.Base(path)); err != nil {
		return err
	} else if point != "" {
		return &MountedError{Dir: path, Point: point}
	}
	home, err := mountOf(parent.fd())
	if err != nil {
		return &os.PathError{Op: "look at", Path: parent.path, Err: err}
	}
	r := remover{top: path, home: home}
	return r.remove(parent, filepath.Base(path))
}

// remover removes one tree.
type remover struct {
	top  string
	home mountID
}

// remove removes one entry of dir.
func (r *remover) remove(dir *Dir, name string) error {
	path := filepath.Join(dir.path, name)
	err := unix.Unlinkat(dir.fd(), name, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var st unix.Stat_t
	serr := unix.Fstatat(dir.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(serr, fs.ErrNotExist) {
		return nil // somebody else removes the same tree
	}
	if serr != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return r.explain(path, err)
	}
	if int(st.Uid) == os.Geteuid() && st.Uid != 0 && st.Mode&0o700 != 0o700 {
		// Without the rights to it nothing in it can be removed; the next step says so if this fails.
		_ = unix.Fchmodat(dir.fd(), name, 0o700, 0)
	}
	sub, err := open(dir.fd(), name, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // likewise
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := r.empty(sub); err != nil {
		return err
	}
	if err := unix.Unlinkat(dir.fd(), name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.explain(path, err)
	}
	return nil
}

// empty removes everything in dir, if dir lies on the mount where the removal began.
func (r *remover) empty(dir *Dir) error {
	at, err := mountOf(dir.fd())
	if err != nil {
		return &os.PathError{Op: "look at", Path: dir.path, Err: err}
	}
	if at != r.home {
		return &MountedError{Dir: r.top, Point: dir.path}
	}
	names, err := dir.f.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var problems []error
	for _, name := range names {
		if err := r.remove(dir, name); err != nil {
			problems = append(problems, err)
			if errors.As(err, new(*MountedError)) {
				break // nobody knows what else is going on there
			}
		}
	}
	return errors.Join(problems...)
}

// explain turns the kernel's refusal to remove a mount point into words.
func (r *remover) explain(path string, err error) error {
	if errors.Is(err, unix.EBUSY) {
		return &MountedError{Dir: r.top, Point: path}
	}
	return &os.PathError{Op: "remove", Path: path, Err: err}
}
