// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// bindTree makes source appear at target with all that is mounted below it.
// Inside a user namespace the kernel refuses anything less.
func bindTree(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding %s to %s: %w", source, target, err)
	}
	return nil
}

// readOnly makes the mount at target read-only, and all below it.
func readOnly(target string, recursive bool) error {
	if err := restrict(target, unix.MOUNT_ATTR_RDONLY, recursive); err != nil {
		return fmt.Errorf("making %s read-only: %w", target, err)
	}
	return nil
}

// restrict adds attributes to the mount at target, and to all below it.
func restrict(target string, attr uint64, recursive bool) error {
	flags := uint(0)
	if recursive {
		flags = unix.AT_RECURSIVE
	}
	err := unix.MountSetattr(unix.AT_FDCWD, target, flags, &unix.MountAttr{Attr_set: attr})
	if !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// Before Linux 5.12: one mount at a time, keeping the flags it has.
	points := []string{target}
	if recursive {
		table, err := mounts.Table()
		if err != nil {
			return err
		}
		for _, m := range mounts.Visible(table) {
			if mounts.StrictlyUnder(m.Point, target) {
				points = append(points, m.Point)
			}
		}
	}
	for _, p := range points {
		var st unix.Statfs_t
		if err := unix.Statfs(p, &st); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		// These flags of statfs, and these attributes, have the values of the
		// mount flags.
		keep := uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY)
		if err := unix.Mount("", p, "", unix.MS_REMOUNT|unix.MS_BIND|uintptr(attr)|keep, ""); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// noDevices keeps device nodes from being opened on a volume that was bound
// from source to target, with all that is mounted below. What the machine has
// in its /dev stays as it is: a volume from there is there for the devices.
// machine are the mounts of the machine.
func noDevices(source, target string, machine []mounts.Mount) error {
	source, err := filepath.EvalSymlinks(source)
	if err != nil {
		return err
	}
	if holdsDevices(source, "") {
		return nil
	}
	below, devices := []string{source}, false
	for _, m := range machine {
		if mounts.StrictlyUnder(m.Point, source) {
			if holdsDevices(m.Point, m.Type) {
				devices = true
				continue
			}
			below = append(below, m.Point)
		}
	}
	if !devices {
		return restrict(target, unix.MOUNT_ATTR_NODEV, true)
	}
	for _, point := range below {
		err := restrict(target+strings.TrimPrefix(point, source), unix.MOUNT_ATTR_NODEV, false)
		if err != nil && (point == source || !covered(err)) {
			return err
		}
	}
	return nil
}

// covered reports whether err says that there is no such mount: it is covered
// by another or was unmounted meanwhile.
func covered(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EINVAL) }

// holdsDevices reports whether a mount of the machine is there for its devices.
func holdsDevices(point, typ string) bool {
	if typ == "devtmpfs" || mounts.Under(point, "/dev") {
		return true
	}
	info, err := os.Stat(point)
	return err == nil && info.Mode()&os.ModeDevice != 0
}

// resolve finds where path leads inside root, following symbolic links as a
// process with that root would; an absolute link starts again at root. Parts
// that do not exist are taken as they are.
func resolve(root, path string) (string, error) {
	return securejoin.SecureJoinVFS(root, path, reachable{})
}

// reachable is the filesystem as far as this process may look into it: what it
// cannot reach is not there, also for a mount that may be left out.
//
// Not pathrs-lite, the library's walk by descriptor: what follows, the mount and
// then its flags, is by path, in a mount namespace that nobody else has.
type reachable struct{}

func (reachable) Lstat(path string) (os.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		err = fs.ErrNotExist
	}
	return info, err
}

func (reachable) Readlink(path string) (string, error) { return os.Readlink(path) }

// makeMountPoint makes what a mount needs at target: a directory for a
// directory, an empty file for anything else.
func makeMountPoint(target string, dir bool) error {
	info, err := os.Stat(target)
	if err == nil {
		if info.IsDir() != dir {
			if dir {
				return fmt.Errorf("%s is a file, a directory can not be mounted over it", target)
			}
			return fmt.Errorf("%s is a directory, a file can not be mounted over it", target)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// byDepth orders mounts so that one inside another comes later.
func byDepth(list []Mount) []Mount {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b Mount) int {
		return strings.Count(filepath.Clean(a.Target), "/") - strings.Count(filepath.Clean(b.Target), "/")
	})
	return sorted
}

// bindVolumes mounts the volumes of a container into root. machine are the
// machine's mounts.
func bindVolumes(spec *Spec, root string, machine []mounts.Mount) error {
	for _, m := range byDepth(spec.Mounts) {
		if err := bindVolume(root, m, spec.Privileged, machine); err != nil {
			return fmt.Errorf("volume at %s: %w", m.Target, err)
		}
	}
	return nil
}

func bindVolume(root string, m Mount, privileged bool, machine []mounts.Mount) error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return fmt.Errorf("its source on the machine: %w", err)
	}
	target, err := resolve(root, m.Target)
	if err != nil {
		return err
	}
	if err := makeMountPoint(target, info.IsDir()); err != nil {
		return fmt.Errorf("making the mount point: %w", err)
	}
	if err := bindOver(m, target); err != nil || privileged {
		return err
	}
	if err := noDevices(m.Source, target, machine); err != nil {
		return fmt.Errorf("making it a volume without devices: %w", err)
	}
	return nil
}

// bindOver mounts a volume on an existing target.
func bindOver(m Mount, target string) error {
	if err := bindTree(m.Source, target); err != nil {
		return err
	}
	if !m.Slave {
		if err := unix.Mount("", target, "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	if m.ReadOnly {
		return readOnly(target, true)
	}
	return nil
}

// privateMounts cuts this mount namespace off: nothing mounted here appears on
// the machine, while what the machine unmounts goes away here too, so that a
// running container does not keep a disk busy.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	return nil
}

// pivot makes root the root of this process and of all it starts, and lets go
// of everything mounted outside.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// Stacking the old root over the new one and unmounting it there needs no
	// directory for it.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	return os.Chdir("/")
}

// hide shows dir empty.
func hide(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "size=4k,mode=0555"); err != nil {
		return fmt.Errorf("hiding %s: %w", dir, err)
	}
	return nil
}

// mask hides a file or directory of /proc or /sys; what does not exist needs
// no hiding.
func mask(root, path string) error {
	target := filepath.Join(root, path)
	info, err := os.Lstat(target)
	if err != nil {
		return nil
	}
	if info.IsDir() {
		return hide(target)
	}
	return unix.Mount(filepath.Join(root, "dev/null"), target, "", unix.MS_BIND, "")
}

// seal makes a path of /proc read-only.
func seal(root, path string) error {
	target := filepath.Join(root, path)
	if _, err := os.Lstat(target); err != nil {
		return nil
	}
	if err := bindTree(target, target); err != nil {
		return err
	}
	return readOnly(target, true)
}
