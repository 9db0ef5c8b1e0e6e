// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What restores leave beside a data directory is found, and nobody else's.
func TestBeside(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "data")
	for _, name := range []string{"data", "data.before-restore-20260504T121000Z", ".data.restore-unfinished-X", "data2.before-restore-Y", ".other.restore-unfinished-X", "b"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Beside(dir)
	if want := []string{filepath.Join(parent, ".data.restore-unfinished-X"), dir + ".before-restore-20260504T121000Z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
