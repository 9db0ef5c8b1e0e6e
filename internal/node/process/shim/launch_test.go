// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A command is found as a shell finds it.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o755, "bin/data": 0o644, "other/data": 0o755, "work/local": 0o755} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(dir, "work")
	path := "PATH=" + dir + "/none:" + dir + "/bin:" + dir + "/other:"
	for name, tc := range map[string]struct {
		cmd, want string
		code      int
		env       []string
	}{
		"in PATH":                       {"tool", "bin/tool", 0, []string{path}},
		"the executable one of two":     {"data", "other/data", 0, []string{path}},
		"current directory in PATH":     {"local", "work/local", 0, []string{path}},
		"relative to the directory":     {"./local", "work/local", 0, nil},
		"parent of the directory":       {"../bin/tool", "bin/tool", 0, nil},
		"absolute":                      {filepath.Join(dir, "bin/tool"), "bin/tool", 0, nil},
		"the last PATH counts":          {"tool", "", 127, []string{path, "PATH=/none"}},
		"no PATH":                       {"tool", "", 127, nil},
		"found, but not to be executed": {"data", "", 126, []string{"PATH=" + dir + "/bin"}},
		"not found":                     {"nothing", "", 127, []string{path}},
		"empty":                         {"", "", 127, []string{path}},
		"below a file":                  {filepath.Join(dir, "bin/tool/x"), "", 127, nil},
	} {
		got, err := lookPath(tc.cmd, work, tc.env, false)
		if tc.code != 0 {
			if err == nil || ExitCode(err) != tc.code {
				t.Errorf("%s: %q %v, want code %d", name, got, err, tc.code)
			}
			continue
		}
		if err != nil || got != filepath.Join(dir, tc.want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// Everything below a process is found once, and a circle, which can appear
// while /proc is read, ends.
func TestDescendants(t *testing.T) {
	tree := Processes{children: map[int][]int{1: {2, 3}, 2: {4}, 4: {5, 1}, 7: {8}}}
	got := tree.Descendants(1)
	slices.Sort(got)
	if !slices.Equal(got, []int{2, 3, 4, 5}) {
		t.Errorf("%v", got)
	}
	if !slices.Contains(ProcessTree().Descendants(os.Getppid()), os.Getpid()) {
		t.Error("this process is not below its parent")
	}
}

// Exit codes are those that a shell shows.
func TestDecode(t *testing.T) {
	for ws, want := range map[unix.WaitStatus][2]int{0: {0, 0}, 3 << 8: {3, 0}, 255 << 8: {255, 0}, 9: {137, 9}, 15: {143, 15}, 6 | 0x80: {134, 6}} {
		if code, sig := decode(ws); code != want[0] || sig != want[1] {
			t.Errorf("%#x: %d %d, want %v", uint32(ws), code, sig, want)
		}
	}
}
