// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mounts

import (
	"path/filepath"
	"slices"
	"strings"
)

// Aliases lists the other paths at which dir, or a directory below it, can be seen, because its filesystem is mounted
// more than once: a bind mount of a parent, of dir itself, or of something inside it.
func Aliases(all []Mount, dir string) []string {
	home, ok := holder(all, dir)
	if !ok {
		return nil
	}
	inside := filepath.Join(home.Root, strings.TrimPrefix(dir, home.Point))
	var found []string
	for _, m := range all {
		if m.Major != home.Major || m.Minor != home.Minor {
			continue
		}
		var path string
		switch {
		case Under(inside, m.Root):
			path = filepath.Join(m.Point, strings.TrimPrefix(inside, m.Root))
		case Under(m.Root, inside):
			path = m.Point
		default:
			continue
		}
		if !Under(path, dir) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

// holder is the mount on which dir lies.
func holder(all []Mount, dir string) (Mount, bool) {
	var best Mount
	found := false
	for _, m := range all {
		// The later of two on one point is the one that is seen.
		if Under(dir, m.Point) && (!found || len(m.Point) >= len(best.Point)) {
			best, found = m, true
		}
	}
	return best, found
}
