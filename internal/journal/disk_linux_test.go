// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// smallFilesystem mounts one of 4 MiB, and names a directory in it that is not there yet.
func smallFilesystem(t *testing.T) string {
	t.Helper()
	at := t.TempDir()
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Skip("a small filesystem needs the right to mount one:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(at, "journal")
}
