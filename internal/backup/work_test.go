// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A backup that does not fit is refused before it is unpacked, and one whose place fills up meanwhile while it is.
func TestSpaceForUnpacking(t *testing.T) {
	const mib = 1 << 20
	cases := map[string]struct {
		free []int64 // at each look
		want string
	}{
		"fits":            {free: []int64{200 * mib, 100 * mib, 81 * mib}},
		"too small":       {free: []int64{100 * mib}, want: "100 MiB are free on the disk of"},
		"full meanwhile":  {free: []int64{200 * mib, 60 * mib}, want: "60 MiB are free on the disk of"},
		"nothing is free": {free: []int64{0}, want: "0 MiB are free"},
	}
	data := archive(t, map[string]string{storePart: strings.Repeat("x", 40*mib)})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "fresh")
			looks := 0
			u := &unpacker{dir: dir, snapshot: dir + ".store", space: space{spare: spareBytes, cure: "cure", free: func(string) (int64, error) {
				looks++
				return c.free[min(looks, len(c.free))-1], nil
			}}}
			_, err := readArchive(t.Context(), bytes.NewReader(data), u, nobody)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if looks < len(c.free) {
				t.Errorf("looked %d times", looks)
			}
		})
	}
}
