// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// Pull brings an image into the store, and asks the registry even if it is there: a tag may have moved, and the
// credentials may not be enough. auth is nil for DefaultKeychain. progress, if not nil, is called now and then, never
// at the same time. A *PullError says why not.
func (s *Store) Pull(ctx context.Context, name Name, auth Keychain, progress func(Progress)) (Image, error) {
	if auth == nil {
		auth = DefaultKeychain()
	}
	ends, err := s.endpoints(name)
	if err != nil {
		return Image{}, &PullError{Name: name, Err: err}
	}
	held, err := s.lock(ctx, lockStore, unix.LOCK_SH)
	if err != nil {
		return Image{}, &PullError{Name: name, Err: err}
	}
	img, err := s.pullFromAny(ctx, ends, name, auth, progress)
	held.unlock()
	if err != nil {
		return Image{}, err
	}
	if err := s.collect(ctx, img.ID); err != nil {
		s.log(fmt.Sprintf("old images are not removed: %v", err))
	}
	return img, nil
}

// pullFromAny tries the mirrors and then the registry, whose error it is that counts; those of the mirrors go with it.
func (s *Store) pullFromAny(ctx context.Context, ends []endpoint, name Name, auth Keychain, progress func(Progress)) (Image, error) {
	failed := &PullError{Name: name}
	for _, e := range ends {
		img, err := s.pullFrom(ctx, e, name, auth, newReporter(name.Short(), progress))
		if err == nil {
			return img, nil
		}
		if ctx.Err() != nil {
			return Image{}, &PullError{Name: name, Host: e.host(), Err: context.Cause(ctx)}
		}
		mirrors := failed.Mirrors
		failed = explain(name, e, err)
		failed.Mirrors = mirrors
		if e.mirror {
			failed.Mirrors = append(mirrors, &PullError{Name: name, Host: e.host(), Kind: failed.Kind, Err: failed.Err})
			s.log(fmt.Sprintf("mirror %s: %v", e.host(), failed.Err))
		}
	}
	return Image{}, failed
}

// pullFrom pulls from one endpoint.
func (s *Store) pullFrom(ctx context.Context, e endpoint, name Name, auth Keychain, report *reporter) (Image, error) {
	r, err := s.dial(ctx, e, name, auth)
	if err != nil {
		return Image{}, err
	}
	digest, err := r.head(ctx, name.target())
	if err != nil {
		return Image{}, err
	}
	if digest != "" {
		if known, err := s.withDigest(name.Repository() + "@" + digest); err == nil && known != nil {
			return s.keep(ctx, known, tags(name), nil)
		}
	}
	top, m, err := s.resolve(ctx, r, name)
	if err != nil {
		return Image{}, err
	}
	failPoint("resolved")
	parts, err := readManifest(m)
	if err != nil {
		return Image{}, err
	}
	data, err := s.config(ctx, r, parts.config)
	if err != nil {
		return Image{}, err
	}
	record, diffIDs, err := readConfig(data, parts.config.Digest.String(), len(parts.layers), s.platform)
	if err != nil {
		return Image{}, err
	}
	failPoint("configured")
	from := func(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
		f, err := s.download(ctx, r, d, report.arrived)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	if err := s.bring(ctx, record.Chain, diffIDs, parts.layers, from, report); err != nil {
		return Image{}, err
	}
	failPoint("complete")
	digests := []string{name.Repository() + "@" + top.digest}
	if m != top {
		digests = append(digests, name.Repository()+"@"+m.digest)
	}
	return s.keep(ctx, record, tags(name), digests)
}

// tags are the names that the image gets: none if it was asked for by digest.
func tags(name Name) []string {
	if name.Digest() != "" {
		return nil
	}
	return []string{name.String()}
}

// withDigest finds the record of a whole image that has this digest.
func (s *Store) withDigest(digest string) (*record, error) {
	all, err := s.records()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		for _, d := range r.Digests {
			if d == digest && s.whole(r) {
				return r, nil
			}
		}
	}
	return nil, nil
}

// whole reports whether all layers of an image are here.
func (s *Store) whole(r *record) bool {
	for _, chain := range s.keys(r.Chain) {
		if _, ok := s.layer(chain); !ok {
			return false
		}
	}
	return true
}

// resolve gets what the name means now: an index or a manifest, and the manifest for this machine, which may be the
// same.
func (s *Store) resolve(ctx context.Context, r *repository, name Name) (top, m *manifest, err error) {
	if top, err = r.manifest(ctx, name.target()); err != nil {
		return nil, nil, err
	}
	m = top
	for depth := 0; m.isIndex(); depth++ {
		d, err := readIndex(m, s.platform)
		if err != nil {
			return nil, nil, err
		}
		if depth > 0 {
			return nil, nil, errors.New("its index names another index")
		}
		if m, err = r.manifest(ctx, d.Digest.String()); err != nil {
			return nil, nil, err
		}
	}
	return top, m, nil
}

// config gets the config of an image. It is small.
func (s *Store) config(ctx context.Context, r *repository, d v1.Descriptor) ([]byte, error) {
	f, err := s.download(ctx, r, d, func(int64) {})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readBounded(f, maxRecord)
	s.dropPart(d.Digest.String())
	return data, err
}
