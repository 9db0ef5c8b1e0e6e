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
// be zipped with gzip or zstd. Those for other machines are left out, as long as there is one for this. Images that were
// imported before an error stay. An *ImportError says what is wrong.
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
