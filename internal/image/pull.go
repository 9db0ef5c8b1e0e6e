// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/unpack"
)

// downloads is how many layers are downloaded at once.
const downloads = 3

// Pull brings an image into the store, and asks the registry even if it is there: a tag may have moved, and the
// credentials may not be enough. auth is nil for DefaultKeychain. progress, if not nil, is called now and then, never at
// the same time. A *PullError says why not.
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

// pullFromAny tries the mirrors and then the registry, whose error it is that counts.
func (s *Store) pullFromAny(ctx context.Context, ends []endpoint, name Name, auth Keychain, progress func(Progress)) (Image, error) {
	var failed error
	for _, e := range ends {
		img, err := s.pullFrom(ctx, e, name, auth, newReporter(name.Short(), progress))
		if err == nil {
			return img, nil
		}
		if ctx.Err() != nil {
			return Image{}, &PullError{Name: name, Host: e.host(), Err: context.Cause(ctx)}
		}
		failed = explain(name, e, err)
		if e.mirror {
			s.log(fmt.Sprintf("mirror %s: %v", e.host(), failed))
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

// resolve gets what the name means now: an index or a manifest, and the manifest for this machine, which may be the same.
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

// source gives the blob of a layer, whole and verified, open at its beginning.
type source func(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error)

// incoming is a layer on its way into the store.
type incoming struct {
	v1.Descriptor

	chain, diffID string
	expected      bool          // was not here when the pull began
	ready         chan struct{} // closed when the rest is set
	blob          io.ReadCloser // nil if the layer is here
	layer         layer         // if it is here
	lock          *lock         // of the chain, while it is made
	err           error
}

// bring makes the layers of an image that are not here yet: a few are downloaded at once, and applied from the bottom up
// while others still come. The lock of the store is held.
func (s *Store) bring(ctx context.Context, chain, diffIDs []string, descriptors []v1.Descriptor, from source, report *reporter) error {
	all := make([]*incoming, len(descriptors))
	for i, d := range descriptors {
		all[i] = &incoming{Descriptor: d, chain: chain[i], diffID: diffIDs[i], ready: make(chan struct{})}
	}
	if s.form.Flat {
		return s.bringFlat(ctx, all, from, report)
	}
	for _, in := range all {
		if _, ok := s.layer(in.chain); !ok {
			in.expected = true
			report.expect(in.Size)
		}
	}
	report.layers(len(all))
	fetch := func(ctx context.Context, in *incoming) {
		if in.lock, in.layer, _, in.err = s.lockLayer(ctx, in.chain); in.err == nil && in.lock != nil {
			in.blob, in.err = from(ctx, in.Descriptor)
		}
	}
	return s.eachInOrder(ctx, all, fetch, func(ctx context.Context, i int) error {
		in := all[i]
		if in.lock != nil {
			var lowers []string
			for j := i - 1; j >= 0; j-- {
				lowers = append(lowers, filepath.Join(s.layerDir(all[j].layer.number), "fs"))
			}
			if err := s.make(ctx, in, lowers); err != nil {
				return fmt.Errorf("layer %d of %d: %w", i+1, len(all), err)
			}
			in.lock.drop()
			in.lock = nil
			failPoint("published")
		} else if in.expected {
			report.expect(-in.Size) // somebody else brought it
		}
		report.layerDone()
		if !usedLater(all[i+1:], in.Digest) {
			s.dropPart(in.Digest.String())
		}
		failPoint("dropped")
		return nil
	})
}

// make applies one layer and publishes it.
func (s *Store) make(ctx context.Context, in *incoming, lowers []string) error {
	w, err := s.newWork()
	if err != nil {
		return err
	}
	defer s.removeWork(w)
	size, err := s.applyTo(ctx, w, in, lowers)
	if err != nil {
		return err
	}
	in.layer, err = s.publish(w, layer{Chain: in.chain, Size: size.Size, Inodes: uint64(size.Entries)})
	return err
}

// applyTo applies one layer to the directory that is made in w.
func (s *Store) applyTo(ctx context.Context, w *work, in *incoming, lowers []string) (unpack.Result, error) {
	scratch, target := filepath.Join(w.dir, "work"), filepath.Join(w.dir, "layer", "fs")
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return unpack.Result{}, err
	}
	if err := os.Mkdir(target, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return unpack.Result{}, err
	}
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return unpack.Result{}, err
	}
	done, err := s.applier.apply(ctx, unpack.Request{
		Form: s.form, Store: s.dir, Target: target, Work: scratch, Lowers: lowers, Compressed: in.blob, DiffID: in.diffID,
		Limits: unpack.DefaultLimits, Held: []*os.File{w.lock},
	})
	if err != nil {
		return unpack.Result{}, err
	}
	return done, s.applier.remove(scratch)
}

// bringFlat makes the one directory of an image to which all layers are applied. It is published when it is whole.
func (s *Store) bringFlat(ctx context.Context, all []*incoming, from source, report *reporter) error {
	top := all[len(all)-1]
	held, _, here, err := s.lockLayer(ctx, top.chain)
	report.layers(len(all))
	if err != nil || here {
		if here {
			report.allDone()
		}
		return err
	}
	defer held.drop()
	for _, in := range all {
		report.expect(in.Size)
	}
	w, err := s.newWork()
	if err != nil {
		return err
	}
	defer s.removeWork(w)
	var size unpack.Result
	fetch := func(ctx context.Context, in *incoming) { in.blob, in.err = from(ctx, in.Descriptor) }
	err = s.eachInOrder(ctx, all, fetch, func(ctx context.Context, i int) error {
		one, err := s.applyTo(ctx, w, all[i], nil)
		if err != nil {
			return fmt.Errorf("layer %d of %d: %w", i+1, len(all), err)
		}
		size.Size += one.Size
		size.Entries += one.Entries
		report.layerDone()
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := s.publish(w, layer{Chain: top.chain, Size: size.Size, Inodes: uint64(size.Entries)}); err != nil {
		return err
	}
	failPoint("published")
	for _, in := range all {
		s.dropPart(in.Digest.String())
	}
	failPoint("dropped")
	return nil
}

// eachInOrder fetches a few layers at once, and applies each when those below it are. It returns when nothing of it goes
// on any more.
func (s *Store) eachInOrder(ctx context.Context, all []*incoming, fetch func(context.Context, *incoming), apply func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	slots := make(chan struct{}, downloads)
	var fetching sync.WaitGroup
	fetching.Go(func() {
		for _, in := range all {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				in.err = context.Cause(ctx)
				close(in.ready)
				continue
			}
			fetching.Go(func() {
				defer close(in.ready)
				fetch(ctx, in)
				<-slots
			})
		}
	})
	var failed error
	for i, in := range all {
		<-in.ready
		if failed == nil {
			if failed = in.err; failed == nil {
				failed = apply(ctx, i)
			}
			if failed != nil {
				cancel(failed)
			}
		}
		if in.blob != nil {
			in.blob.Close()
		}
		if in.lock != nil {
			in.lock.unlock()
		}
	}
	cancel(nil)
	fetching.Wait()
	return failed
}

func usedLater(rest []*incoming, digest v1.Hash) bool {
	for _, in := range rest {
		if in.Digest == digest {
			return true
		}
	}
	return false
}
