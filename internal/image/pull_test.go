// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An index leads to this machine's image, with layers of each compression; what the image says of itself is known
// afterwards, and the layers are there.
func TestPull(t *testing.T) {
	for name, flat := range map[string]bool{"overlay": false, "flat": true} {
		t.Run(name, func(t *testing.T) {
			reg := newRegistry(t)
			mine := newImage(t, here, gzipped(t, files(t, "a", "1", "b", "1")), zstandard(t, files(t, "b", "2")), uncompressed(files(t, "c/d", "3")))
			other := newImage(t, v1.Platform{OS: "linux", Architecture: "s390x"}, gzipped(t, files(t, "a", "other")))
			reg.push(t, "team/app", "mine", mine)
			reg.push(t, "team/app", "other", other)
			index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{
				{MediaType: types.OCIManifestSchema1, Size: int64(len(other.manifest)), Digest: hashOf(other.manifest), Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}},
				{MediaType: types.OCIManifestSchema1, Size: int64(len(mine.manifest)), Digest: hashOf(mine.manifest), Platform: &here},
			}})
			must(t, err)
			reg.putManifest(t, "team/app", "v1", types.OCIImageIndex, index)

			o := testOptions(filepath.Join(private(t), "images"))
			o.applier = plainApplier{flat: flat}
			s := open(t, o)
			var seen []Progress
			img, err := s.Pull(t.Context(), reg.name(t, "team/app:v1"), nil, func(p Progress) { seen = append(seen, p) })
			must(t, err)
			repo := reg.host() + "/team/app"
			want := Image{
				ID: mine.id(), Names: []string{repo + ":v1"}, Digests: []string{repo + "@" + digestOf(index), repo + "@" + digestOf(mine.manifest)},
				Config: Config{
					User: "1234:5", Env: []string{"A=b"}, Entrypoint: []string{"/entry"}, Cmd: []string{"arg"}, WorkingDir: "/w", StopSignal: "SIGINT",
					Labels: map[string]string{"l": "v"}, Volumes: []string{"/v"},
				},
				Size: 4, Pulled: img.Pulled, LastUsed: img.LastUsed,
			}
			if diff := cmp.Diff(want, img); diff != "" || img.Pulled.IsZero() || img.LastUsed.IsZero() {
				t.Error(diff)
			}
			for path, want := range map[string]string{"a": "1", "b": "2", "c/d": "3"} {
				if got := content(t, s, img.ID, path); got != want {
					t.Errorf("%s is %q", path, got)
				}
			}
			var total int64
			for _, l := range mine.layers {
				total += int64(len(l.blob))
			}
			if last := seen[len(seen)-1]; last != (Progress{Image: repo + ":v1", Layers: 3, LayersDone: 3, Bytes: total, BytesDone: total}) {
				t.Errorf("progress ends with %+v", last)
			}
			clean(t, s)

			// What is there is only asked for.
			reg.forget()
			again, err := s.Pull(t.Context(), reg.name(t, "team/app:v1"), nil, nil)
			must(t, err)
			if again.ID != img.ID || reg.asked("GET", "/blobs/") != 0 || reg.asked("GET", "/manifests/") != 0 || reg.asked("HEAD", "/manifests/v1") != 1 {
				t.Errorf("the second pull asked for %q", reg.requests)
			}
			if !again.Pulled.Equal(img.Pulled) {
				t.Errorf("pulled %v, and before %v", again.Pulled, img.Pulled)
			}
			reg.through(func(h http.Handler) http.Handler { // which some registries do not know
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodHead {
						w.WriteHeader(http.StatusMethodNotAllowed)
						return
					}
					h.ServeHTTP(w, r)
				})
			})
			byDigest, err := s.Pull(t.Context(), reg.name(t, "team/app@"+digestOf(index)), nil, nil)
			must(t, err)
			if byDigest.ID != img.ID || len(byDigest.Names) != 1 {
				t.Errorf("by digest: %+v", byDigest)
			}
			for _, ref := range []string{repo + ":v1", repo + "@" + digestOf(mine.manifest), repo + "@" + digestOf(index), img.ID, img.ID[7:], img.ID[7:19], img.ID[:15]} {
				if found, ok, err := s.Find(ref); err != nil || !ok || found.ID != img.ID {
					t.Errorf("%s: found %v, %v", ref, ok, err)
				}
			}
			for _, ref := range []string{"", "app:v1", repo, repo + "@" + someDigest, someDigest} {
				if _, ok, err := s.Find(ref); err != nil || ok {
					t.Errorf("%q: found %v, %v", ref, ok, err)
				}
			}
		})
	}
}

// A tag that moves leaves the old image without it.
func TestPullMovedTag(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	base := gzipped(t, files(t, "base", "b"))
	var ids []string
	for i := range 3 {
		reg.push(t, "a", "v", newImage(t, here, base, gzipped(t, files(t, "n", strconv.Itoa(i)))))
		img, err := s.Pull(t.Context(), reg.name(t, "a:v"), nil, nil)
		must(t, err)
		ids = append(ids, img.ID)
	}
	if n := reg.asked("GET", "/blobs/"+digestOf(base.blob)); n != 1 {
		t.Errorf("the layer that all have was fetched %d times", n)
	}
	all, err := s.List()
	must(t, err)
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	for _, img := range all {
		want := []string(nil)
		if img.ID == ids[2] {
			want = []string{reg.host() + "/a:v"}
		}
		if !slices.Equal(img.Names, want) {
			t.Errorf("%s has names %q", img.ID, img.Names)
		}
	}
}

// 120 layers, several of them the same.
func TestPullManyLayers(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	var layers []testLayer
	for i := range 120 {
		layers = append(layers, gzipped(t, files(t, "f"+strconv.Itoa(i%50), noise(uint64(i%50), 500))))
	}
	i := newImage(t, here, layers...)
	reg.push(t, "many", "latest", i)
	img, err := s.Pull(t.Context(), reg.name(t, "many"), nil, nil)
	must(t, err)
	u, err := s.Use(img.ID)
	must(t, err)
	defer func() { _ = u.Close() }()
	if len(u.Layers) != 120 {
		t.Errorf("%d layers", len(u.Layers))
	}
	clean(t, s)
}
