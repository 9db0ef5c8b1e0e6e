// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/image"
)

// now is when the tests happen.
var now = time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)

// fakeStore is a store in memory.
type fakeStore struct {
	options image.Options
	images  []image.Image
	errs    map[string]error // of Pull and Remove, by name, and of ImportPath, by path
	pulled  []string
	unused  time.Duration
	closed  bool
}

var busybox = image.Image{
	ID:      "sha256:4f1c2a90be77" + strings.Repeat("0", 52),
	Names:   []string{"docker.io/library/busybox:latest", "quay.io/me/busybox:1"},
	Digests: []string{"docker.io/library/busybox@sha256:" + strings.Repeat("a", 64)},
	Config:  image.Config{Cmd: []string{"sh"}},
	Size:    4_500_000, Pulled: now.Add(-72 * time.Hour), LastUsed: now.Add(-time.Minute),
}

var nameless = image.Image{ID: "sha256:" + strings.Repeat("b", 64), Size: 10}

func (s *fakeStore) Pull(_ context.Context, name image.Name, _ image.Keychain, progress func(image.Progress)) (image.Image, error) {
	s.pulled = append(s.pulled, name.String())
	if progress != nil {
		progress(image.Progress{Image: name.Short(), Layers: 2, Bytes: 10})
	}
	if err := s.errs[name.Short()]; err != nil {
		return image.Image{}, err
	}
	if img, ok, _ := s.Find(name.String()); ok {
		return img, nil
	}
	img := image.Image{ID: "sha256:" + strings.Repeat("c", 64), Names: []string{name.String()}, Size: 1 << 30}
	s.images = append(s.images, img)
	return img, nil
}

func (s *fakeStore) Find(ref string) (image.Image, bool, error) {
	for _, img := range s.images {
		if slices.Contains(img.Names, ref) {
			return img, true, nil
		}
	}
	return image.Image{}, false, nil
}

func (s *fakeStore) List() ([]image.Image, error) { return s.images, nil }
func (s *fakeStore) Remove(ref string) error      { return s.errs[ref] }

func (s *fakeStore) Import(_ context.Context, r io.Reader, _ func(image.Progress)) ([]image.Image, error) {
	text, err := io.ReadAll(r)
	if string(text) != "archive" {
		return nil, fmt.Errorf("read %q, %w", text, err)
	}
	return s.images, nil
}

func (s *fakeStore) ImportPath(_ context.Context, path string, _ func(image.Progress)) ([]image.Image, error) {
	return s.images[:1], s.errs[path]
}

func (s *fakeStore) Prune(_ context.Context, unusedFor time.Duration, at time.Time) ([]image.Image, error) {
	if at != now {
		return nil, fmt.Errorf("pruned as of %s", at)
	}
	s.unused = unusedFor
	gone := s.images
	s.images = nil
	return gone, nil
}

func (s *fakeStore) Usage() (uint64, uint64, error) {
	return uint64(len(s.images)) * 1 << 20, 1, nil
}

func (s *fakeStore) Close() error { s.closed = true; return nil }

// did is what a command said and returned.
type did struct {
	out, err string
	failure  error
}

func (d did) usage() bool { return errors.As(d.failure, new(*UsageError)) }

// run runs a command on a store.
func run(t *testing.T, s *fakeStore, stdin string, args ...string) did {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := newCommand(&commands{
		Streams: Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs},
		open: func(_ context.Context, o image.Options) (store, error) {
			s.options = o
			return s, nil
		},
		now: func() time.Time { return now },
	})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err := cmd.ExecuteContext(t.Context())
	if s.options.Dir != "" && !s.closed {
		t.Error("the store was not closed")
	}
	return did{out.String(), errs.String(), err}
}

