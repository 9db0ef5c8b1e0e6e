// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"k8s.io/mount-utils"
)

// errMounterClosed answers the kubelet's goroutines that outlive the node.
var errMounterClosed = errors.New("the node is closed: nothing is mounted any more")

// mounter mounts volumes. With mount rights, secrets, tokens, downward API
// files and emptyDir of medium Memory are on tmpfs. Without them they are plain
// directories inside the data directory, whose mode 0700 is then what protects
// them; everything that needs a real mount (NFS, iSCSI) is refused.
//
// The rest, such as finding out what is mounted, is upstream's.
type mounter struct {
	mount.Interface
	mayMount bool
	closed   *atomic.Bool
}

var _ mount.Interface = mounter{}

func newMounter(mayMount bool) mounter {
	// Not through systemd-run, even where there is a systemd: the mounts belong
	// to this process and no unit must outlive it.
	return mounter{Interface: mount.NewWithoutSystemd(""), mayMount: mayMount, closed: new(atomic.Bool)}
}

// close refuses every later mount. Unmounting goes on working.
func (m mounter) close() { m.closed.Store(true) }

func (m mounter) Mount(source, target, fstype string, options []string) error {
	return m.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, nil, nil)
}

func (m mounter) MountSensitive(source, target, fstype string, options, sensitive []string) error {
	return m.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, sensitive, nil)
}

func (m mounter) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	return m.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, sensitive, nil)
}

func (m mounter) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitive, flags []string) error {
	switch {
	case m.closed.Load():
		return errMounterClosed
	case fstype == "tmpfs" && !m.mayMount:
		return nil
	case fstype == "tmpfs" && len(sensitive) == 0 && len(flags) == 0 && !slices.Contains(options, "remount"):
		return mountTmpfs(target, options)
	case !m.mayMount:
		return fmt.Errorf("mounting %s on %s needs root: start carillon as root, or use another kind of volume", source, target)
	}
	return m.Interface.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, sensitive, flags)
}

// Unmount ends a mount; a target that is not mounted is left as it is.
func (m mounter) Unmount(target string) error {
	err := unix.Unmount(target, unix.UMOUNT_NOFOLLOW)
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if !m.mayMount && errors.Is(err, unix.EPERM) {
		return nil
	}
	return &os.PathError{Op: "unmount", Path: target, Err: err}
}

// CanSafelySkipMountPointCheck holds because Unmount does not complain about
// what is not mounted.
func (mounter) CanSafelySkipMountPointCheck() bool { return true }

// mountTmpfs mounts without starting a program for it: a Pod has up to a dozen
// such volumes, and each would cost some milliseconds. All options that the
// kubelet gives here (size, noswap, inode and mode settings) are tmpfs's own.
func mountTmpfs(target string, options []string) error {
	if err := unix.Mount("tmpfs", target, "tmpfs", 0, strings.Join(options, ",")); err != nil {
		return &os.PathError{Op: "mount tmpfs", Path: target, Err: err}
	}
	return nil
}
