// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Node cannot exist on this operating system: a kubelet needs Linux.
type Node struct{}

// New says that there is no node on this operating system.
func New(Options) (*Node, error) {
	return nil, fmt.Errorf("Pods can be run on Linux only, not on %s: use a cluster (--context), or Linux in a virtual machine: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Name is empty.
func (*Node) Name() string { return "" }

// Address is empty.
func (*Node) Address() string { return "" }

// Start fails.
func (*Node) Start(context.Context) error { return errors.ErrUnsupported }

// Ready is never closed.
func (*Node) Ready() <-chan struct{} { return nil }

// Err delivers nothing.
func (*Node) Err() <-chan error { return nil }

// Close does nothing.
func (*Node) Close(context.Context) error { return nil }

// DrainEstimate has nothing to wait for.
func (*Node) DrainEstimate() (pods int, longest time.Duration) { return 0, 0 }
