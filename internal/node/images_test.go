// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/carillon-dev/carillon/internal/image"
)

// Who runs on this machine's files alone gets no store; who needs an image does,
// once, and is told if it cannot be.
func TestImageStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "images")
	s := newImageStore(&Options{ImageDir: dir})
	if list, err := s.List(); err != nil || len(list) > 0 {
		t.Errorf("%v %v", list, err)
	}
	if _, ok, err := s.Find("busybox"); err != nil || ok {
		t.Errorf("%v %v", ok, err)
	}
	if bytes, _, err := s.Usage(); err != nil || bytes != 0 {
		t.Errorf("%d %v", bytes, err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) || s.Dir() != "" {
		t.Errorf("it was made by looking: %v, %q", err, s.Dir())
	}
	if _, err := s.Use("busybox"); !errors.Is(err, image.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if s.Dir() != dir {
		t.Errorf("it is in %q", s.Dir())
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if list, err := s.List(); err != nil || len(list) > 0 {
		t.Errorf("opened again: %v %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = newImageStore(&Options{ImageDir: filepath.Join(file, "images")})
	if _, err := s.Use("busybox"); err == nil || errors.Is(err, image.ErrNotFound) {
		t.Errorf("below a file: %v", err)
	}
}

// The images of this user are hidden from containers, wherever they are and
// whether the node has any use for them.
func TestImageDirs(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	usual, err := image.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		options Options
		want    []string
	}{
		"usual":         {Options{}, []string{usual}},
		"another":       {Options{ImageDir: "/images"}, []string{"/images", usual}},
		"local files":   {Options{LocalFiles: true}, []string{usual}},
		"both":          {Options{LocalFiles: true, ImageDir: "/images"}, []string{"/images", usual}},
		"the usual one": {Options{ImageDir: usual}, []string{usual}},
	} {
		tt.options.DataDir, tt.options.Hidden = "/data", []string{"/keys"}
		got := runtimeOptions(&tt.options, newImageStore(&tt.options))
		if want := append([]string{"/data", "/keys"}, tt.want...); !slices.Equal(got.Hidden, want) {
			t.Errorf("%s: %q are hidden, want %q", name, got.Hidden, want)
		}
		if (got.Images == nil) != tt.options.LocalFiles {
			t.Errorf("%s: images %v", name, got.Images)
		}
	}
}
