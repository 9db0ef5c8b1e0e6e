// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package privatedir

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// mountID tells mounts apart. A bind mount of a filesystem on itself has the device of what surrounds it and a number
// of its own; kernels before 5.8 do not tell that number, and the table of mounts has to do.
type mountID struct {
	id           uint64
	major, minor uint32
}

// mountOf says on which mount an open file lies.
func mountOf(fd int) (mountID, error) {
	var stx unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &stx)
	if err == nil && stx.Mask&unix.STATX_MNT_ID != 0 {
		// Without the device: subvolumes of one mount have devices of their own.
		return mountID{id: stx.Mnt_id}, nil
	}
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return mountID{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return mountID{}, err
	}
	return mountID{major: unix.Major(st.Dev), minor: unix.Minor(st.Dev)}, nil
}

// mountedBelow finds a place at or below the entry name of an open directory where something is mounted, as far as this
// process sees.
func mountedBelow(fd int, name string) (string, error) {
	// The table has the kernel's own words for the path, whatever links led here.
	dir, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return "", err
	}
	points, err := mounts.Below(filepath.Join(dir, name))
	if err != nil || len(points) == 0 {
		return "", err
	}
	return points[len(points)-1], nil
}
