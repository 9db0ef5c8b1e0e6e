// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
)

// Only directories that nobody holds, that are not just being made, and that are ours by name are removed.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-2 * sweepAge)
	make := func(name string, age time.Time) string {
		dir := filepath.Join(temp, name)
		if err := os.MkdirAll(filepath.Join(nodePath(dir), "process"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, age, age); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	abandoned := make(ephemeralPrefix+"abandoned", old)
	young := make(ephemeralPrefix+"young", time.Now())
	other := make("other", old)
	held := make(ephemeralPrefix+"held", old)
	lock, err := controlplane.LockDir(held)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := os.Chtimes(held, old, old); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(temp, ephemeralPrefix+"link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}

	sweep(t.Context())
	for dir, want := range map[string]bool{abandoned: false, young: true, other: true, held: true, link: true} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", dir, err == nil, want)
		}
	}
}
