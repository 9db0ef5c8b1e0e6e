// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// maxXattr is how long the kernel lets one be.
const maxXattr = 64 << 10

// KeepXattr reports whether an extended attribute means the same inside an image as outside: those for programs, and
// the capabilities of a file. The kernel's overlay marks its own, and all others are the machine's.
func KeepXattr(name string) bool {
	if name == "security.capability" {
		return true
	}
	rest, ok := strings.CutPrefix(name, "user.")
	return ok && rest != "" && !strings.HasPrefix(rest, "overlay.") && !strings.ContainsRune(rest, 0)
}

// SetXattr gives an open file or directory an extended attribute. A filesystem without them, or a user who may not give
// a file capabilities, is no error.
func SetXattr(fd int, name string, value []byte) error {
	err := unix.Fsetxattr(fd, name, value, 0)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// copyXattrs gives an open file or directory those of another.
func copyXattrs(source, target int) error {
	size, err := unix.Flistxattr(source, nil)
	if err != nil || size == 0 {
		return nil //nolint:nilerr // a filesystem without them
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(source, list); err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		if !KeepXattr(name) {
			continue
		}
		value := make([]byte, maxXattr)
		n, err := unix.Fgetxattr(source, name, value)
		if err == nil {
			err = SetXattr(target, name, value[:n])
		}
		if err != nil {
			return fmt.Errorf("the extended attribute %.100q: %w", name, err)
		}
	}
	return nil
}
