// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mounts

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Mount is one line of the mount table.
type Mount struct {
	Point string // where it is mounted: absolute, unescaped
	Type  string // of the filesystem

	Major, Minor int    // the device of the filesystem
	Root         string // which directory of the filesystem is mounted

	// Options are those of the filesystem, comma separated. For a cgroup of the old kind they name its controllers.
	Options string
}

// Table lists the mounts of this thread's mount namespace in the kernel's order, in which a mount comes after the one
// that it is mounted on. Of two with one point the later covers the earlier.
func Table() ([]Mount, error) {
	list, err := mountinfo.GetMounts(nil)
	return table(list), err
}

// Read is Table from a text in the format of proc_pid_mountinfo(5).
func Read(r io.Reader) ([]Mount, error) {
	list, err := mountinfo.GetMountsFromReader(r, nil)
	return table(list), err
}

func table(list []*mountinfo.Info) []Mount {
	var all []Mount
	for _, m := range list {
		// What lies outside this process's root has no path here; the kernel marks it in ways that are not absolute.
		if !filepath.IsAbs(m.Mountpoint) {
			continue
		}
		all = append(all, Mount{
			Point: filepath.Clean(m.Mountpoint), Type: m.FSType,
			Major: m.Major, Minor: m.Minor, Root: m.Root, Options: m.VFSOptions,
		})
	}
	return all
}

// Visible lists each mount point once, sorted so that parents come before children. Of several mounts on one point the
// last, which covers the others, counts; what lies below a point that was covered later cannot be told apart and is
// kept.
func Visible(all []Mount) []Mount {
	last := map[string]Mount{}
	for _, m := range all {
		last[m.Point] = m
	}
	list := make([]Mount, 0, len(last))
	for _, m := range last {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Mount) int { return strings.Compare(a.Point, b.Point) })
	return list
}

// Under reports whether path is dir or lies below it. Both are clean.
func Under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// StrictlyUnder reports whether path lies below dir. Both are clean.
func StrictlyUnder(path, dir string) bool { return path != dir && Under(path, dir) }
