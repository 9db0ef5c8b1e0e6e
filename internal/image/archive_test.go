// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// member is a file of an archive, or a link.
type member struct {
	name, link string
	data       []byte
}

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data)), Typeflag: tar.TypeReg}
		if m.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, m.link
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write(m.data)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

func blobMember(data []byte) member {
	return member{name: "blobs/sha256/" + hexOf(digestOf(data)), data: data}
}

// layoutMembers are the files of an OCI layout with one image below an index, which has a name.
func layoutMembers(t testing.TB, i testImage, annotations map[string]string) []member {
	t.Helper()
	index := jsonOf(t, v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{
		{MediaType: types.OCIManifestSchema1, Size: int64(len(i.manifest)), Digest: hashOf(i.manifest), Platform: &here},
		{MediaType: types.OCIManifestSchema1, Size: 7, Digest: hashOf([]byte("missing")), Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}},
	}})
	members := []member{
		{name: "oci-layout", data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", data: jsonOf(t, v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{
			{MediaType: types.OCIImageIndex, Size: int64(len(index)), Digest: hashOf(index), Annotations: annotations},
		}})},
		blobMember(index), blobMember(i.manifest), blobMember(i.config),
	}
	for _, l := range i.layers {
		members = append(members, blobMember(l.blob))
	}
	return members
}

func savedMembers(t testing.TB, i testImage, tags ...string) []member {
	t.Helper()
	type saved struct {
		Config           string
		RepoTags, Layers []string
	}
	m := saved{Config: hexOf(i.id()) + ".json", RepoTags: tags}
	var members []member
	for n, l := range i.layers {
		path := hexOf(l.diffID)[:12] + "/layer.tar"
		if at := slices.IndexFunc(i.layers[:n], func(o testLayer) bool { return o.diffID == l.diffID }); at >= 0 {
			path = "link" + string(rune('a'+n)) + "/layer.tar"
			members = append(members, member{name: path, link: "../" + hexOf(l.diffID)[:12] + "/layer.tar"})
		} else {
			members = append(members, member{name: path, data: l.blob})
		}
		m.Layers = append(m.Layers, path)
	}
	return append(members, member{name: m.Config, data: i.config}, member{name: "manifest.json", data: jsonOf(t, []saved{m})})
}

// Each kind of archive, from a file, through a pipe, zipped, gives the image with its names.
func TestImport(t *testing.T) {
	same := files(t, "x", "same")
	i := newImage(t, here, uncompressed(files(t, "a", "1")), uncompressed(same), uncompressed(files(t, "b", "2")), uncompressed(same))
	packed := newImage(t, here, gzipped(t, files(t, "a", "1")), zstandard(t, files(t, "b", "2")))
	named := map[string]string{nameAnnotation: "docker.io/library/app:v", refAnnotation: "v"}
	for name, tt := range map[string]struct {
		image   testImage
		members []member
		names   []string
	}{
		"docker save":         {i, savedMembers(t, i, "app:v", "b.example/c:d"), []string{"b.example/c:d", "docker.io/library/app:v"}},
		"docker save, zipped": {packed, savedMembers(t, packed), nil},
		"OCI":                 {packed, layoutMembers(t, packed, named), []string{"docker.io/library/app:v"}},
		"OCI without name":    {i, layoutMembers(t, i, map[string]string{refAnnotation: "v"}), nil},
		"OCI by reference":    {i, layoutMembers(t, i, map[string]string{refAnnotation: "b.example/c:d"}), []string{"b.example/c:d"}},
	} {
		t.Run(name, func(t *testing.T) {
			data := tarOf(t, tt.members...)
			dir := private(t)
			file := filepath.Join(dir, "image.tar")
			must(t, os.WriteFile(file, data, 0o600))
			unpacked := filepath.Join(dir, "layout")
			for _, m := range tt.members {
				path := filepath.Join(unpacked, m.name)
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				if m.link != "" {
					must(t, os.Symlink(m.link, path))
					continue
				}
				must(t, os.WriteFile(path, m.data, 0o600))
			}
			read := func(data []byte) func(*Store) ([]Image, error) {
				return func(s *Store) ([]Image, error) { return s.Import(t.Context(), bytes.NewReader(data), nil) }
			}
			for way, do := range map[string]func(*Store) ([]Image, error){
				"file":      func(s *Store) ([]Image, error) { return s.ImportPath(t.Context(), file, nil) },
				"directory": func(s *Store) ([]Image, error) { return s.ImportPath(t.Context(), unpacked, nil) },
				"stream":    read(data), "gzip": read(gzipped(t, data).blob), "zstd": read(zstandard(t, data).blob),
			} {
				s := newStore(t)
				images, err := do(s)
				if err != nil || len(images) != 1 {
					t.Errorf("%s: %+v, %v", way, images, err)
					continue
				}
				if img := images[0]; img.ID != tt.image.id() || !slices.Equal(img.Names, tt.names) || img.Config.User != "1234:5" {
					t.Errorf("%s: %+v", way, img)
				}
				if content(t, s, tt.image.id(), "b") != "2" {
					t.Errorf("%s: other content", way)
				}
				clean(t, s)
				if again, err := do(s); err != nil || len(again) != 1 || again[0].ID != tt.image.id() {
					t.Errorf("%s: again: %+v, %v", way, again, err)
				}
			}
		})
	}
}

