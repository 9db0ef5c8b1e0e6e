// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// A store is closed to others, and one of somebody else's, or of a newer version, is refused with the cure.
func TestOpen(t *testing.T) {
	top := private(t)
	dir := filepath.Join(top, "a", "b", "images")
	s := open(t, testOptions(dir))
	info, err := os.Stat(dir)
	must(t, err)
	if info.Mode().Perm() != 0o700 || s.Dir() != dir {
		t.Errorf("%s has mode %v", s.Dir(), info.Mode())
	}
	refused := func(what, want string) {
		t.Helper()
		if _, err := Open(t.Context(), testOptions(dir)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	version := filepath.Join(dir, "version")
	good, err := os.ReadFile(version)
	must(t, err)
	must(t, os.WriteFile(version, []byte(`{"format":2}`), 0o600))
	refused("a newer version", "--image-dir")
	must(t, os.WriteFile(version, []byte("nonsense"), 0o600))
	refused("a broken version", "remove "+dir)
	must(t, os.Remove(version))
	must(t, os.Mkdir(filepath.Join(dir, "layers", "1"), 0o700))
	refused("no version", "remove it")
	must(t, os.WriteFile(version, good, 0o600))
	open(t, testOptions(dir))

	open := filepath.Join(top, "open")
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o777))
	dir = filepath.Join(open, "images")
	refused("below a directory of everybody", "everybody")
	if os.Getuid() == 0 {
		dir = filepath.Join(top, "foreign")
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.Chown(dir, 12345, 12345))
		if _, err := Open(t.Context(), testOptions(dir)); !errors.As(err, new(*privatedir.NotOursError)) {
			t.Errorf("somebody else's: %v", err)
		}
	}
	o := testOptions(filepath.Join(top, "mirror"))
	o.Mirrors = map[string][]string{"docker.io": {"ftp://x"}}
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("a mirror that is none")
	}
}

// What was left by those who are gone is swept; who is still there keeps his.
func TestSweep(t *testing.T) {
	s := newStore(t)
	mine, err := s.newWork()
	must(t, err)
	left := filepath.Join(s.dir, tmpPrefix+"left")
	must(t, os.MkdirAll(filepath.Join(left, "layer", "fs"), 0o700))
	stray := filepath.Join(s.images.Path(), ".half")
	must(t, os.WriteFile(stray, nil, 0o600))
	open(t, testOptions(s.dir))
	for path, want := range map[string]bool{mine.dir: true, left: false, stray: false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	s.removeWork(mine)
	clean(t, s)
}

// A record that is damaged is as if it were not there, and the next pull writes it anew.
func TestDamagedRecord(t *testing.T) {
	reg, s := newRegistry(t), newStore(t)
	i := one(t, reg, 100)
	img, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
	path := filepath.Join(s.images.Path(), hexOf(img.ID)+".json")
	for _, text := range []string{"", "{", `{"id":"` + someDigest + `","chain":["` + someDigest + `"]}`} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, ok, err := s.Find(img.ID); ok || err != nil {
			t.Errorf("%q: found %v, %v", text, ok, err)
		}
		if _, err := s.Pull(t.Context(), reg.name(t, "app"), nil, nil); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	// Without one of its layers an image is not here, until it is pulled.
	l, _ := s.layer(chainIDs(diffIDs(i))[0])
	must(t, os.RemoveAll(s.layerDir(l.number)))
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := s.Use(img.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = s.Pull(t.Context(), reg.name(t, "app"), nil, nil)
	must(t, err)
	if content(t, s, img.ID, "f") != noise(1, 100) {
		t.Error("another content")
	}
}

// Records lead nowhere but into the store, and are written as they are read.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"id":"` + someDigest + `","chain":["` + someDigest + `"],"names":{"a":"2026-01-02T03:04:05Z"},"config":{"user":"u"}}`))
	f.Add([]byte(`{"id":"sha256:../../etc","chain":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := readRecord(data)
		if err != nil {
			return
		}
		for _, d := range append([]string{r.ID}, r.Chain...) {
			if strings.Trim(hexOf(d), "0123456789abcdef") != "" || len(d) != len(someDigest) {
				t.Errorf("%q in %q", d, data)
			}
		}
		text, err := json.Marshal(r)
		must(t, err)
		if again, err := readRecord(text); err != nil || again.ID != r.ID || len(again.Names) != len(r.Names) {
			t.Errorf("%q is written as %q: %v", data, text, err)
		}
	})
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/c")
	want := "/c/carillon/images"
	if os.Geteuid() == 0 {
		want = "/var/cache/carillon/images"
	}
	if dir, err := DefaultDir(); err != nil || dir != want {
		t.Errorf("%s, %v", dir, err)
	}
}
