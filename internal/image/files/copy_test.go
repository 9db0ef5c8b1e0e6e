// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What is copied keeps its content, mode, times, names and holes; links are copied and not followed.
func TestCopy(t *testing.T) {
	from, to, outside := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("outside"), 0o600))
	must(t, os.Mkdir(filepath.Join(from, "dir"), 0o755))
	file := filepath.Join(from, "dir", "file")
	must(t, os.WriteFile(file, []byte("content"), 0o640))
	must(t, os.Truncate(file, 1<<26)) // a hole
	must(t, os.Link(file, filepath.Join(from, "same")))
	must(t, os.Symlink(outside, filepath.Join(from, "link")))
	must(t, unix.Mkfifo(filepath.Join(from, "pipe"), 0o600))
	must(t, os.Chmod(filepath.Join(from, "dir"), 0o711|os.ModeSticky))
	times := []unix.Timespec{{Sec: 5, Nsec: 6}, {Sec: 7, Nsec: 8}}
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, file, times, 0))
	must(t, os.Chmod(from, 0o701))
	source, err := os.Open(from)
	must(t, err)
	defer source.Close()
	must(t, Copy(source, to, os.Getuid() == 0))
	for _, name := range []string{".", "dir", "dir/file", "same", "link", "pipe"} {
		var a, b unix.Stat_t
		must(t, unix.Lstat(filepath.Join(from, name), &a))
		must(t, unix.Lstat(filepath.Join(to, name), &b))
		if a.Mode != b.Mode || a.Uid != b.Uid || a.Gid != b.Gid || a.Mtim != b.Mtim || a.Mode&unix.S_IFMT == unix.S_IFREG && (a.Size != b.Size || b.Nlink != 2 || b.Blocks*512 > 1<<20) {
			t.Errorf("%s: %+v, its copy %+v", name, a, b)
		}
	}
	content := make([]byte, 8)
	f, err := os.Open(filepath.Join(to, "same"))
	must(t, err)
	defer f.Close()
	if _, err := f.Read(content); err != nil || string(content) != "content\x00" {
		t.Errorf("%q %v", content, err)
	}
	if link, err := os.Readlink(filepath.Join(to, "link")); err != nil || link != outside {
		t.Errorf("%q %v", link, err)
	}
	if err := Copy(source, to, false); err == nil {
		t.Error("copied over what is there")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
