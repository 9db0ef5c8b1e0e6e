// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// mountPoints are those that the shim made on the machine for the container's
// volumes. Of what its file names only those count that are a volume's mount
// path, or lead to one.
func (c *container) mountPoints() []string {
	if c.rec.Root != shim.RootHost {
		return nil
	}
	made, err := shim.ReadMountPoints(c.dir)
	if err != nil {
		return nil
	}
	ways := map[string]bool{}
	for _, m := range c.config.GetMounts() {
		path, err := filepath.EvalSymlinks(m.GetContainerPath())
		for ; err == nil && path != "/" && path != "."; path = filepath.Dir(path) {
			ways[path] = true
		}
	}
	return slices.DeleteFunc(made, func(path string) bool { return !ways[path] })
}

// removeMountPoint removes an empty directory or file that we made. No link on
// the way is followed: the directories above may be somebody else's.
func removeMountPoint(path string) {
	parent, err := unix.Openat2(unix.AT_FDCWD, filepath.Dir(path), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return // gone, or not what it was; before kernel 5.6 an empty directory stays
	}
	defer func() { _ = unix.Close(parent) }()
	name := filepath.Base(path)
	var st unix.Stat_t
	if unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || int(st.Uid) != os.Geteuid() {
		return
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		_ = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) // not when it holds something by now
	case st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0:
		_ = unix.Unlinkat(parent, name, 0)
	}
}
