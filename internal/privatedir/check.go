// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privatedir

import "golang.org/x/sys/unix"

// Check reports why what lies in a directory may be somebody else's: the way to it is not as Resolve wants it, or the
// directory is not ours, or others can write in it. Unlike for Open it may be readable by others.
func Check(path string) error {
	path, err := Resolve(path)
	if err != nil {
		return err
	}
	d, err := open(unix.AT_FDCWD, path, path)
	if err != nil {
		return err
	}
	defer d.Close()
	mode, err := d.owned()
	if err == nil && mode&0o022 != 0 {
		err = d.tooOpen(mode)
	}
	return err
}
