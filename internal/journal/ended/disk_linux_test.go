// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ended

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A full disk is one of its own here.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a filesystem in memory")
	}
	base := t.TempDir()
	if err := syscall.Mount("tmpfs", base, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("this machine does not let us mount a filesystem in memory: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(base, 0); err != nil {
			t.Error(err)
		}
	})
	var warnings []string
	d, err := Open(filepath.Join(base, "ended"), Options{Warn: func(s string) { warnings = append(warnings, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	logs := filepath.Join(base, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(logs, "0.log")
	if err := os.WriteFile(log, bytes.Repeat([]byte("a"), 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for i := range 3 {
		if err := d.Add(container(fmt.Sprint("c", i), 0), log); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "no space left") {
		t.Errorf("warnings: %q", warnings)
	}
	if list, err := os.ReadDir(d.path); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	if err := os.Truncate(log, 10); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(container("c0", 0), log); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if err := os.WriteFile(filepath.Join(logs, "fill"), bytes.Repeat([]byte("a"), 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := d.Add(container("c1", 0), log); err == nil || len(warnings) != 2 {
		t.Errorf("full again: %v, %q", err, warnings)
	}
}

func TestLogOnAnotherFilesystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a filesystem in memory")
	}
	r := newRig(t, Options{})
	logs := filepath.Join(r.base, "logs")
	if err := syscall.Mount("tmpfs", logs, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("this machine does not let us mount a filesystem in memory: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(logs, 0); err != nil {
			t.Error(err)
		}
	})
	log := r.log("0.log", "a\n")
	for i := range 2 {
		id := fmt.Sprint("c", i)
		if err := r.dir.Add(container(id, 0), log); !errors.Is(err, syscall.EXDEV) {
			t.Errorf("got %v", err)
		}
		if c, err := r.dir.Read(id); err != nil || len(c.Logs) != 0 || c.ExitCode != 137 {
			t.Errorf("%+v, %v", c, err)
		}
		if _, err := r.dir.Log(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
	r.warned("cross-device")
}
