// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// A backup appears whole, for its owner alone, and takes the place of a file alone, when it may.
func TestOutput(t *testing.T) {
	cases := map[string]struct {
		make  func(path string) error
		force bool
		want  string
	}{
		"new":                 {make: func(string) error { return nil }},
		"there":               {make: func(p string) error { return os.WriteFile(p, []byte("old"), 0o644) }, want: "is there already"},
		"there, by force":     {make: func(p string) error { return os.WriteFile(p, []byte("old"), 0o644) }, force: true},
		"directory":           {make: func(p string) error { return os.Mkdir(p, 0o700) }, force: true, want: "is a directory"},
		"link":                {make: func(p string) error { return os.Symlink("other", p) }, force: true, want: "is a link"},
		"pipe":                {make: func(p string) error { return unix.Mkfifo(p, 0o600) }, force: true, want: "no regular file"},
		"link, no force":      {make: func(p string) error { return os.Symlink("other", p) }, want: "is a link"},
		"nobody's directory":  {make: func(p string) error { return os.Remove(filepath.Dir(p)) }, want: "is not there"},
		"anybody's directory": {make: func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, want: "nobody else may be able to exchange it"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "b")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			f, err := openOutput(path, c.force)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString("new"); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(path); string(text) == "new" {
				t.Errorf("it is there before it is whole: %v", err)
			}
			if err := f.commit(); err != nil {
				t.Fatal(err)
			}
			f.abandon()
			text, err := os.ReadFile(path)
			info, _ := os.Stat(path)
			if string(text) != "new" || info.Mode() != 0o600 {
				t.Errorf("%q, %v, %v", text, info.Mode(), err)
			}
			wantNames(t, dir, "b")
		})
	}
}

// What a killed backup left is removed by the next one of that name, and what one is at is not; a name may be as long
// as they get.
func TestOutputSweep(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("n", 255)
	killed, err := openOutput(filepath.Join(dir, name), false)
	if err != nil {
		t.Fatal(err)
	}
	killed.File.Close() // as the kernel does
	busy, err := openOutput(filepath.Join(dir, "b"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"b", name} {
		f, err := openOutput(filepath.Join(dir, path), false)
		if err != nil {
			t.Fatal(err)
		}
		if path == name {
			err = f.commit()
		}
		f.abandon()
		if err != nil {
			t.Fatal(err)
		}
	}
	wantNames(t, dir, busy.tmp, name)
	if err := busy.commit(); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "b", name)
}

// What came meanwhile is not replaced, and what is abandoned is gone.
func TestOutputMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b")
	f, err := openOutput(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mine *RequestError
	if err := f.commit(); !errors.As(err, &mine) {
		t.Errorf("commit: %v", err)
	}
	wantNames(t, dir, "b")
	if text, _ := os.ReadFile(path); string(text) != "theirs" {
		t.Errorf("%q", text)
	}
	if f, err = openOutput(filepath.Join(dir, "c"), false); err != nil {
		t.Fatal(err)
	}
	f.abandon()
	wantNames(t, dir, "b")
	if _, err := openOutput(dir+"/", false); !errors.As(err, &mine) {
		t.Errorf("a name that ends with a slash: %v", err)
	}
}

// A backup is believed if it is the user's own file; a link to it is as good.
func TestInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b")
	cases := map[string]struct {
		make func() error
		want string
	}{
		"none":      {func() error { return nil }, "there is no file"},
		"own":       {func() error { return os.WriteFile(path, nil, 0o600) }, ""},
		"readable":  {func() error { return os.WriteFile(path, nil, 0o644) }, ""},
		"writable":  {func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o620)) }, "can be written by others"},
		"directory": {func() error { return os.Mkdir(path, 0o700) }, "is a directory"},
		"pipe":      {func() error { return unix.Mkfifo(path, 0o600) }, "no regular file"},
		"link":      {func() error { return errors.Join(os.WriteFile(path+".x", nil, 0o600), os.Symlink(path+".x", path)) }, ""},
		"device":    {func() error { return os.Symlink("/dev/zero", path) }, "no regular file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			defer os.RemoveAll(path)
			if err := c.make(); err != nil {
				t.Fatal(err)
			}
			f, err := openInput(path)
			if err == nil {
				f.Close()
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
	t.Run("somebody else's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can make a file of another user")
		}
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 12345, 0)); err != nil {
			t.Fatal(err)
		}
		var theirs *privatedir.NotOursError
		if _, err := openInput(path); !errors.As(err, &theirs) {
			t.Errorf("got error %v", err)
		}
	})
}

// wantNames tells what else is in a directory than what should be.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("in %s: %v, want %v", dir, names, want)
	}
}
