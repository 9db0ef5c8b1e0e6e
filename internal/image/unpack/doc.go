// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package unpack makes directories of image layers. A layer is an archive that a stranger made: it is taken apart by a
// process of its own, which sees nothing of the machine but the layers below and the directory it fills.
//
//	form, err := unpack.FindForm(ctx, store)   // once for a store: overlays, or whole images where there are none
//	result, err := unpack.Layer(ctx, unpack.Request{Form: form, Store: store, Target: dir, Lowers: …, Compressed: blob})
//	err = unpack.Copy(ctx, from, to)           // in the flat form, before the next layer is applied to the copy
//	err = unpack.Remove(dir)                   // whatever rights the layer gave to its files
//
// A tour:
//
//   - form.go     how layers can be kept here, found out by trying
//   - layer.go    applying a layer: what goes in, what comes out, what can be wrong
//   - helper.go   starting the process, for this program
//   - child.go    that process, from its start to its answer
//   - root.go     its root: the layers below and the new one, and nothing else
//   - confine.go  what it may do there
//   - stream.go   unzipping, counting and hashing the archive
//   - apply.go    the archive's entries, one after the other
//   - entry.go    making one file, directory or link
//   - whiteout.go what a layer hides of those below
//   - tree.go     finding the directory of an entry, without leaving the root
//   - pathset.go  which files come from this layer, a million of them in 8 MB
//   - times.go, xattr.go  times and extended attributes
//   - copy.go     copying a tree (package files), and removing one
//
// # Where layers meet
//
// The process mounts an overlay of the layers below with the new directory as its upper one, makes it its root, and
// applies the archive there. So a name that leads through a link of a lower layer, a hard link to a lower file and a
// whiteout mean what they mean in the image, and the kernel writes down the difference. In the flat form the root is a
// copy of the image so far.
//
// # Invariants
//
// Nothing outside Target and Work changes. No entry is followed out of the root: by the root of the process, and
// without that by the walk of tree.go, which is what the fuzzer tries. This program reads nothing of the archive, and
// of the process only its answer. When the process ends, however it ends, no mount is left. What is left of a layer
// that was not applied is for the caller to remove.
//
// The process takes over in an init function, before the heavy packages of a binary that imports this one initialise;
// so the package imports the standard library, the unzippers and little else.
package unpack
