// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func openDir(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

// Space that is reserved is no record; a record that was written and not yet
// named is one; and a part of one is none.
func TestReservedExit(t *testing.T) {
	want := Exit{ExitCode: 3, StartedAt: 1, FinishedAt: 2, Reason: ReasonError}
	whole := encodeExit(want)
	for name, tc := range map[string]struct {
		content string
		ok      bool
	}{
		"reserved":     {strings.Repeat(" ", exitSize), false},
		"whole":        {string(whole), true},
		"the first":    {string(whole[:20]) + strings.Repeat(" ", exitSize-20), false},
		"the last":     {strings.Repeat(" ", 20) + string(whole[20:]), false},
		"cut":          {string(whole[:20]), false},
		"nothing":      {"", false},
		"zeros":        {strings.Repeat("\x00", exitSize), false},
		"zeros behind": {string(whole[:len(strings.TrimSpace(string(whole)))]) + "\x00\x00", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := openDir(t)
			if err := os.WriteFile(filepath.Join(dir, reservedFile), []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadExit(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("before it has its name: %v", err)
			}
			got, err := RecoverExit(dir)
			if tc.ok && (err != nil || got != want) || !tc.ok && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%+v %v", got, err)
			}
			if again, err := ReadExit(dir); tc.ok && (err != nil || again != want) {
				t.Errorf("afterwards: %+v %v", again, err)
			}
		})
	}
}

// A record is written into the reserved space, whatever its message is.
func TestExitFits(t *testing.T) {
	for name, message := range map[string]string{
		"none": "", "short": "why", "long": strings.Repeat("x", 3*exitSize), "escaped": strings.Repeat("\x01", exitSize),
		"wide": strings.Repeat("ü", exitSize), "broken": strings.Repeat("\xff", exitSize),
	} {
		t.Run(name, func(t *testing.T) {
			dir, root := openDir(t)
			if err := reserveExit(root); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(filepath.Join(dir, reservedFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := WriteExit(dir, Exit{ExitCode: 128, FinishedAt: 1, Reason: ReasonStartError, Message: message}); err != nil {
				t.Fatal(err)
			}
			after, err := os.Stat(filepath.Join(dir, ExitFile))
			if err != nil || !os.SameFile(before, after) || after.Size() != exitSize {
				t.Errorf("not in the space that was reserved: %v %v", after, err)
			}
			got, err := ReadExit(dir)
			if err != nil || got.ExitCode != 128 || message != "" && got.Message == "" {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}

// A mark counts by being there. What it says is read when it can be, also when
// version 0.1 made it.
func TestMark(t *testing.T) {
	dir, root := openDir(t)
	if MayHaveRun(dir) {
		t.Error("marked without a mark")
	}
	want := StartMark{BootID: "b", StartedAt: 5, Record: json.RawMessage(`{"id":"x"}`)}
	if err := writeDurable(root, StartMarkFile, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadStartMark(dir)
	if err != nil || got.BootID != "b" || got.StartedAt != 5 || string(got.Record) != `{"id":"x"}` || !MayHaveRun(dir) {
		t.Errorf("%+v %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, StartMarkFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, StartMarkFile)); err != nil {
		t.Fatal(err)
	}
	if !MayHaveRun(dir) {
		t.Error("what can not be a mark of ours is no mark, and the command runs again")
	}
	if m, err := ParseStartMark([]byte("5b2b2f2e-0a55-4d5b-9d6c-0a1f6a1a1a1a\n")); err != nil || m.BootID == "" {
		t.Errorf("a mark of version 0.1: %+v %v", m, err)
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add([]byte(`{"bootID":"x","startedAt":1,"record":{"id":"y"}}`))
	f.Add([]byte("5b2b2f2e-0a55-4d5b-9d6c-0a1f6a1a1a1a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseStartMark(b)
		if err == nil && m.StartedAt <= 0 && !isBootID(m.BootID) {
			t.Errorf("accepted %+v", m)
		}
		if err == nil && len(m.Record) > 0 && !json.Valid(m.Record) {
			t.Errorf("a record that is no JSON: %q", m.Record)
		}
	})
}

// Only a regular file of this user is read as a record: no link, and nothing
// that keeps its reader waiting.
func TestReadRecord(t *testing.T) {
	dir, _ := openDir(t)
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(other, path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"FIFO":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"large": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, maxRecord+1)
		},
	} {
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if b, err := ReadRecord(dir, name); err == nil {
			t.Errorf("%s: read %d bytes", name, len(b))
		}
	}
	if _, err := ReadRecord(dir, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}
