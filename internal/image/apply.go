// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"os"
)

// form is how a store keeps layers, as the kernel and the file system allow. It is found out once, when the store is made.
type form struct {
	// Flat is that no overlay can be mounted here: an image is one directory to which all layers were applied.
	Flat bool `json:"flat"`
	// UserXattr is that overlays of this store mark with xattrs of the user namespace, as an ordinary user's must.
	UserXattr bool `json:"userXattr"`
}

// applier makes directories of layers. The process of package unpack does; tests have others.
type applier interface {
	// probe finds out which form a store in dir can have.
	probe(ctx context.Context, dir string) (form, error)
	// apply applies a layer and checks that its content is that of the diff ID.
	apply(ctx context.Context, r applyRequest) (applied, error)
	// remove removes a directory with files of layers.
	remove(path string) error
}

// applyRequest says what to apply to what.
type applyRequest struct {
	// Work is an empty directory for the applier's own use, on the store's file system.
	Work string
	// Target is the directory that gets the layer's files. In the flat form it has those of the layers below.
	Target string
	// Lowers are the directories of the layers below, the topmost first; none in the flat form.
	Lowers []string
	Form   form
	// Blob is the layer as it was downloaded, at its beginning.
	Blob      *os.File
	MediaType string
	DiffID    string
}

// applied is what a layer takes on disk.
type applied struct {
	Size   int64
	Inodes uint64
}
