// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/datadir"
)

func TestWaitingContainers(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	dir := datadir.EndedContainers(t.TempDir())
	if n, _ := waitingContainers(dir); n != 0 {
		t.Errorf("%d wait where there is no directory", n)
	}
	for name, at := range map[string]time.Time{"a": now.Add(-time.Minute), "b": now.Add(-time.Hour), ".tmp": now.Add(-2 * time.Hour)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(path, 0o700), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if n, oldest := waitingContainers(dir); n != 2 || !oldest.Equal(now.Add(-time.Hour)) {
		t.Errorf("%d wait since %v", n, oldest)
	}
}