// Each image has a line in the end, what is wrong with one holds up no other, and nothing moves where nobody looks.
func TestPull(t *testing.T) {
	lookup := &image.PullError{Name: mustParse(t, "far.example/x"), Kind: image.ErrUnresolved, Err: errors.New("lookup far.example: no such host")}
	missing := &image.PullError{Name: mustParse(t, "nope"), Kind: image.ErrNotFound, Err: errors.New("index.docker.io does not have it")}
	s := &fakeStore{images: []image.Image{busybox}, errs: map[string]error{"far.example/x:latest": lookup, "nope:latest": missing}}
	got := run(t, s, "", "pull", "far.example/x", "busybox", "nope", "python:3.12", "--image-dir", "/x")
	if want := "busybox:latest  up to date  4.3 MiB  4f1c2a90be77\npython:3.12  pulled in 0s  1.0 GiB  cccccccccccc\n"; got.out != want || got.err != "" {
		t.Errorf("said %q and %q, want %q", got.out, got.err, want)
	}
	want := "image far.example/x:latest cannot be pulled: lookup far.example: no such host. Is there a network, and is the registry's name right? Without a network an image comes from a file: carillon image import FILE\n" +
		"image nope:latest cannot be pulled: index.docker.io does not have it. Is the name right, and the tag?"
	if got.failure == nil || got.failure.Error() != want || !errors.Is(got.failure, image.ErrUnresolved) || got.usage() {
		t.Errorf("failed with %v, want %s", got.failure, want)
	}
}

