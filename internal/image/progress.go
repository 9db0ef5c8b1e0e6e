// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

// Progress is how far a pull or an import is.
type Progress struct {
	// Image is the name being pulled, in short form.
	Image string
	// Layers is how many layers the image has, LayersDone how many of them are in the store.
	Layers, LayersDone int
	// Bytes is what has to be downloaded, BytesDone how much of it is here. Layers that were in the store before count
	// in neither.
	Bytes, BytesDone int64
}
