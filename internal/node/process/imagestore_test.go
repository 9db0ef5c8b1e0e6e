// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// archive is a layer; content by path, directories end in "/", links have
// content that begins with "-> ".
func archive(t *testing.T, f files, more ...*tar.Header) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	write := func(h *tar.Header, content string) {
		h.Size = int64(len(content))
		err := w.WriteHeader(h)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range f {
		h := &tar.Header{Name: path, Mode: 0o755, Typeflag: tar.TypeReg}
		if to, link := strings.CutPrefix(content, "-> "); link {
			h.Typeflag, h.Linkname, content = tar.TypeSymlink, to, ""
		} else if strings.HasSuffix(path, "/") {
			h.Typeflag = tar.TypeDir
		}
		write(h, content)
	}
	for _, h := range more {
		write(h, "")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// program is this test binary as the content of a file.
func program(t *testing.T) string {
	t.Helper()
	probeLayer(t) // skips when it could not run in an image
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// push puts an image into a registry of the test's own and returns its name.
func push(t *testing.T, config v1.Config, layers ...v1.Layer) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
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
	file.OS, file.Architecture = "linux", runtime.GOARCH
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimPrefix(server.URL, "http://") + "/team/app:v1"
	ref, err := name.ParseReference(text)
	if err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// storeRig is a rig whose images are in a store like the product's.
func storeRig(t *testing.T) (*rig, *image.Store) {
	t.Helper()
	g := stoppedRig(t)
	dir := filepath.Join(t.TempDir(), "images")
	store, err := image.Open(t.Context(), image.Options{Dir: dir})
	if err != nil {
		t.Skipf("no images here: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), privatedir.RemoveTree(dir)); err != nil {
			t.Error(err)
		}
	})
	g.opts.Images, g.opts.LocalFiles = store, false
	return g, store
}

// From a registry to the output: an image with layers that hide, replace and
// link files of each other is pulled, run by its own user, and removed.
func TestImageFromRegistry(t *testing.T) {
	g, store := storeRig(t)
	text := push(t, v1.Config{Entrypoint: []string{"probe"}, Cmd: []string{"id"}, User: "app", Env: []string{"A=b"}, WorkingDir: "/made"},
		archive(t, files{"bin/": "", "bin/probe": program(t), "etc/": "", "etc/passwd": "app:x:1234:2345::/home/app:/\n", "gone": "x", "dev": "-> /etc", "opaque/": "", "opaque/old": "old", "lib": "-> usr/lib", "usr/lib/": ""}),
		archive(t, files{".wh.gone": "", "opaque/": "", "opaque/.wh..wh..opq": "", "opaque/new": "new", "lib/added": "through a link"},
			&tar.Header{Name: "opaque/probe", Linkname: "bin/probe", Typeflag: tar.TypeLink}),
		archive(t, files{".wh.dev": ""}),
	)
	g.start()
	if !g.run.view.images {
		t.Skipf("no roots here: %v", g.run.view.warnings)
	}
	id, err := g.pull(&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: text}})
	if err != nil {
		t.Fatal(err)
	}
	if st := g.imageStatus(&runtimeapi.ImageSpec{Image: text}); st.GetId() != id || st.GetUsername() != "app" || st.GetSize() < 1<<20 {
		t.Errorf("%v", st)
	}
	config := probeContainer(id)
	config.Image.UserSpecifiedImage = text
	lines(t, g.runProbe("own", config), "1234 2345 []")
	config = probeContainer(text, "ls:/", "ls:/opaque", "cat:/usr/lib/added", "env:A", "pwd")
	lines(t, g.runProbe("args", config), "[bin dev etc lib made opaque proc sys usr]", "[new probe]", "through a link", "b", "/made")
	config.Command, config.Args = []string{"/opaque/probe", "env:HOME"}, nil
	lines(t, g.runProbe("command", config), "/home/app")
	if _, err := g.img.RemoveImage(g.ctx(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}}); err != nil {
		t.Fatal(err)
	}
	if list, err := store.List(); err != nil || len(list) > 0 {
		t.Errorf("left: %v %v", list, err)
	}
}

// The server is killed while a container of an image runs. Nobody can remove
// the image, the next server finds the container, and its end frees the image.
func TestImageServerKilled(t *testing.T) {
	g, store := storeRig(t)
	text := push(t, v1.Config{Entrypoint: []string{"/bin/probe", "id", "wait"}}, archive(t, files{"bin/": "", "bin/probe": program(t)}))
	parsed, err := image.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	img, err := store.Pull(t.Context(), parsed, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := g.serve(envImages + "=" + store.Dir())
	sb := g.sandbox("p", "")
	running := g.begin(sb, probeContainer(text))
	created := g.create(sb, named("created", probeContainer(text)))
	until(t, "it waits", func() bool { return strings.HasSuffix(g.output(running, "stdout"), "waiting\n") })
	server.kill()
	g.conn.Close()
	if err := store.Remove(img.ID); !errors.Is(err, image.ErrInUse) {
		t.Errorf("removed while its container runs: %v", err)
	}
	g.start()
	st := g.status(running)
	if st.State != runtimeapi.ContainerState_CONTAINER_RUNNING || st.ImageId != img.ID || st.ImageRef != img.Digests[0] || st.Image.Image != text {
		t.Errorf("found again: %v", st)
	}
	if _, err := g.rt.ContainerStatus(g.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: created}); err == nil {
		t.Error("what was not started is still there")
	}
	if out := string(g.exec(running, "/bin/probe", "echo:still").Stdout); out != "still\n" {
		t.Errorf("exec: %q", out)
	}
	g.stop(running, 600)
	if st := g.wait(running); st.ExitCode != 9 {
		t.Errorf("%v", st)
	}
	until(t, "the image can be removed", func() bool { return store.Remove(img.ID) == nil })
	if got := fmt.Sprint(unix.SIGTERM); !strings.HasSuffix(g.output(running, "stdout"), got+"\n") {
		t.Errorf("ended by %q", g.output(running, "stdout"))
	}
}
