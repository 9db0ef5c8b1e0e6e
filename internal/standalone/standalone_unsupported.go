// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"k8s.io/client-go/rest"
)

// Standalone cannot exist on this operating system: a node needs Linux.
type Standalone struct{}

// New says that there is no standalone Carillon on this operating system.
func New(o Options) (*Standalone, error) {
	if _, err := o.complete(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("Pods can be run on Linux only, not on %s: use a cluster (--context), or Linux in a virtual machine: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Start fails.
func (*Standalone) Start(context.Context) error { return errors.ErrUnsupported }

// Ready is never closed.
func (*Standalone) Ready() <-chan struct{} { return nil }

// Recording is never closed.
func (*Standalone) Recording() <-chan struct{} { return nil }

// Err delivers nothing.
func (*Standalone) Err() <-chan error { return nil }

// Close does nothing.
func (*Standalone) Close(context.Context) error { return nil }

// DataDir is empty.
func (*Standalone) DataDir() string { return "" }

// Kubeconfig is empty.
func (*Standalone) Kubeconfig() string { return "" }

// MetricsAddr is empty.
func (*Standalone) MetricsAddr() string { return "" }

// RESTConfig is nil.
func (*Standalone) RESTConfig() *rest.Config { return nil }

// DrainEstimate has nothing to wait for.
func (*Standalone) DrainEstimate() (pods int, longest time.Duration) { return 0, 0 }
