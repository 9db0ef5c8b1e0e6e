// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/carillon-dev/carillon/internal/image/unpack"
)

// testRegistry is a registry on this machine, with what a test does to its answers in front of it.
type testRegistry struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string // METHOD /path
	wrap     func(http.Handler) http.Handler
	inner    http.Handler
}

func (r *testRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	line := req.Method + " " + req.URL.Path
	if part := req.Header.Get("Range"); part != "" {
		line += " " + part
	}
	r.requests = append(r.requests, line)
	wrap := r.wrap
	r.mu.Unlock()
	h := r.inner
	if wrap != nil {
		h = wrap(h)
	}
	h.ServeHTTP(w, req)
}

// through puts something in front of the registry.
func (r *testRegistry) through(wrap func(http.Handler) http.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrap = wrap
}

// asked counts the requests so far that contain all texts, and forgets none.
func (r *testRegistry) asked(texts ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.requests {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			n++
		}
	}
	return n
}

func (r *testRegistry) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

func (r *testRegistry) host() string { return r.Listener.Addr().String() }

func newRegistryHandler() http.Handler {
	return registry.New(registry.Logger(log.New(io.Discard, "", 0)))
}

func newRegistry(t testing.TB) *testRegistry {
	r := &testRegistry{inner: newRegistryHandler()}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// put uploads under a path of the registry.
func (r *testRegistry) put(t testing.TB, method, path, mediaType string, data []byte) {
	t.Helper()
	req := httptest.NewRequest(method, path, bytes.NewReader(data))
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	w := httptest.NewRecorder()
	r.inner.ServeHTTP(w, req)
	if w.Code/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

func (r *testRegistry) putBlob(t testing.TB, repo string, data []byte) {
	t.Helper()
	r.put(t, http.MethodPost, "/v2/"+repo+"/blobs/uploads/?digest="+digestOf(data), "", data)
}

func (r *testRegistry) putManifest(t testing.TB, repo, target string, mediaType types.MediaType, data []byte) {
	t.Helper()
	r.put(t, http.MethodPut, "/v2/"+repo+"/manifests/"+target, string(mediaType), data)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func hashOf(data []byte) v1.Hash { return v1.Hash{Algorithm: "sha256", Hex: hexOf(digestOf(data))} }

// testLayer is a layer in the form in which a registry has it.
type testLayer struct {
	blob      []byte
	diffID    string
	mediaType types.MediaType
}

// files makes the content of a layer: names and contents by turns.
func files(t testing.TB, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		must(t, w.WriteHeader(&tar.Header{Name: entries[i], Mode: 0o644, Size: int64(len(entries[i+1])), Typeflag: tar.TypeReg}))
		_, err := io.WriteString(w, entries[i+1])
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func gzipped(t testing.TB, content []byte) testLayer {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(content)
	must(t, err)
	must(t, w.Close())
	return testLayer{b.Bytes(), digestOf(content), types.OCILayer}
}

func zstandard(t testing.TB, content []byte) testLayer {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	must(t, err)
	_, err = w.Write(content)
	must(t, err)
	must(t, w.Close())
	return testLayer{b.Bytes(), digestOf(content), types.OCILayerZStd}
}

func uncompressed(content []byte) testLayer {
	return testLayer{content, digestOf(content), types.OCIUncompressedLayer}
}

// noise is content that does not compress.
func noise(seed uint64, size int) string {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(b) // never fails
	return string(b)
}

// testImage is an image as a registry has it.
type testImage struct {
	layers   []testLayer
	config   []byte
	manifest []byte
}

func (i testImage) id() string { return digestOf(i.config) }

var here = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

func newImage(t testing.TB, p v1.Platform, layers ...testLayer) testImage {
	t.Helper()
	config := v1.ConfigFile{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{
		User: "1234:5", Env: []string{"A=b"}, Entrypoint: []string{"/entry"}, Cmd: []string{"arg"}, WorkingDir: "/w", StopSignal: "SIGINT",
		Labels: map[string]string{"l": "v"}, Volumes: map[string]struct{}{"/v": {}},
	}}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	for _, l := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, v1.Hash{Algorithm: "sha256", Hex: hexOf(l.diffID)})
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: l.mediaType, Size: int64(len(l.blob)), Digest: hashOf(l.blob)})
	}
	i := testImage{layers: layers}
	var err error
	i.config, err = json.Marshal(config)
	must(t, err)
	m.Config = v1.Descriptor{MediaType: types.OCIConfigJSON, Size: int64(len(i.config)), Digest: hashOf(i.config)}
	i.manifest, err = json.Marshal(m)
	must(t, err)
	return i
}

