// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"

	"github.com/carillon-dev/carillon/internal/image/unpack"
)

// applier makes directories of layers. Package unpack does, in processes of their own; tests of the store alone do it
// in their own process.
type applier interface {
	// probe finds out which form a store in dir can have.
	probe(ctx context.Context, dir string) (unpack.Form, error)
	// apply applies a layer and checks that its content is that of the diff ID.
	apply(ctx context.Context, r unpack.Request) (unpack.Result, error)
	// remove removes a directory with files of layers.
	remove(path string) error
}

type helper struct{}

func (helper) probe(ctx context.Context, dir string) (unpack.Form, error) {
	return unpack.FindForm(ctx, dir)
}

func (helper) apply(ctx context.Context, r unpack.Request) (unpack.Result, error) {
	return unpack.Layer(ctx, r)
}

func (helper) remove(path string) error { return unpack.Remove(path) }
