// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bufio"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
)

// probeName is what this test binary is called in the images of tests: there it
// is the only program, and prints what it is asked for.
const probeName = "probe"

func init() {
	if filepath.Base(os.Args[0]) == probeName {
		probe(os.Args[1:])
		os.Exit(0)
	}
}

func probe(args []string) {
	for _, arg := range args {
		verb, value, _ := strings.Cut(arg, ":")
		var out any
		var err error
		switch verb {
		case "echo":
			out = value
		case "id":
			groups, _ := os.Getgroups()
			slices.Sort(groups)
			// The user's group is one of them where groups can be set; 65534 stands for groups of the machine's user.
			groups = slices.DeleteFunc(groups, func(g int) bool { return g == os.Getgid() || g == 65534 })
			out = fmt.Sprintf("%d %d %v", os.Getuid(), os.Getgid(), groups)
		case "env":
			out = os.Getenv(value)
		case "pwd":
			out, err = os.Getwd()
		case "hostname":
			out, err = os.Hostname()
		case "pid":
			out = os.Getpid()
		case "cat":
			var b []byte
			b, err = os.ReadFile(value)
			out = strings.TrimSpace(string(b))
		case "link":
			out, err = os.Readlink(value)
		case "ls":
			var list []os.DirEntry
			list, err = os.ReadDir(value)
			var names []string
			for _, e := range list {
				names = append(names, e.Name())
			}
			out = names
		case "write":
			err = os.WriteFile(value, []byte("written\n"), 0o644)
			out = "wrote " + value
		case "append":
			var f *os.File
			if f, err = os.OpenFile(value, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
				_, err = f.WriteString("run\n")
			}
		case "exit":
			code, _ := strconv.Atoi(value)
			os.Exit(code)
		case "chown":
			err = os.Chown(value, 4, 4)
			out = "chowned"
		case "become":
			err = errors.Join(unix.Setgroups([]int{4}), unix.Setresgid(4, 4, 4), unix.Setresuid(4, 4, 4))
			out = fmt.Sprint("became ", os.Getuid())
		case "status":
			out = statusLine(value)
		case "owner":
			var st unix.Stat_t
			err = unix.Lstat(value, &st)
			out = fmt.Sprintf("%d %d %o", st.Uid, st.Gid, st.Mode&0o7777)
		case "wait":
			ch := make(chan os.Signal, 1)
			signal.Notify(ch, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR1)
			fmt.Println("waiting")
			fmt.Println(<-ch)
			os.Exit(9)
		}
		if err != nil {
			out = err
		}
		fmt.Println(out)
	}
}

func statusLine(name string) string {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "none"
}

// files is what a layer holds, by path: a directory when it ends in "/", a link
// when it begins with "-> ".
type files map[string]string

