// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The memory of a pull, and of the process that applies the layer, does not grow with the layer.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("moves a large layer")
	}
	peak := func(megabytes int) (pulling, applying int) {
		t.Helper()
		reg := newRegistry(t)
		data := files(t, "f", noise(1, megabytes<<20))
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
		must(t, err)
		_, err = w.Write(data)
		must(t, err)
		must(t, w.Close())
		reg.push(t, "app", "latest", newImage(t, here, testLayer{b.Bytes(), digestOf(data), types.OCILayer}))
		cmd := child(t, nil, filepath.Join(private(t), "images"), reg.host()+"/app", "memory")
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, cmd.Stderr)
		}
		if _, err := fmt.Sscan(strings.TrimSpace(cmd.Stdout.(*bytes.Buffer).String()), &pulling, &applying); err != nil {
			t.Fatal(err)
		}
		return pulling, applying
	}
	smallPull, smallApply := peak(1)
	pull, apply := peak(80)
	t.Logf("1 MB: %d and %d KiB; 80 MB: %d and %d KiB", smallPull, smallApply, pull, apply)
	if grown := max(pull-smallPull, apply-smallApply); grown > 16<<10 {
		t.Errorf("%d KiB more for a layer of 80 MB", grown)
	}
}
