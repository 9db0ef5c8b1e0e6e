// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// What never ends is refused with its name and the limit, and memory stays bounded.
func TestEndless(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if w, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil {
			defer w.Close()
			_, _ = io.Copy(w, endless{}) // until nobody reads
		}
	}()
	for name, path := range map[string]string{"standard input": "-", "a device": "/dev/zero", "a FIFO": fifo} {
		t.Run(name, func(t *testing.T) {
			var fault *Fault
			_, err := Load(t.Context(), []string{path}, endless{}, nil)
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), "holds more than 16 MiB") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A FIFO that nobody writes to is waited for with a word that names it, and until the user has enough.
func TestSilentFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told := ""
	_, err := Load(ctx, []string{fifo}, nil, func(line string) { told = line; stop() })
	if !errors.Is(err, context.Canceled) || !strings.Contains(told, fifo) {
		t.Errorf("told %q and ended with %v", told, err)
	}
	// Whoever waits in the open is let go.
	if w, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil {
		w.Close()
	}
}

// All files together are bounded, too, and so is the number of files of a directory.
func TestLargeDirectories(t *testing.T) {
	large := t.TempDir()
	text := "# " + strings.Repeat("x", 15<<20) + "\n"
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(large, fmt.Sprintf("%d.yaml", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	many := t.TempDir()
	for i := range filesLimit + 1 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("%d.yaml", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{large: "more than 64 MiB in all", many: "more than 10000 manifests"} {
		if _, err := Load(t.Context(), []string{path}, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.200v, want %q", err, want)
		}
	}
}

// A directory's directories are not read, and one line says so; what is wrong in the directory itself is still wrong.
func TestDirectoriesInDirectories(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": cronJob, "volcano/b.yaml": "not: read", "docs/README.md": "", ".git/c.yaml": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	objects, err := Load(t.Context(), []string{dir}, nil, func(line string) { told = append(told, line) })
	if err != nil || len(objects) != 1 {
		t.Errorf("read %v, %v", objects, err)
	}
	if want := "left out: manifests in directories below " + dir + "; to take them too, add -f " + filepath.Join(dir, "volcano"); len(told) != 1 || told[0] != want {
		t.Errorf("told %q, want %q", told, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "wrong.yaml"), []byte("kind: Job\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), []string{dir}, nil, nil); err == nil {
		t.Error("a mistake was passed over")
	}
}
