// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// cgroupPrefix begins the name of the cgroup that holds the containers' ones,
// unless Options.CgroupName names another.
const cgroupPrefix = "carillon-"

// checkPaths refuses a record that names what is not the container's: a cgroup
// would be killed and removed, a log written to and deleted. Nobody else can
// write records, but a faulty one must not harm others either.
func (r *Runtime) checkPaths(rec *containerRecord) error {
	for _, dir := range rec.Cgroups {
		holder := filepath.Base(filepath.Dir(dir))
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || filepath.Base(dir) != rec.ID ||
			holder != r.opts.CgroupName && !strings.HasPrefix(holder, cgroupPrefix) {
			return fmt.Errorf("it names %q, which is no cgroup of a container of ours", dir)
		}
		if err := checkCgroup(dir); err != nil {
			return err
		}
	}
	if rec.LogPath != "" && r.opts.LogDir != "" && !inside(rec.LogPath, r.opts.LogDir) {
		return fmt.Errorf("it names the log %q, which does not lie in %s", rec.LogPath, r.opts.LogDir)
	}
	return nil
}

// checkCgroup makes sure that what is at dir, if anything, is a cgroup.
func checkCgroup(dir string) error {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // gone, as after a restart of the machine
	case err != nil:
		return fmt.Errorf("the cgroup %q: %w", dir, err)
	case st.Type != unix.CGROUP_SUPER_MAGIC && st.Type != unix.CGROUP2_SUPER_MAGIC:
		return fmt.Errorf("it names %q as a cgroup, which it is not", dir)
	}
	return nil
}

// inside reports whether a path lies below dir, which is free of links, also
// when the path was written with links in it.
func inside(path, dir string) bool {
	path = filepath.Clean(path)
	if mounts.StrictlyUnder(path, dir) {
		return true
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && mounts.Under(parent, dir)
}

// isRemovableMountPoint reports whether a mount point that a record says was made on
// the machine can be one: an empty file or a directory of ours on a filesystem
// in memory. A directory is removed only if it is empty.
func isRemovableMountPoint(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !filepath.IsAbs(path) {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	if !info.IsDir() && (!info.Mode().IsRegular() || info.Size() != 0) {
		return false
	}
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return false
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
}
