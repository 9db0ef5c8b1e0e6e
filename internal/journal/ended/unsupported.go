// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

// Package ended keeps what a node leaves of each container that has ended. There is no node on this operating system.
package ended

import (
	"errors"
	"io"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

const (
	recordFile = "record.json"
	damagedDir = "damaged"
)

// Dir cannot exist on this operating system.
type Dir struct{}

// Open fails.
func Open(string, Options) (*Dir, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Dir) Close() error { return nil }

// Added delivers nothing.
func (*Dir) Added() <-chan struct{} { return nil }

// Add fails.
func (*Dir) Add(Container, string) error { return errors.ErrUnsupported }

// List is empty.
func (*Dir) List() []string { return nil }

// Read fails.
func (*Dir) Read(string) (Container, error) { return Container{}, errors.ErrUnsupported }

// Attempt fails.
func (*Dir) Attempt(string) (run.Attempt, error) { return run.Attempt{}, errors.ErrUnsupported }

// Log fails.
func (*Dir) Log(string) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }

// Remove does nothing.
func (*Dir) Remove(string) error { return nil }

// SetAside does nothing.
func (*Dir) SetAside(string, error) {}

// OpenLog fails.
func OpenLog(string, string) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }
