// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/node/process"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// ownRuntime serves Carillon's runtime, with a store of images of its own. Images of docker.io and of the mirrored
// registries come from the specs' registry.
func ownRuntime(t *testing.T, images *imageServer, mirrored ...string) *endpoint {
	t.Helper()
	// Not t.TempDir: what a runtime writes is not always removed by name alone, and addresses of sockets are short.
	dir, err := os.MkdirTemp("", "cri")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := privatedir.RemoveTree(dir); err != nil {
			t.Error(err)
		}
	})
	mirrors := map[string][]string{"docker.io": {images.server.URL}}
	for _, registry := range mirrored {
		mirrors[registry] = []string{images.server.URL}
	}
	store, err := image.Open(t.Context(), image.Options{Dir: filepath.Join(dir, "images"), Mirrors: mirrors})
	if err != nil {
		t.Skipf("no images can be kept here: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	run, err := process.New(process.Options{RootDir: filepath.Join(dir, "state"), Socket: filepath.Join(dir, "sock"), Images: store, EndWithProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := run.StopAll(ctx, 0); err != nil {
			t.Error(err)
		}
		if err := run.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	<-run.Ready()
	e := dial(t, run.Endpoint(), "")
	e.registry, e.mirrored, e.ordinary = images, true, os.Geteuid() != 0
	st, err := e.runtime.Status(t.Context(), &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		t.Fatal(err)
	}
	if view := st.Info["view"]; view == `"none"` {
		t.Skip("the kernel does not let us make roots for containers of images here")
	}
	return e
}
