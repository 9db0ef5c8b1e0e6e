// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// OpenDir opens a directory and no link to one.
const OpenDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// EachName calls f for the names in a directory. f may remove them.
func EachName(dir int, f func(string) error) error {
	fd, err := unix.Openat(dir, ".", OpenDir, 0) // with a position of its own
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), ".")
	defer d.Close()
	for {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			if err := f(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var zeroes [4096]byte

// IsZero reports whether p holds nothing but zeroes, which take no space in a file that is left out there.
func IsZero(p []byte) bool {
	for len(p) > 0 {
		n := min(len(p), len(zeroes))
		if !bytes.Equal(p[:n], zeroes[:n]) {
			return false
		}
		p = p[n:]
	}
	return true
}

// WriteAt writes all of p to an open file.
func WriteAt(fd int, p []byte, at int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(fd, p, at)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			p, at = p[n:], at+int64(n)
		}
	}
	return nil
}

// SetTimes sets the times of access and change of name in the directory dir.
func SetTimes(dir int, name string, times [2]unix.Timespec) error {
	return unix.UtimesNanoAt(dir, name, times[:], unix.AT_SYMLINK_NOFOLLOW)
}
