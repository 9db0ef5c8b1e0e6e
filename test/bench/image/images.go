// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"archive/tar"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/gzip"
)

const probePath = "/bin/probe"

// newImage makes an image whose files hold so many bytes in so many layers, and the probe in another one on top of
// them. The same numbers give the same image.
func newImage(dir, probe string, size int64, layers int) (v1.Image, error) {
	random := rand.New(rand.NewChaCha8([32]byte{1})) //nolint:gosec // nothing secret
	var all []v1.Layer
	for i := range layers {
		layer, err := newLayer(filepath.Join(dir, fmt.Sprintf("%d-%d.tar.gz", size, i)), func(w *tar.Writer) error {
			return writeTree(w, random, fmt.Sprintf("layer%d", i), size/int64(layers))
		})
		if err != nil {
			return nil, err
		}
		all = append(all, layer)
	}
	program, err := os.ReadFile(probe)
	if err != nil {
		return nil, err
	}
	top, err := newLayer(filepath.Join(dir, fmt.Sprintf("%d-probe.tar.gz", size)), func(w *tar.Writer) error {
		return writeFile(w, probePath[1:], 0o755, program)
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, append(all, top)...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, v1.Config{Entrypoint: []string{probePath}, Env: []string{"PATH=/bin"}}
	return mutate.ConfigFile(img, file)
}

// newLayer makes a layer that is zipped as those of most images are.
func newLayer(path string, write func(*tar.Writer) error) (v1.Layer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zip := gzip.NewWriter(f)
	archive := tar.NewWriter(zip)
	for _, finish := range []func() error{func() error { return write(archive) }, archive.Close, zip.Close, f.Close} {
		if err := finish(); err != nil {
			return nil, err
		}
	}
	return tarball.LayerFromFile(path)
}

// writeTree writes files of all sizes up to 128 KiB, most of them small, fifty in a directory, until they hold so many
// bytes. They get about half as large by zipping, as programs and libraries do.
func writeTree(w *tar.Writer, random *rand.Rand, dir string, size int64) error {
	words := make([]byte, 4<<10)
	for i := range words {
		words[i] = "etaoin shrdlu\n"[random.IntN(14)]
	}
	for n, left := 0, size; left > 0; n++ {
		if n%50 == 0 {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("%s/%d/", dir, n/50), Mode: 0o755}); err != nil {
				return err
			}
		}
		data := make([]byte, min(left, 256<<random.IntN(10)))
		for at := 0; at < len(data); at += 1 << 10 {
			block := data[at:min(len(data), at+1<<10)]
			if random.IntN(5) < 3 {
				from := random.IntN(len(words) - len(block) + 1)
				copy(block, words[from:])
				continue
			}
			for i := range block {
				block[i] = byte(random.UintN(256))
			}
		}
		if err := writeFile(w, fmt.Sprintf("%s/%d/file%d", dir, n/50, n), 0o644, data); err != nil {
			return err
		}
		left -= int64(len(data))
	}
	return nil
}

func writeFile(w *tar.Writer, name string, mode int64, data []byte) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// compressed is how many bytes a pull of the image moves.
func compressed(img v1.Image) (n int64, err error) {
	layers, err := img.Layers()
	if err != nil {
		return 0, err
	}
	for _, layer := range layers {
		size, err := layer.Size()
		if err != nil {
			return 0, err
		}
		n += size
	}
	return n, nil
}