// What is damaged, leads out of the archive or is none is refused, and leaves nothing.
func TestImportRefused(t *testing.T) {
	i := newImage(t, here, gzipped(t, files(t, "a", "1")))
	other := newImage(t, v1.Platform{OS: "linux", Architecture: "s390x"}, gzipped(t, files(t, "a", "1")))
	named := map[string]string{nameAnnotation: "app:v"}
	damage := func(members []member, part string) []member {
		for n, m := range members {
			if strings.Contains(m.name, part) {
				members[n].data = bytes.Clone(m.data)
				members[n].data[len(m.data)/2] ^= 1
			}
		}
		return members
	}
	without := func(members []member, part string) []member {
		return slices.DeleteFunc(members, func(m member) bool { return strings.Contains(m.name, part) })
	}
	layer, config := hexOf(digestOf(i.layers[0].blob)), hexOf(digestOf(i.config))
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":             {nil, "neither a manifest.json"},
		"text":                {bytes.Repeat([]byte("text"), 1000), "no tar archive"},
		"another tar":         {tarOf(t, member{name: "a", data: []byte("b")}), "neither a manifest.json"},
		"cut":                 {tarOf(t, layoutMembers(t, i, named)...)[:2000], ""},
		"cut gzip":            {gzipped(t, tarOf(t, layoutMembers(t, i, named)...)).blob[:500], "EOF"},
		"damaged layer":       {tarOf(t, damage(layoutMembers(t, i, named), layer)...), "is damaged"},
		"damaged config":      {tarOf(t, damage(layoutMembers(t, i, named), config)...), "is damaged"},
		"damaged manifest":    {tarOf(t, damage(layoutMembers(t, i, named), hexOf(digestOf(i.manifest)))...), "is damaged"},
		"missing layer":       {tarOf(t, without(layoutMembers(t, i, named), layer)...), "file does not exist"},
		"damaged saved":       {tarOf(t, damage(savedMembers(t, i), "layer.tar")...), "layer 1 of 1"},
		"damaged saved conf":  {tarOf(t, damage(savedMembers(t, i), ".json")...), ""},
		"missing saved layer": {tarOf(t, without(savedMembers(t, i), "layer.tar")...), "file does not exist"},
		"bad name":            {tarOf(t, savedMembers(t, i, "A:b")...), "is not the name of an image"},
		"outside":             {tarOf(t, append(savedMembers(t, i), member{name: "a/../../b", data: []byte("x")})...), "lies outside"},
		"absolute":            {tarOf(t, append(savedMembers(t, i), member{name: "/etc/passwd", data: []byte("x")})...), "lies outside"},
		"link outside":        {tarOf(t, append(without(savedMembers(t, i), "layer.tar"), member{name: hexOf(i.layers[0].diffID)[:12] + "/layer.tar", link: "../../../../etc/passwd"})...), "file does not exist"},
		"link to itself":      {tarOf(t, append(without(savedMembers(t, i), "layer.tar"), member{name: hexOf(i.layers[0].diffID)[:12] + "/layer.tar", link: "layer.tar"})...), "file does not exist"},
		"other machine":       {tarOf(t, savedMembers(t, other)...), "no image for this platform"},
		"empty list":          {tarOf(t, member{name: "manifest.json", data: []byte("[]")}), "no image"},
		"empty index":         {tarOf(t, member{name: "index.json", data: []byte("{}")}), "no image"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			images, err := s.Import(t.Context(), bytes.NewReader(tt.data), nil)
			if err == nil || len(images) != 0 || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(*ImportError)) {
				t.Errorf("got %v, %v", images, err)
			}
			clean(t, s)
			if all, err := s.List(); err != nil || len(all) != 0 {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
	s := newStore(t)
	missing := filepath.Join(t.TempDir(), "missing.tar")
	if _, err := s.ImportPath(t.Context(), missing, nil); err == nil || strings.Count(err.Error(), missing) != 1 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	outside := filepath.Join(private(t), "layout")
	must(t, os.Mkdir(outside, 0o700))
	must(t, os.Symlink("/etc/passwd", filepath.Join(outside, "manifest.json")))
	if _, err := s.ImportPath(t.Context(), outside, nil); err == nil || strings.Contains(err.Error(), "root:") {
		t.Errorf("got %v", err)
	}
}

// A pipe is a file too.
func TestImportPipe(t *testing.T) {
	i := newImage(t, here, gzipped(t, files(t, "a", "1")))
	r, w, err := os.Pipe()
	must(t, err)
	go func() {
		_, _ = w.Write(tarOf(t, savedMembers(t, i, "app")...))
		w.Close()
	}()
	images, err := newStore(t).Import(t.Context(), io.Reader(r), nil)
	if err != nil || len(images) != 1 || images[0].Names[0] != "docker.io/library/app:latest" {
		t.Errorf("%+v, %v", images, err)
	}
}
