// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"hash/maphash"
	"maps"
	"slices"
)

// pathSet is a set of paths that takes 8 bytes for each: there may be a million, and names are long. It keeps a hash of
// them, so that two may be taken for one, once in 2^40 times if there are as many as there may be; nobody can make that
// happen.
type pathSet struct {
	seed   maphash.Seed
	recent map[uint64]struct{}
	sorted [][]uint64 // what recent held when it was full
}

// recentPaths is how many paths are kept in the form that is fast and large.
const recentPaths = 1 << 16

func newPathSet() *pathSet {
	return &pathSet{seed: maphash.MakeSeed(), recent: map[uint64]struct{}{}}
}

func (s *pathSet) add(dir, name string) {
	s.recent[s.hash(dir, name)] = struct{}{}
	if len(s.recent) >= recentPaths {
		hashes := slices.AppendSeq(make([]uint64, 0, len(s.recent)), maps.Keys(s.recent))
		slices.Sort(hashes)
		s.sorted = append(s.sorted, hashes)
		clear(s.recent)
	}
}

func (s *pathSet) has(dir, name string) bool {
	h := s.hash(dir, name)
	if _, ok := s.recent[h]; ok {
		return true
	}
	return slices.ContainsFunc(s.sorted, func(hashes []uint64) bool {
		_, ok := slices.BinarySearch(hashes, h)
		return ok
	})
}

func (s *pathSet) hash(dir, name string) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	_, _ = h.WriteString(dir)
	_ = h.WriteByte('/')
	_, _ = h.WriteString(name)
	return h.Sum64()
}
