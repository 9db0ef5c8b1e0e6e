// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
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

// Where the filesystem can, a copy takes no space.
func TestCopySharesBlocks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts a filesystem")
	}
	disk, at := filepath.Join(t.TempDir(), "disk"), t.TempDir()
	must(t, os.WriteFile(disk, nil, 0o600))
	must(t, os.Truncate(disk, 256<<20))
	if out, err := exec.CommandContext(t.Context(), "mkfs.btrfs", "-q", disk).CombinedOutput(); err != nil {
		t.Skipf("no filesystem that shares blocks: %v %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "loop", disk, at).CombinedOutput(); err != nil {
		t.Skipf("no filesystem that shares blocks: %v %s", err, out)
	}
	t.Cleanup(func() { must(t, unix.Unmount(at, 0)) })
	from, to := filepath.Join(at, "from"), filepath.Join(at, "to")
	must(t, os.Mkdir(from, 0o755))
	must(t, os.Mkdir(to, 0o755))
	const size = 64 << 20
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
	must(t, os.WriteFile(filepath.Join(from, "file"), content, 0o644))
	source, err := os.Open(from)
	must(t, err)
	defer source.Close()
	used := func() uint64 {
		must(t, unix.Syncfs(int(source.Fd())))
		var st unix.Statfs_t
		must(t, unix.Statfs(at, &st))
		return (st.Blocks - st.Bfree) * uint64(st.Bsize) //nolint:gosec // never less than 0
	}
	before := used()
	must(t, Copy(source, to, true))
	if after := used(); before < size || after-before > size/8 {
		t.Errorf("%d bytes are used before, %d after a copy of %d", before, after, size)
	}
	if copied, err := os.ReadFile(filepath.Join(to, "file")); err != nil || !bytes.Equal(copied, content) {
		t.Errorf("%d bytes of the copy, %v", len(copied), err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
