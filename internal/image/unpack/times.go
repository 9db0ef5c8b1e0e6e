// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"

	"golang.org/x/sys/unix"
)

// timesOf are an entry's times of access and change.
func timesOf(h *tar.Header) [2]unix.Timespec {
	changed := unix.Timespec{Sec: h.ModTime.Unix(), Nsec: int64(h.ModTime.Nanosecond())}
	if h.ModTime.IsZero() {
		changed = unix.Timespec{}
	}
	if h.AccessTime.IsZero() {
		return [2]unix.Timespec{changed, changed}
	}
	return [2]unix.Timespec{{Sec: h.AccessTime.Unix(), Nsec: int64(h.AccessTime.Nanosecond())}, changed}
}

// timesAt are those of an open file.
func timesAt(fd int) ([2]unix.Timespec, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return [2]unix.Timespec{}, err
	}
	return [2]unix.Timespec{st.Atim, st.Mtim}, nil
}
