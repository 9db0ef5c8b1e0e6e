// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are what every program may expect in /dev.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// Accelerators are patterns, in /dev, of devices that batch work uses and that
// a machine usually lets its users open; they appear with the permissions they have there.
var Accelerators = []string{"nvidia*", "dri", "kfd", "kvm", "fuse", "accel", "infiniband"}

// kernelDirs makes /proc, /sys and /dev in root.
func kernelDirs(spec *Spec, root string, ownPIDs bool) error {
	if err := makeProc(spec, root, ownPIDs); err != nil {
		return err
	}
	if err := makeSys(spec, root); err != nil {
		return err
	}
	names, err := deviceNames(spec)
	if err != nil {
		return err
	}
	bind := func(name, target string) error { return bindDevice("/dev/"+name, target) }
	if err := makeDev(spec, root, names, bind); err != nil {
		return err
	}
	coverPaths(spec, root)
	return nil
}

// coverPaths hides and protects what the Pod's security context names.
func coverPaths(spec *Spec, root string) {
	if spec.Privileged {
		return
	}
	// The paths come from the Pod's security context; that a kernel has no way
	// to cover one (a special file, say) must not stop the container.
	for _, p := range spec.Masked {
		_ = mask(root, p)
	}
	for _, p := range spec.ReadOnly {
		_ = seal(root, p)
	}
}

func makeProc(spec *Spec, root string, ownPIDs bool) error {
	target := filepath.Join(root, "proc")
	if err := makeMountPoint(target, true); err != nil {
		return err
	}
	if ownPIDs {
		err := unix.Mount("proc", target, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		if err == nil {
			return nil
		}
		// Inside another container the kernel gives no new /proc when parts of
		// the old one are covered. The old one works, it only shows more.
		// A shim that is not process 1 finds its processes there by number, and
		// would find others.
		if !errors.Is(err, unix.EPERM) || spec.PodPIDs {
			return fmt.Errorf("mounting /proc: %w", err)
		}
	}
	return bindTree("/proc", target)
}

func makeSys(spec *Spec, root string) error {
	if _, err := os.Stat("/sys"); err != nil {
		return nil
	}
	target := filepath.Join(root, "sys")
	if err := makeMountPoint(target, true); err != nil {
		return err
	}
	if err := bindTree("/sys", target); err != nil {
		return err
	}
	if spec.Privileged {
		return nil
	}
	return readOnly(target, true)
}

// deviceNames lists what of the machine's /dev the container gets.
func deviceNames(spec *Spec) ([]string, error) {
	names := slices.Clone(devices)
	if spec.Privileged {
		all, err := os.ReadDir("/dev")
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			names = append(names, e.Name())
		}
	} else {
		for _, pattern := range Accelerators {
			found, _ := filepath.Glob("/dev/" + pattern)
			for _, f := range found {
				names = append(names, strings.TrimPrefix(f, "/dev/"))
			}
		}
	}
	made := []string{"pts", "ptmx", "shm", "mqueue", "fd", "stdin", "stdout", "stderr", "core", "console"}
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(made, n) })
	slices.Sort(names)
	return slices.Compact(names), nil
}

// makeDev builds a /dev of the container's own, so that mount points such as
// /dev/termination-log, shared memory and terminals are no traces on the
// machine. bind shows one of its names at a path.
func makeDev(spec *Spec, root string, names []string, bind func(name, target string) error) error {
	target := filepath.Join(root, "dev")
	if err := makeMountPoint(target, true); err != nil {
		return err
	}
	// The devices that belong here are bound one by one, each a mount of its
	// own; a node that is made beside them can not be opened.
	flags := uintptr(unix.MS_NOSUID | unix.MS_STRICTATIME | unix.MS_NODEV)
	if spec.Privileged {
		flags &^= unix.MS_NODEV
	}
	if err := unix.Mount("tmpfs", target, "tmpfs", flags, "mode=755,size=65536k"); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	for _, name := range names {
		if err := bind(name, filepath.Join(target, name)); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, filepath.Join(target, name)); err != nil {
			return err
		}
	}
	for _, d := range []string{"pts", "shm"} {
		if err := os.Mkdir(filepath.Join(target, d), 0o755); err != nil {
			return err
		}
	}
	if err := makeTerminals(filepath.Join(target, "pts")); err != nil {
		return fmt.Errorf("mounting /dev/pts: %w", err)
	}
	size := "" // as much as on the machine
	if spec.Root == RootImage {
		size = "," + sharedMemorySize
	}
	if err := unix.Mount("shm", filepath.Join(target, "shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=1777"+size); err != nil {
		return fmt.Errorf("mounting /dev/shm: %w", err)
	}
	return nil
}

// makeTerminals mounts terminals of the container's own. They belong to the group tty, which has the same number
// everywhere, where there is such a group: an ordinary user's container has one group alone.
func makeTerminals(target string) error {
	const flags, options = unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"
	err := unix.Mount("devpts", target, "devpts", flags, options+",gid=5")
	if errors.Is(err, unix.EINVAL) {
		err = unix.Mount("devpts", target, "devpts", flags, options)
	}
	return err
}

func bindDevice(source, target string) error {
	info, err := os.Lstat(source)
	if err != nil {
		return nil // not on this machine
	}
	if info.Mode()&os.ModeSymlink != 0 {
		to, err := os.Readlink(source)
		if err != nil {
			return nil
		}
		return os.Symlink(to, target)
	}
	if err := makeMountPoint(target, info.IsDir()); err != nil {
		return err
	}
	return bindTree(source, target)
}
