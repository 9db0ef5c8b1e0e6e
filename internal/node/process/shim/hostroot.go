// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// hostRoot keeps the machine's files as they are and binds volumes over them
// in a mount namespace of the container's own. A mount path must exist: making
// it would change the machine, and hiding its parent under an overlay would
// take from the container what it was started this way for. Paths on
// filesystems in memory, where runtime directories belong (/run), are made;
// they are gone after a reboot. Mounts that every Pod has are left out where
// their path does not exist.
func hostRoot(spec *Spec, dir *os.Root) error {
	if err := privateMounts(); err != nil {
		return err
	}
	if spec.ReadOnlyRoot {
		if err := readOnlyHost(); err != nil {
			return err
		}
	}
	made := []string{}
	for _, m := range byDepth(spec.Mounts) {
		info, err := os.Stat(m.Source)
		if err != nil {
			return fmt.Errorf("volume at %s: its source on the machine: %w", m.Target, err)
		}
		target, err := resolve("/", m.Target)
		if err != nil {
			return fmt.Errorf("volume at %s: %w", m.Target, err)
		}
		if _, err := os.Stat(target); err != nil {
			if !inMemory(target) {
				if m.Optional {
					continue
				}
				return fmt.Errorf("volume at %s: RuntimeClass host runs on the machine's own files and there is no %s here: make it on the machine (mkdir -p %s), or leave out runtimeClassName", m.Target, target, target)
			}
			// Written first, so that a crash leaves nothing that no record names.
			made = append(made, missing(target)...)
			if err := writeJSON(dir, MountPointsFile, made); err != nil {
				return err
			}
			if err := makeMountPoint(target, info.IsDir()); err != nil {
				if m.Optional {
					continue // not ours to make, as an ordinary user
				}
				return fmt.Errorf("volume at %s: making the mount point: %w", m.Target, err)
			}
		}
		if err := bindOver(m, target); err != nil {
			return fmt.Errorf("volume at %s: %w", m.Target, err)
		}
		if spec.ReadOnlyRoot && !m.ReadOnly {
			if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
				return fmt.Errorf("volume at %s: making it writable: %w", m.Target, err)
			}
		}
	}
	return os.Chdir("/")
}

// readOnlyHost makes everything but the kernel's directories read-only.
func readOnlyHost() error {
	if err := readOnly("/", true); err != nil {
		return err
	}
	for _, d := range specialDirs {
		_ = unix.MountSetattr(unix.AT_FDCWD, d, unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}
	return nil
}

// missing lists path and the directories above it that do not exist, the
// deepest first, which is the order to remove them in.
func missing(path string) []string {
	var list []string
	for ; path != "/"; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil {
			break
		}
		list = append(list, path)
	}
	return list
}

// inMemory reports whether the nearest existing directory above path lies on a
// filesystem that a reboot empties.
func inMemory(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil {
			return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
		}
		if dir == "/" {
			return false
		}
	}
}
