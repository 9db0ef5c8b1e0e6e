// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package files is what unpacking an image and copying one have in common: going through directories, writing content
// and extended attributes by descriptor, and copying a tree.
//
//	err := files.Copy(from, to, true)   // owners, modes, times, extended attributes, hard links and holes included
//
// A tour:
//
//   - copy.go     copying a tree, with shared blocks where the filesystem can
//   - content.go  names in a directory, content at a place
//   - xattr.go    extended attributes that mean the same in an image as outside
//
// No link is followed: every name is looked up in an open directory. The supervisor of a container imports this
// package, so it imports the standard library and golang.org/x/sys/unix alone.
package files
