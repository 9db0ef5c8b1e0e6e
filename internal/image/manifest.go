// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// maxLayers bounds the layers of an image: the kernel stacks no more in an overlay.
const maxLayers = 500

// blobs is what an image consists of, as its manifest says.
type blobs struct {
	config v1.Descriptor
	layers []v1.Descriptor // from the bottom up
}

// readManifest reads the manifest of one image, and refuses what is none or what we cannot run.
func readManifest(m *manifest) (blobs, error) {
	switch {
	case m.mediaType.IsSchema1():
		return blobs{}, errors.New("it is in docker's first format (schema 1), without digests of what is in it: pull it with an older docker and push it again, which converts it")
	case !m.mediaType.IsImage():
		return blobs{}, fmt.Errorf("it is not a container image, but %q", printable(string(m.mediaType)))
	}
	parsed, err := v1.ParseManifest(bytes.NewReader(m.data))
	if err != nil {
		return blobs{}, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if !isDigest(parsed.Config.Digest.String()) || parsed.Config.Size <= 0 || parsed.Config.Size > maxRecord {
		return blobs{}, fmt.Errorf("its config has %d bytes, and should have some, and at most %d", parsed.Config.Size, maxRecord)
	}
	if n := len(parsed.Layers); n == 0 || n > maxLayers {
		return blobs{}, fmt.Errorf("it has %d layers, and should have at least one and at most %d", n, maxLayers)
	}
	for i, l := range parsed.Layers {
		switch {
		case !l.MediaType.IsDistributable() || len(l.URLs) > 0:
			return blobs{}, fmt.Errorf("layer %d is not in the registry, but elsewhere (a foreign layer, as Windows images have): such images are not run here", i+1)
		case !l.MediaType.IsLayer():
			return blobs{}, fmt.Errorf("layer %d is not the layer of a container image, but %q", i+1, printable(string(l.MediaType)))
		case !isDigest(l.Digest.String()):
			return blobs{}, fmt.Errorf("layer %d has the digest %q, which is not of sha256", i+1, printable(l.Digest.String()))
		case l.Size <= 0:
			return blobs{}, fmt.Errorf("layer %d has %d bytes", i+1, l.Size)
		}
	}
	return blobs{config: parsed.Config, layers: parsed.Layers}, nil
}

// readIndex reads an index and picks the image for this machine.
func readIndex(m *manifest, p platform) (v1.Descriptor, error) {
	index, err := v1.ParseIndexManifest(bytes.NewReader(m.data))
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("its index cannot be read: %w", err)
	}
	d, err := p.choose(index)
	if err == nil && !isDigest(d.Digest.String()) {
		err = fmt.Errorf("its index has the digest %q, which is not of sha256", printable(d.Digest.String()))
	}
	return d, err
}

// readConfig reads the config of an image with so many layers, for this machine, and makes a record of it.
func readConfig(data []byte, id string, layers int, p platform) (r *record, diffIDs []string, err error) {
	config, err := v1.ParseConfigFile(bytes.NewReader(data))
	if err != nil {
		return nil, nil, fmt.Errorf("its config cannot be read: %w", err)
	}
	if err := p.accept(config); err != nil {
		return nil, nil, err
	}
	if n := len(config.RootFS.DiffIDs); n != layers {
		return nil, nil, fmt.Errorf("its config names %d layers, and its manifest %d", n, layers)
	}
	for _, d := range config.RootFS.DiffIDs {
		if !isDigest(d.String()) {
			return nil, nil, fmt.Errorf("its config has the digest %q, which is not of sha256", printable(d.String()))
		}
		diffIDs = append(diffIDs, d.String())
	}
	c := config.Config
	return &record{ID: id, Chain: chainIDs(diffIDs), Config: Config{
		User: c.User, Env: c.Env, Entrypoint: c.Entrypoint, Cmd: c.Cmd, WorkingDir: c.WorkingDir, StopSignal: c.StopSignal,
		Labels: c.Labels, Volumes: slices.Sorted(maps.Keys(c.Volumes)),
	}}, diffIDs, nil
}

// isIndex reports whether there are images for several platforms behind it.
func (m *manifest) isIndex() bool { return m.mediaType.IsIndex() }
