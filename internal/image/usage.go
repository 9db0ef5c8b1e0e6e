// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import "os"

// Usage is what all images take on disk, with what is in the middle of a download: bytes and files.
func (s *Store) Usage() (bytes, inodes uint64, err error) {
	numbers, err := s.layerNumbers()
	if err != nil {
		return 0, 0, err
	}
	for _, n := range numbers {
		if l, err := s.readLayer(n); err == nil && l.Size > 0 { // one that goes just now counts as gone
			bytes += uint64(l.Size)
			inodes += l.Inodes
		}
	}
	entries, err := os.ReadDir(s.blobs.Path())
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Size() > 0 {
			bytes += uint64(info.Size())
			inodes++
		}
	}
	return bytes, inodes, nil
}
