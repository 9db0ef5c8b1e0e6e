// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	nameAnnotation = "io.containerd.image.name"
	refAnnotation  = "org.opencontainers.image.ref.name"
)

// listLayout lists the images of an OCI layout that are for this machine.
func (s *Store) listLayout(a archive, data []byte) ([]archived, error) {
	var index v1.IndexManifest
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("its index.json cannot be read: %w", err)
	}
	// Images for several platforms may be side by side, with one name.
	groups := map[string]*v1.IndexManifest{}
	var order []string
	for n, d := range index.Manifests {
		key := annotatedName(d)
		if d.Platform == nil {
			key = fmt.Sprint(n)
		}
		if groups[key] == nil {
			groups[key] = &v1.IndexManifest{}
			order = append(order, key)
		}
		groups[key].Manifests = append(groups[key].Manifests, d)
	}
	var list []archived
	var other error
	for _, key := range order {
		i, err := s.readLayout(a, groups[key])
		if errors.Is(err, ErrNoPlatform) {
			other = err
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	if len(list) == 0 && other == nil {
		other = errors.New("there is no image in it")
	}
	if len(list) == 0 {
		return nil, other
	}
	return list, nil
}

// readLayout reads one image of an OCI layout, of which there are manifests for several platforms or one.
func (s *Store) readLayout(a archive, group *v1.IndexManifest) (archived, error) {
	top := group.Manifests[0]
	if len(group.Manifests) > 1 || top.MediaType.IsImage() {
		var err error
		if top, err = s.platform.choose(group); err != nil {
			return archived{}, err
		}
	}
	m, err := layoutManifest(a, top)
	if err != nil {
		return archived{}, err
	}
	digests := []string{m.digest}
	if m.isIndex() {
		d, err := readIndex(m, s.platform)
		if err != nil {
			return archived{}, err
		}
		if m, err = layoutManifest(a, d); err != nil {
			return archived{}, err
		}
		digests = append(digests, m.digest)
	}
	parts, err := readManifest(m)
	if err != nil {
		return archived{}, err
	}
	i := archived{id: parts.config.Digest.String(), layers: parts.layers, checked: true}
	if i.config, err = layoutBlob(a, parts.config); err != nil {
		return archived{}, err
	}
	for _, l := range parts.layers {
		i.paths = append(i.paths, blobPath(l.Digest))
	}
	if name := annotatedName(top); name != "" {
		n, err := ParseName(name)
		if err != nil {
			return archived{}, err
		}
		i.names = tags(n)
		for _, d := range digests {
			i.digests = append(i.digests, n.Repository()+"@"+d)
		}
	}
	return i, nil
}

// annotatedName is the name that whoever wrote the layout gave an image. A tag alone names nothing.
func annotatedName(d v1.Descriptor) string {
	if name := d.Annotations[nameAnnotation]; name != "" {
		return name
	}
	if name := d.Annotations[refAnnotation]; strings.ContainsAny(name, "/:") {
		return name
	}
	return ""
}

func layoutManifest(a archive, d v1.Descriptor) (*manifest, error) {
	data, err := layoutBlob(a, d)
	if err != nil {
		return nil, err
	}
	return newManifest(data, string(d.MediaType)), nil
}

// layoutBlob reads a small blob, which has its digest.
func layoutBlob(a archive, d v1.Descriptor) ([]byte, error) {
	if !isDigest(d.Digest.String()) {
		return nil, fmt.Errorf("it has the digest %q, which is not of sha256", printable(d.Digest.String()))
	}
	data, err := readFile(a, blobPath(d.Digest))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != d.Digest.String() {
		return nil, &corruptError{what: "file " + blobPath(d.Digest), want: d.Digest.String(), got: got}
	}
	return data, nil
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
