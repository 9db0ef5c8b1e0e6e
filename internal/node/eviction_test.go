// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"maps"
	"testing"
)

// What is kept free is absolute on a large disk and a part of a small one.
func TestDefaultEvictionHard(t *testing.T) {
	for name, tc := range map[string]struct {
		size, inodes uint64
		want         map[string]string
	}{
		"large":          {1 << 40, 1 << 26, map[string]string{"nodefs.available": "536870912", "nodefs.inodesFree": "10000"}},
		"small":          {1 << 30, 8000, map[string]string{"nodefs.available": "268435456", "nodefs.inodesFree": "2000"}},
		"without inodes": {1 << 40, 0, map[string]string{"nodefs.available": "536870912"}},
	} {
		got := defaultEvictionHard(tc.size, tc.inodes)
		if !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		if err := CheckEvictionHard(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The reserve is what the user's threshold says, in bytes or per cent.
func TestReserveOf(t *testing.T) {
	for name, tc := range map[string]struct {
		thresholds map[string]string
		want       uint64
		wrong      bool
	}{
		"bytes":            {map[string]string{"nodefs.available": "1Gi"}, 1 << 30, false},
		"per cent":         {map[string]string{"nodefs.available": "25%"}, 256, false},
		"none":             {map[string]string{}, 0, false},
		"of another thing": {map[string]string{"memory.available": "1Gi"}, 0, false},
		"no such signal":   {map[string]string{"disk.free": "1Gi"}, 0, true},
		"no quantity":      {map[string]string{"nodefs.available": "much"}, 0, true},
		"negative":         {map[string]string{"nodefs.available": "-1Gi"}, 0, true},
	} {
		got, err := reserveOf(tc.thresholds, 1024)
		if got != tc.want || (err != nil) != tc.wrong {
			t.Errorf("%s: %d, %v", name, got, err)
		}
		if err := CheckEvictionHard(tc.thresholds); (err != nil) != tc.wrong {
			t.Errorf("%s: check says %v", name, err)
		}
	}
}
