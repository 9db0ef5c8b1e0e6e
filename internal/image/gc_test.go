// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// gcRig is a store whose clock the test sets, with images that share a layer of 1000 bytes and have one of 1000 each.
type gcRig struct {
	*Store
	t   *testing.T
	reg *testRegistry
	at  time.Time
	ids map[string]string
}

func newGCRig(t *testing.T, cache int64) *gcRig {
	g := &gcRig{t: t, reg: newRegistry(t), at: time.Now().Truncate(time.Second), ids: map[string]string{}}
	o := testOptions(filepath.Join(private(t), "images"))
	o.CacheBytes, o.now = cache, func() time.Time { return g.at }
	g.Store = open(t, o)
	return g
}

// pull pulls an image an hour after the last thing that happened.
func (g *gcRig) pull(name string) Image {
	g.t.Helper()
	g.at = g.at.Add(time.Hour)
	g.reg.push(g.t, name, "latest", newImage(g.t, here, gzipped(g.t, files(g.t, "base", noise(0, 1000))), gzipped(g.t, files(g.t, "own", noise(uint64(name[0]), 1000)))))
	img, err := g.Pull(g.t.Context(), g.reg.name(g.t, name), nil, nil)
	must(g.t, err)
	must(g.t, os.Chtimes(filepath.Join(g.images.Path(), hexOf(img.ID)+".json"), time.Time{}, g.at))
	g.ids[img.ID] = name
	return img
}

func (g *gcRig) use(img Image) *Use {
	g.t.Helper()
	g.at = g.at.Add(time.Hour)
	u, err := g.Use(img.ID)
	must(g.t, err)
	g.t.Cleanup(func() { _ = u.Close() })
	return u
}

