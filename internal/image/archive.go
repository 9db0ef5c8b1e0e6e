// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
	"io"
)

var errNotYet = errors.New("archives cannot be read yet")

// Import brings the images of an archive into the store: what "docker save" writes, or an OCI layout as tar; either may
// be gzipped.
func (s *Store) Import(ctx context.Context, r io.Reader, progress func(Progress)) ([]Image, error) {
	return nil, errNotYet
}

// ImportPath is Import of a file, or of a directory that is an OCI layout.
func (s *Store) ImportPath(ctx context.Context, path string, progress func(Progress)) ([]Image, error) {
	return nil, errNotYet
}
