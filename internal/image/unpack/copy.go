// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"context"
	"path/filepath"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// Copy copies the directory from to the empty directory to, both below store, with owners, modes, times, extended
// attributes and hard links. Where the filesystem can share blocks, files take no space until they are written to.
func Copy(ctx context.Context, store, from, to string) error {
	_, err := run(ctx, store, job{Do: doCopy, Form: Form{Flat: true}, Target: to, Lowers: []string{from}}, nil, nil)
	return err
}

// Remove removes a directory with what layers made there, whatever rights it has. It never leaves the mount on which
// path lies, and removes nothing while anything is mounted there. What is not there is no error.
func Remove(path string) error { return privatedir.RemoveTree(filepath.Clean(path)) }
