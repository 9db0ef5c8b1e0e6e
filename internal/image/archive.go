// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"
)

// ImportError says why the images of an archive are not in the store.
type ImportError struct {
	Path string // or nothing, for a stream
	Err  error
}

func (e *ImportError) Error() string {
	if e.Path == "" {
		return "the archive cannot be imported: " + e.Err.Error()
	}
	return fmt.Sprintf("%s cannot be imported: %v", e.Path, e.Err)
}

// Unwrap gives the cause.
func (e *ImportError) Unwrap() error { return e.Err }

// Import brings the images of an archive into the store: what "docker save" writes, or an OCI layout as tar; either may
// be zipped with gzip or zstd. Those for other machines are left out, as long as there is one for this. Images that
// were imported before an error stay. An *ImportError says what is wrong.
func (s *Store) Import(ctx context.Context, r io.Reader, progress func(Progress)) ([]Image, error) {
	w, err := s.newWork()
	if err != nil {
		return nil, err
	}
	defer s.removeWork(w)
	if _, ok := r.(*os.File); !ok {
		r = &untilDone{ctx, r}
	}
	a, err := openArchive(r, w)
	if err != nil {
		return nil, &ImportError{Err: err}
	}
	defer a.close()
	images, err := s.importAll(ctx, a, progress)
	if err != nil {
		err = &ImportError{Err: err}
	}
	return images, err
}

// ImportPath is Import of a file, or of a directory that is an OCI layout.
func (s *Store) ImportPath(ctx context.Context, path string, progress func(Progress)) ([]Image, error) {
	var images []Image
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		var root *os.Root
		if root, err = os.OpenRoot(path); err == nil {
			defer root.Close()
			images, err = s.importAll(ctx, directory{root}, progress)
		}
	} else if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			defer f.Close()
			images, err = s.Import(ctx, f, progress)
		}
	}
	if known := new(*ImportError); errors.As(err, known) {
		err = (*known).Err
	}
	if gone := new(*os.PathError); errors.As(err, gone) && (*gone).Path == path {
		err = (*gone).Err
	}
	if err != nil {
		err = &ImportError{Path: path, Err: err}
	}
	return images, err
}

// untilDone ends with its context. A read that waits already is not ended.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Reader.Read(p)
}

// archived is one image of an archive.
type archived struct {
	names   []string // full
	digests []string
	config  []byte
	id      string
	layers  []v1.Descriptor
	paths   []string // of the layers
	checked bool     // the layers have digests of what is in the archive
}

// importAll imports the images of an archive, for which nobody removes layers meanwhile.
func (s *Store) importAll(ctx context.Context, a archive, progress func(Progress)) (images []Image, err error) {
	list, err := s.listArchive(a)
	if err != nil {
		return nil, err
	}
	held, err := s.lock(ctx, lockStore, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	for _, i := range list {
		var img Image
		if img, err = s.importOne(ctx, a, i, progress); err != nil {
			break
		}
		images = append(images, img)
	}
	held.unlock()
	if len(images) > 0 {
		if err := s.collect(ctx, images[len(images)-1].ID); err != nil {
			s.log(fmt.Sprintf("old images are not removed: %v", err))
		}
	}
	return images, err
}

func (s *Store) importOne(ctx context.Context, a archive, i archived, progress func(Progress)) (Image, error) {
	title := i.id
	if len(i.names) > 0 {
		title = i.names[0]
		if n, err := ParseName(title); err == nil {
			title = n.Short()
		}
	}
	record, diffIDs, err := readConfig(i.config, i.id, len(i.layers), s.platform)
	if err != nil {
		return Image{}, err
	}
	report := newReporter(title, progress)
	paths := map[v1.Hash]string{}
	for n := range i.layers {
		if !i.checked {
			// The digest only tells layers apart; that of the content is in the config.
			i.layers[n].Digest, err = v1.NewHash(diffIDs[n])
			if err != nil {
				return Image{}, err
			}
		}
		paths[i.layers[n].Digest] = i.paths[n]
	}
	from := func(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
		return openLayer(ctx, a, paths[d.Digest], d, i.checked, report.arrived)
	}
	if err := s.bring(ctx, record.Chain, diffIDs, i.layers, from, report); err != nil {
		return Image{}, fmt.Errorf("image %s: %w", title, err)
	}
	return s.keep(ctx, record, i.names, i.digests)
}

// openLayer opens the file of a layer at its beginning, after it was found to have its digest.
func openLayer(ctx context.Context, a archive, path string, d v1.Descriptor, check bool, arrived func(int64)) (io.ReadCloser, error) {
	f, size, err := a.open(path)
	if err != nil {
		return nil, err
	}
	if !check {
		arrived(size)
		return f, nil
	}
	defer f.Close()
	if size != d.Size {
		return nil, fmt.Errorf("%s has %d bytes and should have %d", printable(path), size, d.Size)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, counter(arrived)), &untilDone{ctx, f}); err != nil {
		return nil, err
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != d.Digest.String() {
		return nil, &corruptError{what: "file " + printable(path), want: d.Digest.String(), got: got}
	}
	again, _, err := a.open(path)
	return again, err
}

// counter is a writer that counts.
type counter func(int64)

func (c counter) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}

// listArchive finds the images in an archive. What newer versions of docker write is both; of the two ways to read it,
// docker's own names the images.
func (s *Store) listArchive(a archive) ([]archived, error) {
	data, err := readFile(a, "manifest.json")
	if err == nil {
		return s.listSaved(a, data)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if data, err = readFile(a, "index.json"); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it has neither a manifest.json, as what docker save writes, nor an index.json, as an OCI layout")
	}
	if err != nil {
		return nil, err
	}
	return s.listLayout(a, data)
}

// listSaved lists what docker saved.
func (s *Store) listSaved(a archive, data []byte) ([]archived, error) {
	var saved []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, fmt.Errorf("its manifest.json cannot be read: %w", err)
	}
	if len(saved) == 0 {
		return nil, errors.New("there is no image in it")
	}
	var list []archived
	for _, m := range saved {
		if n := len(m.Layers); n == 0 || n > maxLayers {
			return nil, fmt.Errorf("it has an image with %d layers, which should be at least one and at most %d", n, maxLayers)
		}
		config, err := readFile(a, m.Config)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(config)
		i := archived{config: config, id: "sha256:" + hex.EncodeToString(sum[:]), paths: m.Layers}
		if want := digestInPath(strings.TrimSuffix(m.Config, ".json")); want != "" && want != i.id {
			return nil, &corruptError{what: "file " + printable(m.Config), want: want, got: i.id}
		}
		for _, tag := range m.RepoTags {
			n, err := ParseName(tag)
			if err != nil {
				return nil, err
			}
			i.names = append(i.names, n.String())
		}
		i.checked = true
		for _, path := range m.Layers {
			f, size, err := a.open(path)
			if err != nil {
				return nil, err
			}
			f.Close()
			d := v1.Descriptor{Size: size, MediaType: types.OCILayer}
			if digest := digestInPath(path); digest != "" {
				d.Digest, _ = v1.NewHash(digest) // it is one
			} else {
				i.checked = false
			}
			i.layers = append(i.layers, d)
		}
		list = append(list, i)
	}
	return list, nil
}

// digestInPath is the digest that a path ends with, as blobs/sha256/… or as a name alone, or nothing.
func digestInPath(path string) string {
	hex := path[strings.LastIndexByte(path, '/')+1:]
	if d := "sha256:" + hex; isDigest(d) && (hex == path || path == "blobs/sha256/"+hex) {
		return d
	}
	return ""
}
