// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtimes

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry is a registry on loopback, without TLS. Its blobs are files of the directory it was given.
type Registry struct {
	server *http.Server
	host   string
}

// StartRegistry serves until Stop.
func StartRegistry(dir string) (*Registry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(registry.NewDiskBlobHandler(dir)))
	r := &Registry{server: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}, host: listener.Addr().String()}
	go func() { _ = r.server.Serve(listener) }() // ends with Stop
	return r, nil
}

// Push makes an image pullable by the name that it returns.
func (r *Registry) Push(ctx context.Context, repository string, img v1.Image) (string, error) {
	ref, err := name.ParseReference(r.host+"/"+repository, name.Insecure)
	if err != nil {
		return "", err
	}
	if err := remote.Write(ref, img, remote.WithContext(ctx)); err != nil {
		return "", err
	}
	return ref.Name(), nil
}

// Stop ends it.
func (r *Registry) Stop() error {
	if err := r.server.Close(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
