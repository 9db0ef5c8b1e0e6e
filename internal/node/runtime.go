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
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/image"
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
	images := newImageStore(o)
	runtime, err := process.New(runtimeOptions(o, images))
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

func runtimeOptions(o *Options, images *imageStore) process.Options {
	options := process.Options{
		RootDir:   runtimeDir(o.DataDir),
		Socket:    runtimeSocket(o.DataDir),
		APIServer: o.APIServer,
		// A container that sees the machine's files must not see other Pods'
		// volumes among them.
		Hidden:         slices.Concat([]string{o.DataDir}, o.Hidden, imageDirs(images)),
		EndWithProcess: o.EndWithProcess,
		PIDsMax:        o.PIDsMax,
		Logger:         o.Logger.WithName("runtime"),
		LogDir:         logsDir(o.DataDir),
		LocalFiles:     o.LocalFiles,
	}
	if o.Ended != nil {
		options.Ended = func(end process.ContainerEnd) error { return o.Ended(ContainerEnd(end)) }
	}
	if !o.LocalFiles {
		options.Images = images
	}
	return options
}

// imageDirs are the directories where this user has images, of this node and of
// others: also who runs on the machine's files alone must not see them.
func imageDirs(images *imageStore) []string {
	var dirs []string
	if images.nowhere == nil {
		dirs = append(dirs, images.options.Dir)
	}
	if usual, err := image.DefaultDir(); err == nil && !slices.Contains(dirs, usual) {
		dirs = append(dirs, usual)
	}
	return dirs
}

// runtimeWithImages is the runtime together with its store.
type runtimeWithImages struct {
	*process.Runtime
	images *imageStore
}

// Close closes the store after the runtime.
func (r runtimeWithImages) Close(ctx context.Context) error {
	return errors.Join(r.Runtime.Close(ctx), r.images.Close())
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
