// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// paxXattr begins the names of records with extended attributes.
const paxXattr = "SCHILY.xattr."

// maxXattr is how long the kernel lets one be.
const maxXattr = 64 << 10

// keepXattr reports whether an extended attribute means the same inside an image as outside: those for programs, and the
// capabilities of a file. The kernel's overlay marks its own, and all others are the machine's.
func keepXattr(name string) bool {
	if name == "security.capability" {
		return true
	}
	rest, ok := strings.CutPrefix(name, "user.")
	return ok && rest != "" && !strings.HasPrefix(rest, "overlay.") && !strings.ContainsRune(rest, 0)
}

// setXattrs gives a file or directory the extended attributes of an entry that mean something here.
func setXattrs(dir int, name string, h *tar.Header) error {
	fd := -1
	for key, value := range h.PAXRecords {
		xattr, ok := strings.CutPrefix(key, paxXattr)
		if !ok || !keepXattr(xattr) {
			continue
		}
		if fd < 0 {
			var err error
			if fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
		}
		err := unix.Fsetxattr(fd, xattr, []byte(value), 0)
		switch {
		case err == nil, errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EPERM):
			// A filesystem without them, or a user who may not give a file capabilities.
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.E2BIG), errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENODATA):
			return archiveError("the extended attribute %q of %d bytes: %v", shorten(xattr), len(value), err)
		default:
			return fmt.Errorf("setting the extended attribute %q: %w", shorten(xattr), err)
		}
	}
	return nil
}

// copyXattrs gives a file or directory those of an open one.
func copyXattrs(source, dir int, name string) error {
	size, err := unix.Flistxattr(source, nil)
	if err != nil || size == 0 {
		return nil //nolint:nilerr // a filesystem without them
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(source, list); err != nil {
		return err
	}
	records := map[string]string{}
	for xattr := range strings.SplitSeq(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		if !keepXattr(xattr) {
			continue
		}
		value := make([]byte, maxXattr)
		n, err := unix.Fgetxattr(source, xattr, value)
		if err != nil {
			return fmt.Errorf("reading the extended attribute %q: %w", shorten(xattr), err)
		}
		records[paxXattr+xattr] = string(value[:n])
	}
	return setXattrs(dir, name, &tar.Header{PAXRecords: records})
}
