// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// A layer is as large as the space that it takes: a hole takes none, and a file
// with two names is there once.
func TestLayerBytes(t *testing.T) {
	dir := t.TempDir()
	upper := filepath.Join(dir, shim.LayerDir, "u1")
	if err := os.MkdirAll(upper, 0o700); err != nil {
		t.Fatal(err)
	}
	before, beforeInodes := layerBytes(dir)
	const written = 1 << 20
	file := filepath.Join(upper, "file")
	if err := os.WriteFile(file, bytes.Repeat([]byte{1}, written), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, filepath.Join(upper, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(upper, "hole"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(upper, "hole"), 1<<30); err != nil {
		t.Fatal(err)
	}
	size, inodes := layerBytes(dir)
	if got := size - before; got < written || got > written+written/4 {
		t.Errorf("%d bytes, want about %d", got, written)
	}
	if got := inodes - beforeInodes; got != 2 {
		t.Errorf("%d inodes, want 2", got)
	}
}
