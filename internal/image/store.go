// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

var errNotYet = errors.New("not built yet")

// Options say where the store is and how images get there.
type Options struct {
	// Dir is the store. Without it, it is below the user's cache directory, and root's in /var/cache: DefaultDir.
	Dir string
	// CacheBytes is how much the layers may take on disk: after each pull the images that nothing has used for longest
	// go until it is less. 0 is DefaultCacheBytes, less than 0 no bound.
	CacheBytes int64
	// Mirrors are the endpoints to ask before a registry, by its name: docker.io -> https://mirror.example, see ParseMirror.
	Mirrors map[string][]string
	// Log is told what went on that no caller waits for; nil is silence.
	Log func(string)
}

// DefaultCacheBytes is the bound of a store that was given none: 20 GiB.
const DefaultCacheBytes = 20 << 30

// DefaultDir is where a user's images are: $XDG_CACHE_HOME/carillon/images or ~/.cache/carillon/images, and for root
// /var/cache/carillon/images.
func DefaultDir() (string, error) { return "", errNotYet }

// ParseMirror reads a --registry-mirror: REGISTRY=URL, or URL alone for docker.io.
func ParseMirror(text string) (registry, endpoint string, err error) { return "", "", errNotYet }

// Store is a directory of images. Several processes may have it open at once; its methods may be called at the same time.
type Store struct{}

// Open opens a store and makes it if need be, with mode 0700; a directory of somebody else is refused. What was left by
// processes that are no more is swept.
func Open(ctx context.Context, o Options) (*Store, error) { return nil, errNotYet }

// Close lets go of the directory. Images in use stay in use.
func (s *Store) Close() error { return nil }

// Dir is the directory of the store.
func (s *Store) Dir() string { return "" }

// Pull brings an image into the store, and asks the registry even if it is there: a tag may have moved. auth is nil for
// DefaultKeychain. progress, if not nil, is called now and then, never at the same time. A *PullError says why not.
func (s *Store) Pull(ctx context.Context, name Name, auth Keychain, progress func(Progress)) (Image, error) {
	return Image{}, errNotYet
}

// Find looks an image up by a name, short or full, with tag or digest, by its ID, or by a part of the ID's beginning
// that no other has; more than one is an *AmbiguousError. false is that it is not here.
func (s *Store) Find(ref string) (Image, bool, error) { return Image{}, false, errNotYet }

// List gives all images, by name.
func (s *Store) List() ([]Image, error) { return nil, errNotYet }

// Remove removes an image, or, if ref is one of several names of it, that name. *InUseError says that a container uses
// it, *NotFoundError that it is not here.
func (s *Store) Remove(ref string) error { return errNotYet }

// Import brings the images of an archive into the store: what "docker save" writes, or an OCI layout as tar, either may
// be gzipped.
func (s *Store) Import(ctx context.Context, r io.Reader, progress func(Progress)) ([]Image, error) {
	return nil, errNotYet
}

// ImportPath is Import of a file, or of a directory that is an OCI layout.
func (s *Store) ImportPath(ctx context.Context, path string, progress func(Progress)) ([]Image, error) {
	return nil, errNotYet
}

// Prune removes the images that nothing has used since now-unusedFor, and returns them. Those in use stay.
func (s *Store) Prune(ctx context.Context, unusedFor time.Duration, now time.Time) ([]Image, error) {
	return nil, errNotYet
}

// Use is the right to the layers of an image: as long as File, or a copy of it that a child inherited, is open, the image
// is not removed.
type Use struct {
	// Image is what is used.
	Image Image
	// File holds the lock. A container's supervisor inherits it, so that the lock ends with the container and not with us.
	File *os.File
	// Layers are the directories of the layers, the topmost first, as an overlay's lowerdir has them. There is at least one.
	Layers []string
	// Flat is that the store cannot use overlays: Layers is one directory with the whole image in it.
	Flat bool
}

// Use locks an image for a container. A *NotFoundError says that it is not here (any more).
func (s *Store) Use(id string) (*Use, error) { return nil, errNotYet }

// Close lets go of the lock, as far as this process holds it.
func (u *Use) Close() error { return u.File.Close() }

// Usage is what all images take on disk: bytes and files.
func (s *Store) Usage() (bytes, inodes uint64, err error) { return 0, 0, errNotYet }

// Main is the entry of the processes that the store starts from this program's own file. A program's main, and TestMain,
// call it first, and end if it reports true.
func Main() (handled bool) { return false }
