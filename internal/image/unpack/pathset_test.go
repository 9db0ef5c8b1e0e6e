// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"strconv"
	"testing"
)

// A path is in the set from the moment on that it is added, also when there are many; and no other is.
func TestPathSet(t *testing.T) {
	s := newPathSet()
	const n = 3*recentPaths + 10
	for i := range n {
		name := strconv.Itoa(i)
		if s.has("/d", name) {
			t.Fatalf("%s is in it too early", name)
		}
		s.add("/d", name)
		if !s.has("/d", name) {
			t.Fatalf("%s is not in it", name)
		}
	}
	for i := range n {
		if name := strconv.Itoa(i); !s.has("/d", name) || s.has("/e", name) {
			t.Fatalf("%s: %v, %v", name, s.has("/d", name), s.has("/e", name))
		}
	}
}
