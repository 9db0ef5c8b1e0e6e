// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"os"
	"path/filepath"
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
