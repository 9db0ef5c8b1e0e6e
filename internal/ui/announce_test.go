// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ui

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/datadir"
)

// The address of a page is found while it is served, by its user alone, and only where he has put it.
func TestAnnounce(t *testing.T) {
	const address = "http://127.0.0.1:7311/?token=x"
	for name, test := range map[string]struct {
		change func(t *testing.T, dir string, withdraw func())
		want   string
	}{
		"it is served": {func(*testing.T, string, func()) {}, address},
		"it has ended": {func(_ *testing.T, _ string, withdraw func()) { withdraw() }, ""},
		"it was killed": {func(t *testing.T, dir string, withdraw func()) {
			withdraw()
			if err := os.WriteFile(datadir.Page(dir), []byte(address), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"others can open the directory": {func(t *testing.T, dir string, _ func()) {
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as somebody careless would
				t.Fatal(err)
			}
		}, ""},
		"a link in its place": {func(t *testing.T, dir string, _ func()) {
			other := datadir.Page(dir) + "-other"
			if err := os.Rename(datadir.Page(dir), other); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(other, datadir.Page(dir)); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"a pipe in its place": {func(t *testing.T, dir string, withdraw func()) {
			withdraw()
			if err := unix.Mkfifo(datadir.Page(dir), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"no directory": {func(t *testing.T, dir string, _ func()) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			withdraw, err := Announce(dir, address)
			if err != nil {
				t.Fatal(err)
			}
			defer withdraw()
			if info, err := os.Stat(datadir.Page(dir)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			test.change(t, dir, withdraw)
			if got := Announced(dir); got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// What a kill has left is replaced, and a second page beside the first is refused.
func TestAnnounceAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(datadir.Page(dir), []byte("http://127.0.0.1:7311/?token=a-long-one-from-before-the-kill\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	withdraw, err := Announce(dir, "http://127.0.0.1:7312/")
	if err != nil {
		t.Fatal(err)
	}
	if got := Announced(dir); got != "http://127.0.0.1:7312/" {
		t.Errorf("got %q", got)
	}
	if again, err := Announce(dir, "http://127.0.0.1:7313/"); err == nil {
		again()
		t.Error("two pages are announced")
	}
	withdraw()
	if _, err := os.Stat(datadir.Page(dir)); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
