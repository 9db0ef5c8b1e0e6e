// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Who may pull from private/ of the registry. Nobody may from closed/.
const (
	registryUser     = "puller"
	registryPassword = "pa:ss word"
)

// imageRegistry is a registry of the test's own, without TLS on loopback.
type imageRegistry struct {
	*httptest.Server
	inner http.Handler

	mu   sync.Mutex
	seen []string // METHOD /path range
	gate *gate
}

// gate holds up downloads of a blob in the middle, for whoever comes while it is closed.
type gate struct {
	digest string
	hit    chan struct{} // gets one for each download that is held up
	open   chan struct{} // closed when all may go on
}

func newImageRegistry(t *testing.T) *imageRegistry {
	t.Helper()
	r := &imageRegistry{inner: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *imageRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, strings.TrimSpace(req.Method+" "+req.URL.Path+" "+req.Header.Get("Range")))
	g := r.gate
	r.mu.Unlock()
	user, password, _ := req.BasicAuth()
	switch known := user == registryUser && password == registryPassword; {
	case (strings.HasPrefix(req.URL.Path, "/v2/private/") || req.URL.Path == "/v2/") && !known:
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
		return
	case strings.HasPrefix(req.URL.Path, "/v2/closed/"):
		http.Error(w, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`, http.StatusForbidden)
		return
	}
	if g != nil && req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, g.digest) {
		w = &heldUp{ResponseWriter: w, gate: g, gone: req.Context().Done()}
	}
	r.inner.ServeHTTP(w, req)
}

// heldUp is an answer that stops after a part of it until the gate is open or nobody waits for it any more.
type heldUp struct {
	http.ResponseWriter
	gate *gate
	gone <-chan struct{}
	told bool
}

func (w *heldUp) Write(b []byte) (int, error) {
	n := len(b)
	if !w.told {
		n /= 2
	}
	done, err := w.ResponseWriter.Write(b[:n])
	if w.told || err != nil {
		return done, err
	}
	w.told = true
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	select {
	case w.gate.hit <- struct{}{}:
	default:
	}
	select {
	case <-w.gate.open:
	case <-w.gone:
		return done, io.ErrClosedPipe
	}
	rest, err := w.ResponseWriter.Write(b[n:])
	return done + rest, err
}

// holdUp stops downloads of the image's topmost layer half way.
func (r *imageRegistry) holdUp(t *testing.T, img v1.Image) *gate {
	t.Helper()
	layers, err := img.Layers()
	must(t, err)
	digest, err := layers[len(layers)-1].Digest()
	must(t, err)
	g := &gate{digest: digest.String(), hit: make(chan struct{}, 1), open: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = g
	return g
}

// asked counts the requests that have all these parts.
func (r *imageRegistry) asked(parts ...string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.seen {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	return n
}

func (r *imageRegistry) host() string { return r.Listener.Addr().String() }

// push makes the image pullable by a name, and returns the whole name.
func (r *imageRegistry) push(t *testing.T, ref string, img v1.Image) string {
	t.Helper()
	ref = r.host() + "/" + ref
	tag, err := name.NewTag(ref)
	must(t, err)
	// Past what the registry asks of others.
	must(t, remote.Write(tag, img, remote.WithTransport(direct{r.inner})))
	return ref
}

// direct reaches a handler without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// pullSecret is a Secret with what the registry wants, as "kubectl create secret docker-registry" makes it.
func (r *imageRegistry) pullSecret(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\ntype: kubernetes.io/dockerconfigjson\nstringData:\n  .dockerconfigjson: '%s'\n---\n", name, r.dockerConfig())
}

func (r *imageRegistry) dockerConfig() string {
	auth := base64.StdEncoding.EncodeToString([]byte(registryUser + ":" + registryPassword))
	return fmt.Sprintf(`{"auths":{"%s":{"auth":"%s"}}}`, r.host(), auth)
}

// files are what a layer holds, by path: a directory when the path ends in "/", a link when the text begins with "-> ".
type files map[string]string

// newImage makes an image with the program probe, and files on top of it.
func newImage(t *testing.T, config v1.Config, on ...files) v1.Image {
	t.Helper()
	program, err := os.ReadFile(probeProgram(t))
	must(t, err)
	layers := []v1.Layer{newLayer(t, 0o755, files{"bin/": "", "bin/probe": string(program)})}
	for _, f := range on {
		layers = append(layers, newLayer(t, 0o644, f))
	}
	return imageOf(t, config, layers...)
}

// newProgramImage makes an image of programs.
func newProgramImage(t *testing.T, config v1.Config, programs files) v1.Image {
	t.Helper()
	return imageOf(t, config, newLayer(t, 0o755, programs))
}

func imageOf(t *testing.T, config v1.Config, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	must(t, err)
	file, err := img.ConfigFile()
	must(t, err)
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	img, err = mutate.ConfigFile(img, file)
	must(t, err)
	return img
}

func newLayer(t *testing.T, mode int64, f files) v1.Layer {
	t.Helper()
	var paths []string
	for path := range f {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, path := range paths {
		h := tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(f[path]))}
		if to, ok := strings.CutPrefix(f[path], "-> "); ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, to, 0
		} else if strings.HasSuffix(path, "/") {
			h.Typeflag, h.Mode, h.Size = tar.TypeDir, 0o755, 0
		}
		must(t, w.WriteHeader(&h))
		if h.Size > 0 {
			_, err := io.WriteString(w, f[path])
			must(t, err)
		}
	}
	must(t, w.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
	must(t, err)
	return layer
}

// noise is text that does not get smaller.
func noise(size int) string {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return string(b)
}

// users are the files that give users of an image their names.
var users = files{
	"etc/passwd": "root:x:0:0:root:/root:/bin/sh\napp:x:1234:2345::/home/app:/bin/sh\n",
	"etc/group":  "root:x:0:\napp:x:2345:\n",
}

// probeBuilt is the path of the program of the images.
var probeBuilt = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(carillon), "probe")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // nothing of the machine is in the image
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func probeProgram(t *testing.T) string {
	t.Helper()
	path, err := probeBuilt()
	must(t, err)
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
