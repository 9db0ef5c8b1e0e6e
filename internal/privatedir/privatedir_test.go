// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privatedir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stranger is a user id that no account of a usual machine has.
const stranger = 2001

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files to somebody else")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// private makes a directory that Open takes.
func private(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Chmod(dir, 0o700))
	return dir
}

func wantNotOurs(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.As(err, new(*NotOursError)) {
		t.Fatalf("got %v, want a NotOursError", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q has more than one line", err)
	}
}

// A directory is taken only if it is ours and closed to others; the refusal names the owner and the cure.
func TestOpen(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string)
		root bool
		want []string // nil: it is taken
	}{
		"ours": {make: func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }},
		"a link to ours": {
			make: func(t *testing.T, path string) {
				must(t, os.Mkdir(path+".to", 0o700))
				must(t, os.Symlink(path+".to", path))
			},
			want: []string{"is a link", "remove the link"},
		},
		"readable by others": {
			make: func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)); must(t, os.Chmod(path, 0o755)) },
			want: []string{"0755", "chmod 0700"},
		},
		"somebody else's": {
			make: func(t *testing.T, path string) {
				must(t, os.Mkdir(path, 0o700))
				must(t, os.Chown(path, stranger, stranger))
			},
			root: true, want: []string{"user 2001", "choose a directory of your own"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.root {
				needRoot(t)
			}
			path := filepath.Join(private(t), "d")
			tt.make(t, path)
			d, err := Open(path)
			if tt.want == nil {
				must(t, err)
				d.Close()
				return
			}
			wantNotOurs(t, err, append(tt.want, path)...)
		})
	}
}

// What is only read need not be closed to others, but nobody else may have written it.
func TestCheck(t *testing.T) {
	for mode, good := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o775: false, 0o702: false} {
		dir := filepath.Join(private(t), "d")
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.Chmod(dir, mode))
		link := dir + "-link"
		must(t, os.Symlink(dir, link))
		for _, path := range []string{dir, link} {
			if err := Check(path); good {
				must(t, err)
			} else {
				wantNotOurs(t, err, dir, "chmod 0700")
			}
		}
	}
	if err := Check(filepath.Join(private(t), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	if os.Geteuid() == 0 {
		dir := private(t)
		must(t, os.Chown(dir, stranger, stranger))
		wantNotOurs(t, Check(dir), "user 2001")
	}
}

// Make narrows what only we can have filled, and refuses, without changing it, what others may have filled.
func TestMake(t *testing.T) {
	for name, tt := range map[string]struct {
		mode    os.FileMode
		content bool
		refused bool
	}{
		"readable, empty":     {0o755, false, false},
		"readable, filled":    {0o755, true, false},
		"writable, empty":     {0o775, false, false},
		"writable, filled":    {0o777, true, true},
		"group, filled":       {0o770, true, true},
		"ours alone, filled":  {0o700, true, false},
		"not there":           {0, false, false},
		"sticky, not private": {0o777 | os.ModeSticky, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(private(t), "a", "b")
			if tt.mode != 0 {
				must(t, os.MkdirAll(path, 0o700))
				must(t, os.Chmod(path, tt.mode))
			}
			if tt.content {
				must(t, os.WriteFile(filepath.Join(path, "ca.pem"), nil, 0o600))
			}
			d, err := Make(path)
			info, serr := os.Stat(path)
			must(t, serr)
			if tt.refused {
				wantNotOurs(t, err, path, "chmod 0700")
				if got := info.Mode() &^ os.ModeDir; got != tt.mode {
					t.Errorf("the refusal left mode %v of %v", got, tt.mode)
				}
				return
			}
			must(t, err)
			defer d.Close()
			if info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v", info.Mode())
			}
			sub, err := d.Sub("s")
			must(t, err)
			sub.Close()
		})
	}
}

