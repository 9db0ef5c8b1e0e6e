// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/carillon-dev/carillon/internal/image"
)

// Who needs no image needs no store: none is made, and where there is no place for one only who asks for an image is
// told.
func TestNoImageStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "images")
	s := newImageStore(&Options{ImageDir: dir})
	nowhere := &imageStore{nowhere: os.ErrNotExist}
	for _, s := range []*imageStore{s, nowhere} {
		if img, ok, err := s.Find("busybox"); ok || err != nil {
			t.Errorf("found %v, %v", img, err)
		}
		if all, err := s.List(); len(all) > 0 || err != nil {
			t.Errorf("listed %v, %v", all, err)
		}
		if bytes, inodes, err := s.Usage(); bytes != 0 || inodes != 0 || err != nil {
			t.Errorf("used %d, %d, %v", bytes, inodes, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a store was made")
	}
	if _, err := nowhere.Use("x"); err == nil {
		t.Error("an image was used from nowhere")
	}
}

// The end of a pull is told, and why it failed.
func TestPullProgress(t *testing.T) {
	var mu sync.Mutex
	var told []PullProgress
	s := newImageStore(&Options{ImageDir: filepath.Join(t.TempDir(), "images"), PullProgress: func(p PullProgress) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, p)
	}})
	name, err := image.ParseName("127.0.0.1:1/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pull(t.Context(), name, nil, nil); err == nil {
		t.Fatal("pulled from nobody")
	}
	if last := told[len(told)-1]; !last.Ended || last.Err == nil || last.Image != "127.0.0.1:1/x:latest" {
		t.Errorf("told %+v", told)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
