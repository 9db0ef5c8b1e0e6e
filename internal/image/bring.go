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

	"github.com/carillon-dev/carillon/internal/image/unpack"
)

const (
	// downloads is how many layers are downloaded at once.
	downloads = 3
	// atOnce is how many layers are published at once, at most. What is not published when this process is killed is
	// applied again.
	atOnce = 32
)

// source gives the blob of a layer, whole and verified, open at its beginning.
type source func(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error)

// incoming is a layer on its way into the store.
type incoming struct {
	v1.Descriptor

	chain, diffID string
	expected      bool          // was not here when the pull began
	ready         chan struct{} // closed when the rest is set
	blob          io.ReadCloser // nil if the layer is here
	layer         layer         // if it is here, or will be when it is published
	lock          *lock         // of the chain, until it is published
	err           error

	work *work // where it waits to be published
}

// files is the directory with the layer's files.
func (s *Store) files(in *incoming) string {
	if in.work != nil {
		return filepath.Join(in.work.dir, "layer", "fs")
	}
	return filepath.Join(s.layerDir(in.layer.number), "fs")
}

// bring makes the layers of an image that are not here yet: a few are downloaded at once, and applied from the bottom
// up while others still come. The lock of the store is held.
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
	defer func() {
		for _, in := range all {
			if in.lock != nil {
				in.lock.unlock()
			}
			if in.work != nil {
				s.removeWork(in.work)
			}
		}
	}()
	first := 0 // of those that are not published
	return s.eachInOrder(ctx, all, fetch, func(ctx context.Context, i int) error {
		if in := all[i]; in.lock != nil {
			if err := s.make(ctx, all, i); err != nil {
				return fmt.Errorf("layer %d of %d: %w", i+1, len(all), err)
			}
		} else if in.expected {
			report.expect(-in.Size) // somebody else brought it
		}
		report.layerDone()
		if next := i + 1; next < len(all) && next-first < atOnce && all[next].isReady() {
			return nil
		}
		// Nothing is kept back while we wait: the next layer may be in the hands of a process that waits for this one.
		batch := all[first : i+1]
		first = i + 1
		if err := s.publishAll(batch); err != nil {
			return err
		}
		failPoint("published")
		for _, in := range batch {
			if !usedLater(all[i+1:], in.Digest) {
				s.dropPart(in.Digest.String())
			}
		}
		failPoint("dropped")
		return nil
	})
}

// make applies one layer.
func (s *Store) make(ctx context.Context, all []*incoming, i int) (err error) {
	in := all[i]
	var lowers []string
	for j := i - 1; j >= 0; j-- {
		lowers = append(lowers, s.files(all[j]))
	}
	if in.work, err = s.newWork(); err != nil {
		return err
	}
	size, err := s.applyTo(ctx, in.work, in, lowers)
	in.layer = layer{Chain: in.chain, Size: size.Size, Inodes: uint64(size.Entries)} //nolint:gosec // a count
	failPoint("applied")
	return err
}

// publishAll publishes the layers of a batch that were made, and lets go of their locks.
func (s *Store) publishAll(batch []*incoming) error {
	var works []*work
	var layers []*layer
	for _, in := range batch {
		if in.work != nil {
			works, layers = append(works, in.work), append(layers, &in.layer)
		}
	}
	if err := s.publish(works, layers); err != nil {
		return err
	}
	for _, in := range batch {
		if in.work != nil {
			s.removeWork(in.work)
			in.lock.drop()
			in.work, in.lock = nil, nil
		}
	}
	return nil
}

func (in *incoming) isReady() bool {
	select {
	case <-in.ready:
		return true
	default:
		return false
	}
}

// applyTo applies one layer to the directory that is made in w.
func (s *Store) applyTo(ctx context.Context, w *work, in *incoming, lowers []string) (unpack.Result, error) {
	scratch, target := filepath.Join(w.dir, "work"), filepath.Join(w.dir, "layer", "fs")
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return unpack.Result{}, err
	}
	err := os.Mkdir(target, 0o755)
	if err == nil {
		err = os.Chmod(target, 0o755) // whatever this process's umask is: it is the root of containers
	}
	if err != nil && !errors.Is(err, os.ErrExist) { // which it does in the flat form, with the layers below
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
	failPoint("applied")
	whole := layer{Chain: top.chain, Size: size.Size, Inodes: uint64(size.Entries)} //nolint:gosec // a count
	if err := s.publish([]*work{w}, []*layer{&whole}); err != nil {
		return err
	}
	failPoint("published")
	for _, in := range all {
		s.dropPart(in.Digest.String())
	}
	failPoint("dropped")
	return nil
}

// eachInOrder fetches a few layers at once, and applies each when those below it are. It returns when nothing of it
// goes on any more.
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
