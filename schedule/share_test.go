// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"runtime"
	"testing"
	"time"
)

// What was read from a location is shared while the location is in use, and let go
// with it.
func TestZonesAreLetGo(t *testing.T) {
	entries := func() (n int) {
		zones.Range(func(any, any) bool { n++; return true })
		return n
	}
	before := entries()
	for range 50 {
		loc, err := time.LoadLocation("Europe/Rome")
		if err != nil {
			t.Fatal(err)
		}
		if first, again := zoneOf(loc), zoneOf(loc); first != again {
			t.Fatal("read twice")
		}
		runtime.KeepAlive(loc)
	}
	for range 1000 {
		if entries() <= before {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Errorf("%d entries stay, %d before", entries(), before)
}

// The names that are remembered are limited: users choose them.
func TestNamesAreLimited(t *testing.T) {
	saved := locationCount.Load()
	defer locationCount.Store(saved)
	locationCount.Store(maxLocations)
	const name = "Asia/Bishkek"
	a, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := LoadZone(name); err != nil || a == b {
		t.Errorf("remembered beyond the limit: %v", err)
	}
	if _, ok := locations.Load(name); ok {
		t.Error("remembered beyond the limit")
	}
}
