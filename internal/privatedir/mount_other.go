// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package privatedir

import "golang.org/x/sys/unix"

// mountID is the device: this operating system does not mount a part of one elsewhere.
type mountID struct{ device uint64 }

func mountOf(fd int) (mountID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return mountID{}, err
	}
	return mountID{device: uint64(st.Dev)}, nil //nolint:unconvert,gosec // its type differs by system, and it is only compared
}

// mountedBelow finds nothing: mountOf has to do.
func mountedBelow(int, string) (string, error) { return "", nil }
