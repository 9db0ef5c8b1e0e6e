// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"os"
	"sync"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/node/process"
)

// imageStore opens the store of images when somebody needs an image, so that who
// runs on this machine's files alone gets none. What cannot be opened is tried
// again the next time, and who asks for an image is told why.
type imageStore struct {
	options  image.Options
	nowhere  error              // why there is no place for a store
	progress func(PullProgress) // nil: nobody listens

	mu    sync.Mutex
	store *image.Store
}

var _ process.Images = (*imageStore)(nil)

// newImageStore is the store of the options' directory, or else of this user.
func newImageStore(o *Options) *imageStore {
	log := o.Logger.WithName("images")
	s := &imageStore{progress: o.PullProgress, options: image.Options{
		Dir: o.ImageDir, CacheBytes: o.ImageCacheBytes, Mirrors: o.RegistryMirrors, Log: func(text string) { log.Info(text) },
	}}
	if s.options.Dir == "" {
		s.options.Dir, s.nowhere = image.DefaultDir()
	}
	return s
}

func (s *imageStore) open() (*image.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil || s.nowhere != nil {
		return s.store, s.nowhere
	}
	store, err := image.Open(context.Background(), s.options)
	if err != nil {
		return nil, err
	}
	s.store = store
	return store, nil
}

// existing is the store if there is one by now, or nil.
func (s *imageStore) existing() (*image.Store, error) {
	if s.Dir() == "" {
		return nil, nil
	}
	return s.open()
}

// Close lets go of the store. Containers keep their images.
func (s *imageStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	err := s.store.Close()
	s.store = nil
	return err
}

// Dir is the directory of the store, or nothing as long as there is none.
func (s *imageStore) Dir() string {
	if info, err := os.Stat(s.options.Dir); err != nil || !info.IsDir() {
		return ""
	}
	return s.options.Dir
}

func (s *imageStore) Pull(ctx context.Context, name image.Name, auth image.Keychain, progress func(image.Progress)) (image.Image, error) {
	store, err := s.open()
	if err != nil {
		return image.Image{}, err
	}
	if s.progress == nil {
		return store.Pull(ctx, name, auth, progress)
	}
	img, err := store.Pull(ctx, name, auth, func(p image.Progress) {
		s.progress(PullProgress{Image: p.Image, Layers: p.Layers, LayersDone: p.LayersDone, Bytes: p.Bytes, BytesDone: p.BytesDone})
		if progress != nil {
			progress(p)
		}
	})
	s.progress(PullProgress{Image: name.Short(), Ended: true, Err: err})
	return img, err
}

func (s *imageStore) Find(ref string) (image.Image, bool, error) {
	store, err := s.existing()
	if store == nil {
		return image.Image{}, false, err
	}
	return store.Find(ref)
}

func (s *imageStore) List() ([]image.Image, error) {
	store, err := s.existing()
	if store == nil {
		return nil, err
	}
	return store.List()
}

func (s *imageStore) Remove(ref string) error {
	store, err := s.open()
	if err != nil {
		return err
	}
	return store.Remove(ref)
}

func (s *imageStore) Use(id string) (*image.Use, error) {
	store, err := s.open()
	if err != nil {
		return nil, err
	}
	return store.Use(id)
}

func (s *imageStore) Usage() (bytes, inodes uint64, err error) {
	store, err := s.existing()
	if store == nil {
		return 0, 0, err
	}
	return store.Usage()
}