// here lists the images by name, and checks that the layers are just theirs.
func (g *gcRig) here() string {
	g.t.Helper()
	images, err := g.List()
	must(g.t, err)
	var names []string
	want := map[string]bool{}
	for _, img := range images {
		names = append(names, g.ids[img.ID])
		r, err := g.record(img.ID)
		must(g.t, err)
		for _, chain := range r.Chain {
			want[chain] = true
		}
	}
	numbers, err := g.layerNumbers()
	must(g.t, err)
	if len(numbers) != len(want) {
		g.t.Errorf("%d layers, where %d are needed", len(numbers), len(want))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// The least recently used images go when there are too many bytes, those in use stay, and what was pulled just now too.
func TestCacheBytes(t *testing.T) {
	g := newGCRig(t, 4000) // three images
	a := g.pull("aa")
	g.pull("bb")
	g.pull("cc")
	if got := g.here(); got != "aa bb cc" {
		t.Errorf("below the bound: %s", got)
	}
	must(t, g.use(a).Close()) // so bb is the oldest
	g.pull("dd")
	if got := g.here(); got != "aa cc dd" {
		t.Errorf("the oldest goes: %s", got)
	}
	held := g.use(a)
	g.pull("ee")
	g.pull("ff")
	g.pull("gg")
	if got := g.here(); got != "aa ff gg" {
		t.Errorf("what is in use stays: %s", got)
	}
	must(t, held.Close())
	g.cacheBytes = 1
	g.pull("hh")
	if got := g.here(); got != "hh" {
		t.Errorf("what was pulled stays: %s", got)
	}
	g.cacheBytes = -1
	g.pull("ii")
	if got := g.here(); got != "hh ii" {
		t.Errorf("without a bound: %s", got)
	}
	if bytes, inodes, err := g.Usage(); err != nil || bytes != 3000 || inodes != 3 {
		t.Errorf("usage %d bytes, %d files, %v", bytes, inodes, err)
	}
}

func TestPrune(t *testing.T) {
	g := newGCRig(t, -1)
	a, b, c := g.pull("aa"), g.pull("bb"), g.pull("cc")
	must(t, g.use(c).Close())
	must(t, g.use(a).Close()) // last used: b at 2h, c at 4h, a at 5h
	held := g.use(b)
	must(t, os.Chtimes(filepath.Join(g.images.Path(), hexOf(b.ID)+".json"), time.Time{}, g.at.Add(-4*time.Hour)))
	gone, err := g.Prune(t.Context(), 90*time.Minute, g.at)
	must(t, err)
	if len(gone) != 1 || gone[0].ID != c.ID || gone[0].Size != 2000 {
		t.Errorf("pruned %+v", gone)
	}
	if got := g.here(); got != "aa bb" {
		t.Errorf("left %s", got)
	}
	must(t, held.Close())
	if gone, err = g.Prune(t.Context(), 0, g.at); err != nil || len(gone) != 2 {
		t.Errorf("pruned %+v, %v", gone, err)
	}
	if got := g.here(); got != "" {
		t.Errorf("left %s", got)
	}
	entries, err := os.ReadDir(g.locks.Path())
	must(t, err)
	for _, e := range entries {
		if e.Name() != lockStore && e.Name() != lockRecords {
			t.Errorf("left lock %s", e.Name())
		}
	}
}

// A name goes before the image, the last name with it; the ID takes all.
func TestRemove(t *testing.T) {
	g := newGCRig(t, -1)
	a := g.pull("aa")
	i := newImage(t, here, gzipped(t, files(t, "base", noise(0, 1000))), gzipped(t, files(t, "own", noise('a', 1000))))
	g.reg.push(t, "other", "v", i)
	both, err := g.Pull(t.Context(), g.reg.name(t, "other:v"), nil, nil)
	must(t, err)
	host := g.reg.host()
	if both.ID != a.ID || !slices.Equal(both.Names, []string{host + "/aa:latest", host + "/other:v"}) {
		t.Errorf("%+v", both)
	}
	must(t, g.Remove(host+"/aa"))
	if img, ok, err := g.Find(a.ID); err != nil || !ok || !slices.Equal(img.Names, []string{host + "/other:v"}) {
		t.Errorf("%+v, %v", img, err)
	}
	held := g.use(a)
	var used *InUseError
	if err := g.Remove(host + "/other:v"); !errors.As(err, &used) || used.Image.ID != a.ID {
		t.Errorf("got %v", err)
	}
	must(t, held.Close())
	must(t, g.Remove(host+"/other:v"))
	if got := g.here(); got != "" {
		t.Errorf("left %s", got)
	}
	for _, ref := range []string{host + "/other:v", a.ID, "", "nonsense:"} {
		var missing *NotFoundError
		if err := g.Remove(ref); !errors.As(err, &missing) || missing.Ref != ref || !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", ref, err)
		}
		if _, err := g.Use(ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// An image whose layers got the numbers of others that were removed is here.
func TestNumbersGivenAgain(t *testing.T) {
	g := newGCRig(t, -1)
	for _, name := range []string{"aa", "bb", "cc"} {
		img := g.pull(name)
		if got := g.here(); got != name {
			t.Errorf("here: %q, want %q", got, name)
		}
		must(t, g.Remove(img.ID))
	}
}

// Leftovers of pulls that never came to an end are kept for a day.
func TestLeftovers(t *testing.T) {
	g := newGCRig(t, -1)
	a := g.pull("aa")
	r, err := g.record(a.ID)
	must(t, err)
	must(t, g.images.Remove(hexOf(a.ID)+".json")) // as if it had been killed before
	part := filepath.Join(g.blobs.Path(), partName(someDigest))
	must(t, os.WriteFile(part, []byte("x"), 0o600))
	g.pull("bb")
	if _, ok := g.layer(r.Chain[1]); !ok {
		t.Error("the layer is gone at once")
	}
	g.at = g.at.Add(25 * time.Hour)
	g.pull("bb")
	g.pull("cc")
	if _, ok := g.layer(r.Chain[1]); ok {
		t.Error("the layer is still there")
	}
	if _, err := os.Stat(part); err == nil {
		t.Error("the download is still there")
	}
	if got := g.here(); got != "bb cc" {
		t.Errorf("left %s", got)
	}
}

// An ID's beginning is enough if no other image has it.
func TestAmbiguous(t *testing.T) {
	g := newGCRig(t, -1)
	first := map[byte]string{}
	for n := range 40 {
		img := g.pull(fmt.Sprintf("%c%c", 'a'+n%20, 'a'+n/20))
		digit := img.ID[7]
		if other, ok := first[digit]; ok && other != img.ID {
			var e *AmbiguousError
			if _, _, err := g.Find(string(digit)); !errors.As(err, &e) || !slices.Contains(e.IDs, img.ID) || !slices.Contains(e.IDs, other) {
				t.Errorf("got %v", err)
			}
			return
		}
		first[digit] = img.ID
	}
	t.Error("no two images")
}

// Pulls, uses and removals at once: whoever uses an image has all of it.
func TestAtOnce(t *testing.T) {
	g := newGCRig(t, 3000)
	for n := range 4 {
		g.reg.push(t, "app"+strconv.Itoa(n), "latest", newImage(t, here, gzipped(t, files(t, "base", noise(0, 1000))), gzipped(t, files(t, "own", noise(uint64(n), 1000)))))
	}
	var all sync.WaitGroup
	for worker := range 6 {
		all.Go(func() {
			for round := range 10 {
				n := (worker + round) % 4
				img, err := g.Pull(t.Context(), g.reg.name(t, "app"+strconv.Itoa(n)), nil, nil)
				if err != nil {
					t.Error(err)
					return
				}
				u, err := g.Use(img.ID)
				if errors.Is(err, ErrNotFound) {
					continue // somebody removed it meanwhile
				}
				if err != nil {
					t.Error(err)
					return
				}
				if worker%3 == 0 {
					if err := g.Remove(img.ID); !errors.Is(err, ErrInUse) {
						t.Errorf("removed while in use: %v", err)
					}
				}
				if data, err := os.ReadFile(filepath.Join(u.Layers[0], "own")); err != nil || string(data) != noise(uint64(n), 1000) {
					t.Errorf("another content, %v", err)
				}
				_ = u.Close()
				if worker%3 == 1 {
					if err := g.Remove(img.ID); err != nil && !errors.Is(err, ErrInUse) && !errors.Is(err, ErrNotFound) {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	clean(t, g.Store)
}