// layer makes the directory of a layer.
func layer(t testing.TB, f files) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range f {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if to, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(to, path)
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// probeLayer is the layer with the program.
func probeLayer(t testing.TB) string {
	t.Helper()
	dir := layer(t, files{"bin/": ""})
	const self = "/proc/self/exe" // its directory may be closed to us
	if f, err := elf.Open(self); err != nil || slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Skipf("this test binary needs files of the machine, build it with CGO_ENABLED=0: %v", err)
	}
	if exe, err := os.Executable(); err == nil && os.Link(exe, filepath.Join(dir, "bin", probeName)) == nil {
		return dir
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "bin", probeName), os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// fakeImages are images without registry and store.
type fakeImages struct {
	dir  string
	flat bool // each image is one directory, as where there are no overlays

	mu     sync.Mutex
	images map[string]fakeImage // by full name
	pulls  []image.Keychain
	fail   error // of pulls

	held chan struct{} // gets one when an image is not removed because somebody holds it; nil when nobody listens
}

type fakeImage struct {
	image.Image
	layers []string
	remote bool // not pulled yet
}

// imageRig is a rig with images. Its names that stand for the machine's files
// are those of the product.
func imageRig(t *testing.T) (*rig, *fakeImages) {
	t.Helper()
	f := &fakeImages{dir: t.TempDir(), images: map[string]fakeImage{}}
	g := stoppedRig(t)
	g.opts.Images, g.opts.LocalFiles = f, false
	g.start()
	if !g.run.view.images {
		t.Skipf("no roots here: %v", g.run.view.warnings)
	}
	f.flat = os.Getenv(envCopies) != ""
	return g, f
}

// add makes an image that is here. layers are the topmost first.
func (f *fakeImages) add(t testing.TB, name string, config image.Config, layers ...string) image.Image {
	t.Helper()
	n, err := image.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	id := imageID("id of " + name)
	img := image.Image{
		ID: id, Names: []string{n.String()}, Digests: []string{n.Repository() + "@" + imageID("digest of "+name)}, Config: config,
		Size: 12345, Pulled: time.Unix(1700000000, 0),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flat {
		layers = []string{flatten(t, layers)}
	}
	f.images[n.String()] = fakeImage{Image: img, layers: layers}
	return img
}

func (f *fakeImages) Dir() string { return f.dir }

func (f *fakeImages) Usage() (bytes, inodes uint64, err error) { return 4711, 42, nil }

func (f *fakeImages) Find(ref string) (image.Image, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := image.ParseName(ref)
	for name, img := range f.images {
		if !img.remote && (img.ID == ref || err == nil && name == n.String() || slices.Contains(img.Digests, ref)) {
			return img.Image, true, nil
		}
	}
	return image.Image{}, false, nil
}

func (f *fakeImages) List() ([]image.Image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []image.Image
	for _, img := range f.images {
		if !img.remote {
			list = append(list, img.Image)
		}
	}
	return list, nil
}

func (f *fakeImages) Pull(_ context.Context, name image.Name, auth image.Keychain, _ func(image.Progress)) (image.Image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pulls = append(f.pulls, auth)
	if f.fail != nil {
		return image.Image{}, f.fail
	}
	img, ok := f.images[name.String()]
	if !ok {
		return image.Image{}, &image.PullError{Name: name, Kind: image.ErrNotFound, Err: fmt.Errorf("not there")}
	}
	img.remote = false
	f.images[name.String()] = img
	return img.Image, nil
}

func (f *fakeImages) lockFile(id string) string {
	return filepath.Join(f.dir, strings.TrimPrefix(id, "sha256:"))
}

func (f *fakeImages) Remove(ref string) error {
	img, ok, _ := f.Find(ref)
	if !ok {
		return &image.NotFoundError{Ref: ref}
	}
	file, err := os.OpenFile(f.lockFile(img.ID), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		if f.held != nil {
			f.held <- struct{}{}
		}
		return &image.InUseError{Image: img}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.images, img.Names[0])
	return nil
}

func (f *fakeImages) Use(id string) (*image.Use, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, img := range f.images {
		if img.ID != id || img.remote {
			continue
		}
		file, err := os.OpenFile(f.lockFile(id), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		return &image.Use{Image: img.Image, File: file, Layers: img.layers}, unix.Flock(int(file.Fd()), unix.LOCK_SH)
	}
	return nil, &image.NotFoundError{Ref: id}
}

// container is a container of an image, with the arguments of the probe.
func probeContainer(name string, args ...string) *runtimeapi.ContainerConfig {
	c := shell("")
	c.Image, c.Command, c.Args = &runtimeapi.ImageSpec{Image: name}, nil, args
	return c
}

// runProbe runs one to its end and returns its lines.
func (g *rig) runProbe(pod string, c *runtimeapi.ContainerConfig) []string {
	g.t.Helper()
	id := g.begin(g.sandbox(pod, ""), c)
	if st := g.wait(id); st.ExitCode != 0 {
		g.t.Fatalf("%v; it said %q", st, g.output(id, "stderr"))
	}
	return strings.Split(strings.TrimSuffix(g.output(id, "stdout"), "\n"), "\n")
}
