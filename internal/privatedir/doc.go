// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package privatedir is about directories that belong to this program alone, on a machine that others use too: keys,
// the store and the state of containers lie in them, and so nothing that somebody else put there may be believed,
// followed or removed.
//
//	path, err := privatedir.Resolve(path)    // once, at the start: no links, nobody else can exchange a part of it
//	dir, err := privatedir.Make(path)        // or Open: ours, mode 0700, held by its descriptor
//	err = dir.WriteFile("key.pem", data)     // whole and durable, or not at all
//	data, err := dir.ReadFile("key.pem", n)  // a regular file of ours, of at most n bytes
//	err = privatedir.RemoveTree(path)        // never through a mount
//
// A tour:
//
//   - resolve.go  a path of which every part is safe from other users
//   - dir.go      opening and making directories, checked by descriptor
//   - file.go     opening, reading and writing files in them, never through a link
//   - remove.go   removing a tree without leaving its filesystem's mount
//   - check.go    whether a directory that is only read is safe; check_other.go where there are no such rights
//   - error.go    what is not ours, and what to do about it
//   - mount_linux.go, mount_other.go
//     on which mount something lies
//
// Not github.com/cyphar/filepath-securejoin, which keeps a path inside a root: here each step is asked who owns it.
//
// Others are all users but the effective one and root: root can do everything anyway. What root is to believe must not
// come from others, either.
package privatedir
