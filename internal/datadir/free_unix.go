// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package datadir

import "golang.org/x/sys/unix"

// Free is how many bytes of the disk of a directory are free for us; -1 if that is not known.
func Free(dir string) int64 {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return -1
	}
	return int64(disk.Bavail) * int64(disk.Bsize)
}