// A path is resolved once, and only through what nobody else can exchange.
func TestResolve(t *testing.T) {
	base := private(t)
	for _, dir := range []string{"real/data", "open/data", "sticky/data", "theirs/data", "links"} {
		must(t, os.MkdirAll(filepath.Join(base, dir), 0o700))
	}
	must(t, os.Chmod(filepath.Join(base, "open"), 0o777))
	must(t, os.Chmod(filepath.Join(base, "sticky"), 0o777|os.ModeSticky))
	link := func(name, target string) { must(t, os.Symlink(target, filepath.Join(base, "links", name))) }
	link("absolute", filepath.Join(base, "real"))
	link("relative", "../real")
	link("chain", "relative")
	link("loop", "loop")
	link("theirs", "../real")
	must(t, os.WriteFile(filepath.Join(base, "file"), nil, 0o600))
	owned := os.Geteuid() == 0
	if owned {
		must(t, os.Lchown(filepath.Join(base, "links", "theirs"), stranger, stranger))
		must(t, os.Lchown(filepath.Join(base, "theirs"), stranger, stranger))
	}
	for name, tt := range map[string]struct {
		path, want string
		refused    []string
		err        error
		root       bool
	}{
		"plain":                        {path: "real/data", want: "real/data"},
		"not there":                    {path: "real/new/er", want: "real/new/er"},
		"an absolute link":             {path: "links/absolute/data", want: "real/data"},
		"a relative link":              {path: "links/relative/data", want: "real/data"},
		"a link to a link":             {path: "links/chain/data", want: "real/data"},
		"up again from behind a link":  {path: "links/chain/../real", want: "real"},
		"a loop":                       {path: "links/loop/data", err: unix.ELOOP},
		"below a file":                 {path: "file/data", want: "file/data"},
		"where anybody may exchange":   {path: "open/data", refused: []string{"everybody", "only you or root"}},
		"where all keep what is their": {path: "sticky/data", want: "sticky/data"},
		"somebody else's link":         {path: "links/theirs/data", refused: []string{"user 2001", "without that link"}, root: true},
		"in somebody else's":           {path: "theirs/data", refused: []string{"user 2001", "only you or root"}, root: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.root && !owned {
				t.Skip("needs root to give files to somebody else")
			}
			// Not Join, which would clean the path.
			got, err := Resolve(base + "/" + tt.path)
			switch {
			case tt.refused != nil:
				wantNotOurs(t, err, tt.refused...)
			case tt.err != nil:
				if !errors.Is(err, tt.err) {
					t.Errorf("got %q, %v; want %v", got, err, tt.err)
				}
			case err != nil || got != filepath.Join(base, tt.want):
				t.Errorf("got %q, %v; want %q", got, err, filepath.Join(base, tt.want))
			}
		})
	}
}

// Files are opened only if they are regular, ours, and have one name; whatever they are instead stays as it was.
func TestOpenFile(t *testing.T) {
	const precious = "do not truncate"
	for name, tt := range map[string]struct {
		make func(t *testing.T, path, victim string)
		root bool
	}{
		"a link":      {make: func(t *testing.T, path, victim string) { must(t, os.Symlink(victim, path)) }},
		"a hard link": {make: func(t *testing.T, path, victim string) { must(t, os.Link(victim, path)) }},
		"a pipe":      {make: func(t *testing.T, path, _ string) { must(t, unix.Mkfifo(path, 0o600)) }},
		"a directory": {make: func(t *testing.T, path, _ string) { must(t, os.Mkdir(path, 0o700)) }},
		"somebody else's": {root: true, make: func(t *testing.T, path, _ string) {
			must(t, os.WriteFile(path, nil, 0o666))
			must(t, os.Chown(path, stranger, stranger))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.root {
				needRoot(t)
			}
			dir := private(t)
			victim := filepath.Join(dir, "victim")
			must(t, os.WriteFile(victim, []byte(precious), 0o600))
			d, err := Open(dir)
			must(t, err)
			defer d.Close()
			tt.make(t, filepath.Join(dir, "f"), victim)
			for _, flags := range []int{os.O_RDONLY, os.O_RDWR | os.O_CREATE | os.O_TRUNC, os.O_WRONLY | os.O_APPEND | os.O_CREATE} {
				if f, err := d.OpenFile("f", flags); err == nil {
					t.Errorf("flags %#x: opened %s", flags, f.Name())
					f.Close()
				}
			}
			if data, err := os.ReadFile(victim); err != nil || string(data) != precious {
				t.Errorf("the file behind it now holds %q (%v)", data, err)
			}
		})
	}
	d, err := Open(private(t))
	must(t, err)
	defer d.Close()
	for _, name := range []string{"", ".", "..", "a/b", "/etc/passwd", "../x"} {
		if _, err := d.OpenFile(name, os.O_RDONLY); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What is written is there whole, with a mode for us alone, in the place of what was there, link or not.
func TestWriteFile(t *testing.T) {
	dir := private(t)
	victim := filepath.Join(dir, "victim")
	must(t, os.WriteFile(victim, []byte("old"), 0o644))
	must(t, os.Symlink(victim, filepath.Join(dir, "f")))
	for _, text := range []string{"one", "", "three"} {
		must(t, WriteFile(filepath.Join(dir, "f"), []byte(text)))
		data, err := ReadFile(filepath.Join(dir, "f"), 5)
		if err != nil || string(data) != text {
			t.Fatalf("read %q (%v), want %q", data, err, text)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "f"), 4); err == nil {
		t.Error("a file longer than the limit was read")
	}
	if data, _ := os.ReadFile(victim); string(data) != "old" {
		t.Errorf("the link's target holds %q", data)
	}
	if info, err := os.Lstat(filepath.Join(dir, "f")); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left %v (%v)", entries, err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