func mustParse(t *testing.T, text string) image.Name {
	t.Helper()
	name, err := image.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// What is no name of an image is the user's mistake, and nothing is pulled then.
func TestPullOfNoImage(t *testing.T) {
	for _, text := range []string{"host", "none", "A B", "http://x/y", ""} {
		s := &fakeStore{}
		if got := run(t, s, "", "pull", "busybox", text); !got.usage() || len(s.pulled) > 0 {
			t.Errorf("%q: %v, pulled %q", text, got.failure, s.pulled)
		}
	}
}

// The flags reach the store.
func TestFlags(t *testing.T) {
	s := &fakeStore{}
	got := run(t, s, "", "pull", "a", "--image-dir", "/store", "--image-cache-size", "1Gi", "--registry-mirror", "https://m.example", "--registry-mirror", "quay.io=http://localhost:5000/x", "--registry-mirror", "https://n.example")
	if got.failure != nil {
		t.Fatal(got.failure)
	}
	if o := s.options; o.Dir != "/store" || o.CacheBytes != 1<<30 || !slices.Equal(o.Mirrors["docker.io"], []string{"https://m.example", "https://n.example"}) || len(o.Mirrors["quay.io"]) != 1 {
		t.Errorf("options %+v", o)
	}
	for _, args := range [][]string{
		{"--image-cache-size", "-2"}, {"--image-cache-size", "much"}, {"--registry-mirror", "m.example"}, {"--registry-mirror", "a b=https://m"}, {"-o", "xml"},
	} {
		if got := run(t, &fakeStore{}, "", append([]string{"pull", "a"}, args...)...); got.failure == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// The bound of the store is a quantity, and 0 is none of its defaults.
func TestCacheSize(t *testing.T) {
	for text, want := range map[string]struct {
		bytes int64
		text  string
	}{"20Gi": {20 << 30, "20Gi"}, "1500": {1500, "1500"}, "0": {1, "0"}, "-1": {-1, "-1"}, "1e9": {1e9, "1000000000"}} {
		var s CacheSize
		if err := s.Set(text); err != nil || s.Bytes() != want.bytes || s.String() != want.text {
			t.Errorf("%s: %v, %d, %s", text, err, s.Bytes(), s.String())
		}
	}
}

// A person reads a table, with a line for each name; a program reads an object a line.
func TestList(t *testing.T) {
	s := &fakeStore{images: []image.Image{busybox, nameless}}
	want := `NAME                ID             SIZE      PULLED     LAST USED
busybox:latest      4f1c2a90be77   4.3 MiB   3d0h ago   1m ago
quay.io/me/busybox:1   4f1c2a90be77   4.3 MiB   3d0h ago   1m ago
bbbbbbbbbbbb           bbbbbbbbbbbb   10 B      never      never
`
	got := run(t, s, "", "list")
	if strings.Join(strings.Fields(got.out), " ") != strings.Join(strings.Fields(want), " ") || got.failure != nil {
		t.Errorf("said\n%s, %v", got.out, got.failure)
	}
	if got := run(t, s, "", "ls", "-q"); got.out != busybox.ID+"\n"+nameless.ID+"\n" {
		t.Errorf("-q: %q", got.out)
	}
	if got := run(t, &fakeStore{}, "", "list"); got.out != "" || !strings.Contains(got.err, "no images are here") {
		t.Errorf("of nothing: %+v", got)
	}
	lines := strings.Split(strings.TrimSpace(run(t, s, "", "list", "-o", "json").out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	var doc document
	if err := json.Unmarshal([]byte(lines[0]), &doc); err != nil || doc.ID != busybox.ID || !slices.Equal(doc.Names, busybox.Names) || doc.Config.Cmd[0] != "sh" || !doc.LastUsed.Equal(busybox.LastUsed) {
		t.Errorf("%+v, %v", doc, err)
	}
	if !strings.Contains(lines[1], `"names":[],"digests":[]`) {
		t.Errorf("an image without names: %s", lines[1])
	}
}

// Files and standard input are read; a terminal is none.
func TestImport(t *testing.T) {
	s := &fakeStore{images: []image.Image{busybox}, errs: map[string]error{"broken.tar": errors.New("broken.tar: unexpected EOF")}}
	line := "busybox:latest  imported in 0s  4.3 MiB  4f1c2a90be77\n"
	if got := run(t, s, "archive", "import", "-", "x.tar"); got.failure != nil || got.out != line+line {
		t.Errorf("%+v", got)
	}
	if got := run(t, s, "", "import", "broken.tar", "-q"); got.failure == nil || got.failure.Error() != "broken.tar: unexpected EOF" || got.out != "" {
		t.Errorf("%+v", got)
	}
	if got := run(t, s, "", "import", "-", "-"); !got.usage() {
		t.Errorf("twice: %v", got.failure)
	}
}

// What is in use, or not here, is told, and the rest is removed.
func TestRemove(t *testing.T) {
	s := &fakeStore{errs: map[string]error{"used": &image.InUseError{Image: busybox}, "gone": &image.NotFoundError{Ref: "gone"}}}
	got := run(t, s, "", "rm", "used", "gone", "busybox")
	want := "image busybox:latest is in use by a container: stop it first\nthere is no image gone here: carillon image list shows those that are"
	if got.failure == nil || got.failure.Error() != want || got.out != "busybox  removed\n" || got.usage() {
		t.Errorf("%+v", got)
	}
	if got := run(t, &fakeStore{}, "", "rm", "a", "-o", "json"); got.out != "{\"removed\":\"a\"}\n" {
		t.Errorf("%+v", got)
	}
}

// Two weeks unless another time is named.
func TestPrune(t *testing.T) {
	for args, want := range map[string]time.Duration{"": 336 * time.Hour, "--unused-for 24h": 24 * time.Hour, "--all": 0} {
		s := &fakeStore{images: []image.Image{busybox, nameless}}
		got := run(t, s, "", append([]string{"prune"}, strings.Fields(args)...)...)
		if s.unused != want || got.failure != nil || !strings.HasSuffix(got.out, "removed  10 B  bbbbbbbbbbbb\n2 images removed, 2.0 MiB freed, 0 B in use\n") {
			t.Errorf("%q: %s, %+v", args, s.unused, got)
		}
	}
	for _, args := range [][]string{{"--all", "--unused-for", "1h"}, {"--unused-for=-1h"}} {
		if got := run(t, &fakeStore{}, "", append([]string{"prune"}, args...)...); !got.usage() {
			t.Errorf("%q: %v", args, got.failure)
		}
	}
}

// Names that are here are offered, but for those that stand there already; a store that is not there is not made.
func TestComplete(t *testing.T) {
	s := &fakeStore{images: []image.Image{busybox, nameless}}
	dir := t.TempDir()
	for args, want := range map[string]string{
		"rm --image-dir " + dir + " b":                "busybox:latest\nbbbbbbbbbbbb\n:4\n",
		"rm --image-dir " + dir + " busybox:latest q": "quay.io/me/busybox:1\n:4\n",
		"rm --image-dir " + dir + "/none b":           ":4\n",
		"pull --image-dir " + dir + " quay":           "quay.io/me/busybox:1\n:4\n",
	} {
		got := run(t, s, "", append([]string{cobra.ShellCompRequestCmd}, strings.Fields(args)...)...)
		if got.out != want {
			t.Errorf("%s: %q, want %q", args, got.out, want)
		}
	}
	if _, err := os.Stat(dir + "/none"); err == nil {
		t.Error("completion made a store")
	}
}

// An interrupted command does not go on with the next image.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var did []string
	err := each(ctx, []string{"a", "b"}, func(ref string) error {
		did = append(did, ref)
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(did) != 1 {
		t.Errorf("did %q, %v", did, err)
	}
}
