// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"debug/elf"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Who may pull from repositories below private/.
const (
	registryUser     = "puller"
	registryPassword = "pa:ss word"
)

// imageServer is a registry without TLS on the loopback interface.
type imageServer struct {
	server *httptest.Server
	base   v1.Layer // the files of all images with the program
}

// files is what a layer has, by path: a directory when it ends in "/", another name of a file when the content begins
// with "-> ". What is in sbin runs as its owner, user 0, whoever starts it.
type files map[string]string

// probeFiles are the files of the images that run, beside the program.
var probeFiles = files{
	"bin/": "", "etc/": "", "tmp/": "", "data/": "", "root/": "", "home/app/": "",
	"data/file":  "from the image\n",
	"etc/passwd": "root:x:0:0:root:/root:/bin/probe\napp:x:1234:2345:an application:/home/app:/bin/probe\nnobody:x:65534:65534::/nonexistent:/bin/probe\n",
	"etc/group":  "root:x:0:\napp:x:2345:\nextra:x:777:root,app\n",
}

// probeImages are the images that run, by the last part of their names.
var probeImages = map[string]v1.Config{
	"probe":             {Entrypoint: []string{probePath}, Cmd: []string{"args", "echo:of the image"}, Env: []string{"FROM_IMAGE=image", "BOTH=image"}, WorkingDir: "/data"},
	"user-number":       {Entrypoint: []string{probePath}, User: "1234"},
	"user-unknown":      {Entrypoint: []string{probePath}, User: "4321"},
	"user-name":         {Entrypoint: []string{probePath}, User: "app"},
	"user-number-group": {Entrypoint: []string{probePath}, User: "1234:777"},
	"user-name-group":   {Entrypoint: []string{probePath}, User: "app:extra"},
	"stop-signal":       {Entrypoint: []string{probePath}, StopSignal: "SIGUSR1"},
	"only-command":      {Cmd: []string{probePath, "echo:command"}},
	"nothing-to-run":    {},
	"pause":             {Entrypoint: []string{probePath, "wait"}},
}

// serveImages starts the registry with the images that run.
func serveImages(t *testing.T, address string) *imageServer {
	t.Helper()
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.NewFile(bytes.NewReader(exe))
	if err != nil || slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Skipf("the program of the images needs files of the machine: build this test with CGO_ENABLED=0 (%v)", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := &imageServer{server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, password, _ := req.BasicAuth()
		// The first path is what clients ask to find out whether somebody has to log in at all.
		closed := req.URL.Path == "/v2/" || strings.HasPrefix(req.URL.Path, "/v2/private/")
		if closed && (user != registryUser || password != registryPassword) {
			w.Header().Set("WWW-Authenticate", `Basic realm="specs"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, req)
	}))}
	s.server.Listener.Close()
	s.server.Listener = listener
	s.server.Start()
	t.Cleanup(s.server.Close)
	withProgram := maps.Clone(probeFiles)
	withProgram["bin/probe"] = string(exe)
	s.base = newLayer(t, withProgram)
	for repository, config := range probeImages {
		s.push(t, "specs/"+repository+":1", newImage(t, config, s.base))
	}
	return s
}

func (s *imageServer) host() string { return s.server.Listener.Addr().String() }

// name is the whole name of one of the images that run.
func (s *imageServer) name(image string) string { return s.host() + "/specs/" + image + ":1" }

// push makes an image or an index pullable and returns its whole name.
func (s *imageServer) push(t testing.TB, repository string, what remote.Taggable) string {
	t.Helper()
	ref, err := name.ParseReference(s.host() + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	login := remote.WithAuth(&authn.Basic{Username: registryUser, Password: registryPassword})
	switch what := what.(type) {
	case v1.Image:
		err = remote.Write(ref, what, login)
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, what, login)
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

// newLayer archives files.
func newLayer(t testing.TB, f files) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	// Names of files come behind the files.
	isLink := func(path string) int {
		if strings.HasPrefix(f[path], "-> ") {
			return 1
		}
		return 0
	}
	paths := slices.SortedFunc(maps.Keys(f), func(a, b string) int { return cmp.Or(isLink(a)-isLink(b), strings.Compare(a, b)) })
	for _, path := range paths {
		h := &tar.Header{Name: path, Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(f[path]))}
		switch to, link := strings.CutPrefix(f[path], "-> "); {
		case link:
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, to, 0
		case path == "tmp/":
			h.Typeflag, h.Mode = tar.TypeDir, 0o1777
		case strings.HasSuffix(path, "/"):
			h.Typeflag = tar.TypeDir
		case strings.HasPrefix(path, "sbin/"):
			h.Mode = 0o4755
		case !strings.HasPrefix(path, "bin/"):
			h.Mode = 0o644
		}
		err := w.WriteHeader(h)
		if err == nil && h.Size > 0 {
			_, err = io.WriteString(w, f[path])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	l, err := tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newImage is an image for this machine.
func newImage(t testing.TB, config v1.Config, layers ...v1.Layer) v1.Image {
	t.Helper()
	return newImageFor(t, runtime.GOARCH, config, layers...)
}

func newImageFor(t testing.TB, arch string, config v1.Config, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err == nil {
		img, err = mutate.Config(img, config)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", arch
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return img
}

// smallImage is one that nobody else has, and that does not run.
func smallImage(t testing.TB, config v1.Config) v1.Image {
	t.Helper()
	return newImage(t, config, newLayer(t, files{"file": unique("content")}))
}

func digestOf(t testing.TB, img interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// pulledImages are the images that run, pulled when the first check asks for them.
type pulledImages struct {
	mu   sync.Mutex
	refs map[string]string // by whole name
}

func (p *pulledImages) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.refs))
}

// pullOnce pulls one of the images that run, and returns how the runtime refers to it.
func (c *check) pullOnce(image string) string {
	c.Helper()
	c.pulled.mu.Lock()
	defer c.pulled.mu.Unlock()
	full := c.registry.name(image)
	if ref, ok := c.pulled.refs[full]; ok {
		return ref
	}
	resp, err := c.images.PullImage(c.ctx(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: full}})
	c.must(err)
	if c.pulled.refs == nil {
		c.pulled.refs = map[string]string{}
	}
	c.pulled.refs[full] = resp.ImageRef
	return resp.ImageRef
}
