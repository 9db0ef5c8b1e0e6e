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

	"github.com/carillon-dev/carillon/internal/image/files"
)

// paxXattr begins the names of records with extended attributes.
const paxXattr = "SCHILY.xattr."

// setXattrs gives a file or directory the extended attributes of an entry that mean something here.
func setXattrs(dir int, name string, h *tar.Header) error {
	fd := -1
	for key, value := range h.PAXRecords {
		xattr, ok := strings.CutPrefix(key, paxXattr)
		if !ok || !files.KeepXattr(xattr) {
			continue
		}
		if fd < 0 {
			var err error
			if fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
		}
		err := files.SetXattr(fd, xattr, []byte(value))
		switch {
		case err == nil:
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.E2BIG), errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENODATA):
			return archiveError("the extended attribute %q of %d bytes: %v", shorten(xattr), len(value), err)
		default:
			return fmt.Errorf("setting the extended attribute %q: %w", shorten(xattr), err)
		}
	}
	return nil
}
