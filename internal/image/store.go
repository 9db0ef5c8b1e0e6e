// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/unpack"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// Options say where the store is and how images get there.
type Options struct {
	// Dir is the store. Without it, it is DefaultDir.
	Dir string
	// CacheBytes is how much the layers may take on disk: after each pull the images that nothing has used for longest
	// go until it is less. 0 is DefaultCacheBytes, less than 0 no bound.
	CacheBytes int64
	// Mirrors are the endpoints to ask before a registry, by its name: docker.io -> https://mirror.example. ParseMirror
	// reads them. Only DefaultKeychain's credentials go to them.
	Mirrors map[string][]string
	// Log is told what went on that no caller waits for; nil is silence.
	Log func(string)

	// For tests.
	applier   applier
	transport http.RoundTripper
	backOff   func(int) time.Duration
	platform  *platform
	now       func() time.Time
}

// DefaultCacheBytes is the bound of a store that was given none: 20 GiB.
const DefaultCacheBytes = 20 << 30

// DefaultDir is where a user's images are: $XDG_CACHE_HOME/carillon/images or ~/.cache/carillon/images, and for root
// /var/cache/carillon/images.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/carillon/images", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for images: %w; choose one with --image-dir", err)
	}
	return filepath.Join(dir, "carillon", "images"), nil
}

// Store is a directory of images. Several processes may have it open at once; its methods may be called at the same
// time.
//
//	version              what the rest looks like
//	images/<id>.json     a record for each image
//	layers/<n>/fs        the files of a layer, with layer.json beside it; numbers are short, for the options of a mount
//	blobs/<sha256>.part  downloads, whole or not, that are not applied yet
//	locks/               see lock.go
//	tmp-*                layers in work, and those that are being removed
//
// What has a name in images/ or layers/ is whole, whenever a process ended or the machine stopped.
type Store struct {
	dir                          string
	images, layers, blobs, locks *privatedir.Dir
	form                         unpack.Form
	cacheBytes                   int64
	mirrors                      map[string][]string
	log                          func(string)
	applier                      applier
	transport                    http.RoundTripper
	backOff                      func(int) time.Duration
	platform                     platform
	now                          func() time.Time

	mu      sync.Mutex
	numbers map[string]int // of layers, by chain ID; what it says is checked before it is believed
}

const (
	tmpPrefix = "tmp-"
	// format is the layout of the store. Whatever an older Carillon would misunderstand gets another one.
	format = 1
)

// versionFile is what the file version says.
type versionFile struct {
	Format int         `json:"format"`
	Form   unpack.Form `json:"form"`
}

// Open opens a store and makes it if need be, with mode 0700; a directory of somebody else is refused. What was left by
// processes that are no more is swept.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		cacheBytes: o.CacheBytes, mirrors: o.Mirrors, log: o.Log, applier: o.applier, transport: o.transport, backOff: o.backOff,
		now: o.now, platform: thisPlatform(), numbers: map[string]int{},
	}
	if s.cacheBytes == 0 {
		s.cacheBytes = DefaultCacheBytes
	}
	if s.log == nil {
		s.log = func(string) {}
	}
	if s.applier == nil {
		s.applier = helper{}
	}
	if s.transport == nil {
		s.transport = newTransport()
	}
	if s.backOff == nil {
		s.backOff = backOff
	}
	if s.now == nil {
		s.now = time.Now
	}
	if o.platform != nil {
		s.platform = *o.platform
	}
	for registry, texts := range o.Mirrors {
		for _, text := range texts {
			if _, err := parseEndpoint(text); err != nil {
				return nil, fmt.Errorf("mirror of %s: %w", registry, err)
			}
		}
	}
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx, dir); err != nil {
		_ = s.Close() // the error that it did not open for is the one to tell
		return nil, fmt.Errorf("image store: %w", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, dir string) error {
	dir, err := privatedir.Resolve(dir)
	if err != nil {
		return err
	}
	top, err := privatedir.Make(dir)
	if err != nil {
		return err
	}
	defer top.Close()
	s.dir = top.Path()
	for name, d := range map[string]**privatedir.Dir{"images": &s.images, "layers": &s.layers, "blobs": &s.blobs, "locks": &s.locks} {
		if *d, err = top.Sub(name); err != nil {
			return err
		}
	}
	held, err := s.lock(ctx, lockRecords, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer held.unlock()
	if err := s.version(ctx, top); err != nil {
		return err
	}
	return s.sweep()
}

// version reads what the store looks like, or finds out what it can look like if it is new.
func (s *Store) version(ctx context.Context, top *privatedir.Dir) error {
	data, err := top.ReadFile("version", maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		if numbers, err := s.layerNumbers(); err != nil || len(numbers) > 0 {
			return errors.Join(err, fmt.Errorf("%s has layers and does not say of what kind (its file version is missing): remove it, and images are pulled again", s.dir))
		}
		if s.form, err = s.applier.probe(ctx, s.dir); err != nil {
			return err
		}
		return top.WriteFile("version", mustJSON(versionFile{Format: format, Form: s.form}))
	}
	if err != nil {
		return err
	}
	var v versionFile
	if err := json.Unmarshal(data, &v); err != nil || v.Format < 1 {
		return fmt.Errorf("%s cannot be read: remove %s, and images are pulled again", filepath.Join(s.dir, "version"), s.dir)
	}
	if v.Format > format {
		return fmt.Errorf("%s was made by a newer Carillon (format %d, and this one knows %d): use that one, choose another directory with --image-dir, or remove this one, and images are pulled again", s.dir, v.Format, format)
	}
	s.form = v.Form
	return nil
}

// sweep removes what was left by processes that ended in the middle: whoever still works holds the lock of his
// directory. Records are not written meanwhile.
func (s *Store) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tmpPrefix) && e.IsDir() {
			s.sweepWork(filepath.Join(s.dir, e.Name()))
		}
	}
	if entries, err = os.ReadDir(s.images.Path()); err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			_ = s.images.Remove(e.Name()) // half of a record; the next one to open tries again
		}
	}
	return nil
}

func (s *Store) sweepWork(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return // somebody else was faster
	}
	if flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return
	}
	s.removeWork(&work{dir: dir, lock: f})
}

// Close lets go of the directory. Images in use stay in use.
func (s *Store) Close() error {
	for _, d := range []*privatedir.Dir{s.images, s.layers, s.blobs, s.locks} {
		if d != nil {
			d.Close()
		}
	}
	if t, ok := s.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return nil
}

// Dir is the directory of the store.
func (s *Store) Dir() string { return s.dir }
