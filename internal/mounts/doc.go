// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mounts is what this program knows of mounts: the only reader of the kernel's mount table (mountinfo) in the
// repository.
//
//	points, err := mounts.Below(dir)       // what has to be unmounted before dir may be removed
//	err = mounts.UnmountBelow(dir, nil)
//	aliases, err := mounts.Aliases(dir)    // where else the same files can be seen
//
// A tour:
//
//   - table.go    the table, its order, paths inside one another
//   - below.go    what is mounted below a directory, and unmounting it
//   - aliases.go  other paths to a directory, through bind mounts
//
// Paths are compared as text, so they have to be as the kernel writes them: absolute, clean, and free of symbolic
// links. The table is parsed by github.com/moby/sys/mountinfo. The package imports little else, because the supervisor
// of every container does so before anything else runs.
package mounts