// push puts an image into the registry.
func (r *testRegistry) push(t testing.TB, repo, tag string, i testImage) {
	t.Helper()
	for _, l := range i.layers {
		r.putBlob(t, repo, l.blob)
	}
	r.putBlob(t, repo, i.config)
	r.putManifest(t, repo, tag, types.OCIManifestSchema1, i.manifest)
}

// name is the name of an image in the registry.
func (r *testRegistry) name(t testing.TB, rest string) Name {
	t.Helper()
	n, err := ParseName(r.host() + "/" + rest)
	must(t, err)
	return n
}

// plainApplier applies layers of plain files in the test's own process.
type plainApplier struct {
	flat    bool
	applied func() // called before each
}

func (a plainApplier) probe(context.Context, string) (unpack.Form, error) {
	return unpack.Form{Flat: a.flat}, nil
}
func (a plainApplier) remove(path string) error { return os.RemoveAll(path) }

func (a plainApplier) apply(ctx context.Context, r unpack.Request) (done unpack.Result, err error) {
	if a.applied != nil {
		a.applied()
	}
	blob := bufio.NewReader(r.Compressed)
	var content io.Reader = blob
	switch start, _ := blob.Peek(4); {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		if content, err = gzip.NewReader(blob); err != nil {
			return done, err
		}
	case bytes.HasPrefix(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(blob)
		if err != nil {
			return done, err
		}
		defer z.Close()
		content = z
	}
	sum := sha256.New()
	content = io.TeeReader(content, sum)
	for in := tar.NewReader(content); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return done, err
		}
		path := filepath.Join(r.Target, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return done, err
		}
		f, err := os.Create(path)
		if err != nil {
			return done, err
		}
		n, err := io.Copy(f, in)
		f.Close()
		if err != nil {
			return done, err
		}
		done.Size += n
		done.Entries++
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return done, err
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != r.DiffID {
		return done, fmt.Errorf("the content is %s and should be %s", got, r.DiffID)
	}
	return done, ctx.Err()
}

func testOptions(dir string) Options {
	return Options{
		Dir: dir, applier: plainApplier{}, backOff: func(int) time.Duration { return time.Millisecond },
	}
}

func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Log == nil {
		o.Log = func(text string) { t.Log(text) }
	}
	s, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// newStore is a store of plain layers in a directory of its own.
func newStore(t testing.TB) *Store {
	t.Helper()
	return open(t, testOptions(filepath.Join(private(t), "images")))
}

// private is a directory that only the test's user can change, as a store's parent has to be.
func private(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content reads a file of an image, through its layers.
func content(t testing.TB, s *Store, id, path string) string {
	t.Helper()
	u, err := s.Use(id)
	must(t, err)
	defer func() { _ = u.Close() }()
	for _, dir := range u.Layers {
		if data, err := os.ReadFile(filepath.Join(dir, path)); err == nil {
			return string(data)
		}
	}
	t.Fatalf("no %s in %v", path, u.Layers)
	return ""
}

// clean reports what a store has besides images and layers.
func clean(t testing.TB, s *Store) {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tmpPrefix) {
			t.Errorf("left %s", e.Name())
		}
	}
	for _, dir := range []string{"blobs"} {
		entries, err := os.ReadDir(filepath.Join(s.dir, dir))
		must(t, err)
		for _, e := range entries {
			t.Errorf("left %s/%s", dir, e.Name())
		}
	}
}
