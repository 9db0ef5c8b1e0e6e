// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// maxUserMounts bounds the mounts of one root; directories beyond it are shown
// read-only as a whole.
const maxUserMounts = 512

// userRoot gives an ordinary user's process its root, inside a user namespace.
// There the kernel refuses an overlay over a directory that has mounts below,
// because it would show what those mounts cover. So the root is a tmpfs, and
// each directory without mounts gets an overlay; one with mounts below is
// made anew and treated the same way, entry by entry.
func userRoot(spec *Spec, ownPIDs bool) error {
	if err := privateMounts(); err != nil {
		return err
	}
	l, err := newLayers(spec, "userxattr")
	if err != nil {
		return err
	}
	l.own = spec.Own
	root, err := filepath.Abs(RootDir)
	if err != nil {
		return err
	}
	table, err := mounts.Table()
	if err != nil {
		return err
	}
	machine := mounts.Visible(table)
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,"+memorySize()); err != nil {
		return fmt.Errorf("mounting the root: %w", err)
	}
	u := &userView{layers: l, mounts: machine, root: root}
	if err := u.probe(); err != nil {
		return err
	}
	if err := u.entries("/"); err != nil {
		return err
	}
	return finishRoot(spec, root, ownPIDs, append(u.cow, root), machine)
}

type userView struct {
	layers *layers
	mounts []mounts.Mount
	root   string
	cow    []string
	count  int
}

// probe finds out once whether overlays work at all, here or in memory.
// Failing directory by directory would show a machine that is read-only
// everywhere and leave the reader to guess why.
func (u *userView) probe() error {
	try := func() error {
		lower, target := filepath.Join(u.layers.dir, "lower"), filepath.Join(u.root, ".probe")
		for _, d := range []string{lower, target} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				return err
			}
		}
		defer func() { _ = os.Remove(target) }() // an empty directory that a later probe takes
		if err := u.layers.overlay(lower, target); err != nil {
			return err
		}
		return unix.Unmount(target, unix.MNT_DETACH)
	}
	err := try()
	if err == nil {
		return nil
	}
	if merr := u.layers.inMemory(); merr != nil {
		return err
	}
	return try()
}

// entries shows what is in the directory dir of the machine.
func (u *userView) entries(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if underAny(path, specialDirs) {
			continue
		}
		target := filepath.Join(u.root, path)
		switch {
		case e.Type()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err == nil {
				err = os.Symlink(to, target)
			}
			if err != nil {
				return err
			}
		case e.IsDir():
			if err := u.dir(path, target); err != nil {
				return err
			}
		default:
			// Files, sockets and devices that lie beside mount points: visible,
			// and not to be changed.
			if err := makeMountPoint(target, false); err != nil {
				return err
			}
			u.readOnlyBind(path, target)
		}
	}
	return nil
}

func (u *userView) dir(path, target string) error {
	if err := os.Mkdir(target, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	below := false
	for _, m := range u.mounts {
		if mounts.StrictlyUnder(m.Point, path) {
			below = true
		}
	}
	if !below {
		if u.count++; u.count <= maxUserMounts && u.layers.overlay(path, target) == nil {
			u.cow = append(u.cow, target)
			return nil
		}
		u.readOnlyBind(path, target)
		return nil
	}
	if u.count <= maxUserMounts {
		if info, err := os.Stat(path); err == nil {
			_ = os.Chmod(target, info.Mode().Perm()|0o700|info.Mode()&os.ModeSticky)
		}
		if u.entries(path) == nil {
			return nil
		}
	}
	u.readOnlyBind(path, target)
	return nil
}

// readOnlyBind shows what can not be overlaid. Where even that is refused the
// place stays empty.
func (u *userView) readOnlyBind(path, target string) {
	if bindTree(path, target) == nil && readOnly(target, true) != nil {
		_ = unix.Unmount(target, unix.MNT_DETACH)
	}
}
