// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/overlay"
)

// hasAllUsers reports whether this process may give files to any user. In a user namespace with one user nobody else
// exists.
func hasAllUsers() (bool, error) {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false, err
	}
	fields := strings.Fields(string(text))
	return len(fields) != 3 || fields[2] != "1", nil
}

func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	return nil
}

// enterRoot makes the image so far the root of this process, so that what is written goes to the target.
func (j job) enterRoot() error {
	if len(j.Lowers) == 0 {
		// Nothing is below that could be hidden. With all that is mounted there, which is nothing: inside a user namespace
		// the kernel refuses anything less.
		if err := unix.Mount(j.Target, j.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("binding %s: %w", j.Target, err)
		}
		return pivot(j.Target)
	}
	if err := likeLower(j.Lowers[0], j.Target); err != nil {
		return err
	}
	for _, path := range []string{j.Target, j.Work} {
		if strings.ContainsAny(path, `,:\`) {
			return fmt.Errorf("%s: a path with a comma, colon or backslash cannot be in a mount", path)
		}
	}
	m := overlay.Mount{Lowers: j.Lowers, Upper: j.Target, Work: j.Work, Options: j.Form.MountOptions(), Flags: unix.MS_NOSUID | unix.MS_NODEV}
	// Over the target itself, so that no other directory is needed.
	if err := m.At(j.Target); err != nil {
		if many := new(*overlay.TooManyError); errors.As(err, many) {
			return archiveError("%v", *many)
		}
		return fmt.Errorf("mounting an overlay of %d layers, as others of this store were: %w: where overlays cannot be mounted, choose another directory with --image-dir; images are kept there without", len(j.Lowers)+1, err)
	}
	return pivot(j.Target)
}

// likeLower gives target the owner, mode and times of the directory lower: the root of an overlay looks like its upper
// directory, and a layer that does not name the root leaves it as it was.
func likeLower(lower, target string) error {
	var st unix.Stat_t
	if err := unix.Stat(lower, &st); err != nil {
		return &os.PathError{Op: "look at", Path: lower, Err: err}
	}
	if err := unix.Lchown(target, int(st.Uid), int(st.Gid)); err != nil {
		return &os.PathError{Op: "chown", Path: target, Err: err}
	}
	if err := unix.Chmod(target, uint32(st.Mode&0o7777)); err != nil {
		return &os.PathError{Op: "chmod", Path: target, Err: err}
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, target, []unix.Timespec{st.Atim, st.Mtim}, 0)
}

// pivot makes root the root of this process and lets go of everything mounted outside.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// Stacking the old root over the new one and unmounting it there needs no directory for it.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	return os.Chdir("/")
}
