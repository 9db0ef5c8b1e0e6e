// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/carillon-dev/carillon/internal/node/process"
)

// containerRuntime is the life of the built-in runtime.
type containerRuntime interface {
	// Known is how many sandboxes and containers there are, ended ones too.
	Known() int
	Endpoint() string
	StreamCertificate() *x509.Certificate
	Err() <-chan error
	StopAll(ctx context.Context, grace time.Duration) error
	Drain(ctx context.Context, most time.Duration) error
	DrainEstimate(most time.Duration) (pods int, longest time.Duration)
	Pause()
	Resume()
	Close(ctx context.Context) error
}

// startRuntime starts the built-in runtime and waits until it serves.
func startRuntime(ctx context.Context, o *Options) (containerRuntime, error) {
	options := process.Options{
		RootDir:   runtimeDir(o.DataDir),
		Socket:    runtimeSocket(o.DataDir),
		APIServer: o.APIServer,
		// A container that sees the machine's files must not see other Pods'
		// volumes among them.
		Hidden:         append([]string{o.DataDir}, o.Hidden...),
		EndWithProcess: o.EndWithProcess,
		PIDsMax:        o.PIDsMax,
		Logger:         o.Logger.WithName("runtime"),
		LogDir:         logsDir(o.DataDir),
		LocalFiles:     o.LocalFiles,
	}
	var images *imageStore
	if !o.LocalFiles {
		images = newImageStore(o)
		options.Images = images
		if images.nowhere == nil {
			options.Hidden = append(options.Hidden, images.options.Dir)
		}
	}
	runtime, err := process.New(options)
	if err != nil {
		return nil, fmt.Errorf("container runtime: %w", err)
	}
	if err := runtime.Start(ctx); err != nil {
		return nil, fmt.Errorf("container runtime: %w", err)
	}
	select {
	case <-runtime.Ready():
		return runtimeWithImages{runtime, images}, nil
	case err := <-runtime.Err():
		return nil, fmt.Errorf("container runtime: %w", err)
	case <-ctx.Done():
		return nil, fmt.Errorf("container runtime: %w", ctx.Err())
	}
}

// runtimeWithImages is the runtime together with its store, nil when it has none.
type runtimeWithImages struct {
	*process.Runtime
	images *imageStore
}

// Close closes the store after the runtime.
func (r runtimeWithImages) Close(ctx context.Context) error {
	err := r.Runtime.Close(ctx)
	if r.images != nil {
		err = errors.Join(err, r.images.Close())
	}
	return err
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
