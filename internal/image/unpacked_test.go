// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/unpack"
)

// entries makes the content of a layer.
func entries(t testing.TB, list ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range list {
		must(t, w.WriteHeader(&h))
	}
	must(t, w.Close())
	return b.Bytes()
}

// layered is an image whose layers change one another's files.
func layered(t testing.TB) testImage {
	t.Helper()
	return newImage(t, here,
		gzipped(t, entries(t,
			tar.Header{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "dir/old", Mode: 0o644},
			tar.Header{Name: "closed/", Typeflag: tar.TypeDir, Mode: 0}, tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "dir"},
			tar.Header{Name: "gone", Mode: 0o644},
		)),
		zstandard(t, entries(t, tar.Header{Name: "link/new", Mode: 0o600}, tar.Header{Name: ".wh.gone"})),
	)
}

// flatHelper is the applier where no overlay can be mounted.
type flatHelper struct{ helper }

func (flatHelper) probe(context.Context, string) (unpack.Form, error) {
	return unpack.Form{Flat: true}, nil
}

// In the flat form there is one directory with all layers applied.
func TestPullUnpacksFlat(t *testing.T) {
	reg := newRegistry(t)
	i := layered(t)
	reg.push(t, "app", "latest", i)
	o := testOptions(filepath.Join(private(t), "images"))
	o.applier = flatHelper{}
	s := open(t, o)
	img, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
	u, err := s.Use(img.ID)
	must(t, err)
	defer func() { _ = u.Close() }()
	if len(u.Layers) != 1 || !u.Form.Flat {
		t.Fatalf("%+v", u)
	}
	for path, want := range map[string]bool{"dir/old": true, "dir/new": true, "gone": false, ".wh.gone": false, "closed": true} {
		if _, err := os.Lstat(filepath.Join(u.Layers[0], path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	clean(t, s)
	must(t, u.Close())
	must(t, s.Remove(img.ID))
	clean(t, s)
}

// With the real applier: what upper layers do to lower ones is in the directories, and all of it goes when the image
// does.
func TestPullUnpacks(t *testing.T) {
	reg := newRegistry(t)
	i := layered(t)
	reg.push(t, "app", "latest", i)
	o := testOptions(filepath.Join(private(t), "images"))
	o.applier = nil
	s := open(t, o)
	img, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
	u, err := s.Use(img.ID)
	must(t, err)
	defer func() { _ = u.Close() }()
	if len(u.Layers) != 2 && !u.Form.Flat || u.Form != s.form {
		t.Errorf("%+v", u)
	}
	var st unix.Stat_t
	must(t, unix.Lstat(filepath.Join(u.Layers[0], "dir", "new"), &st))
	if st.Mode&0o7777 != 0o600 {
		t.Errorf("mode %o", st.Mode)
	}
	if err := unix.Lstat(filepath.Join(u.Layers[0], "gone"), &st); !u.Form.Flat && (err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0) {
		t.Errorf("no whiteout: %v, mode %o", err, st.Mode)
	}
	clean(t, s)
	must(t, u.Close())
	must(t, s.Remove(img.ID))
	clean(t, s)
	left, err := os.ReadDir(filepath.Join(s.dir, "layers"))
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if bytes, inodes, err := s.Usage(); err != nil || bytes != 0 || inodes != 0 {
		t.Errorf("%d bytes, %d files, %v", bytes, inodes, err)
	}
}
