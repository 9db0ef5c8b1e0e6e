// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// e is an entry of a layer: a file with the body, unless it says otherwise.
type e struct {
	name, link, body string
	typ              byte
	mode             int64 // 0 is 0755 for directories and 0644 for others; see modeZero
	uid              int
	mtime            int64 // 0 is 1e9
	xattr            map[string]string
}

// modeZero is a mode without any rights.
const modeZero = 1 << 20

func dir(name string, mode int64) e { return e{name: name + "/", typ: tar.TypeDir, mode: mode} }
func link(name, to string) e        { return e{name: name, link: to, typ: tar.TypeSymlink} }
func hard(name, to string) e        { return e{name: name, link: to, typ: tar.TypeLink} }
func file(name, body string) e      { return e{name: name, body: body} }
func hidden(name string) e {
	return e{name: filepath.Join(filepath.Dir(name), ".wh."+filepath.Base(name))}
}
func opaqueDir(name string) e              { return e{name: name + "/.wh..wh..opq"} }
func moded(name, body string, m int64) e   { return e{name: name, body: body, mode: m} }
func layerOf(t testing.TB, es ...e) []byte { t.Helper(); return archive(t, es) }

func archive(t testing.TB, es []e) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, x := range es {
		h := &tar.Header{
			Name: x.name, Linkname: x.link, Typeflag: x.typ, Mode: x.mode, Uid: x.uid, Gid: x.uid, Size: int64(len(x.body)),
			ModTime: time.Unix(1e9, 0), Format: tar.FormatPAX,
		}
		if x.mtime != 0 {
			h.ModTime = time.Unix(x.mtime, 0)
		}
		switch x.typ {
		case 0:
			h.Typeflag = tar.TypeReg
		case tar.TypeChar, tar.TypeBlock:
			h.Devmajor, h.Devminor = 1, 3
		}
		switch {
		case x.mode == 0 && x.typ == tar.TypeDir:
			h.Mode = 0o755
		case x.mode == 0:
			h.Mode = 0o644
		case x.mode == modeZero:
			h.Mode = 0
		}
		if x.typ == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: x.typ, PAXRecords: map[string]string{"comment": "x"}}
		}
		for k, v := range x.xattr {
			if h.PAXRecords == nil {
				h.PAXRecords = map[string]string{}
			}
			h.PAXRecords[paxXattr+k] = v
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%q: %v", x.name, err)
		}
		if _, err := io.WriteString(w, x.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// In the process that lists a root, tell all of each file. A variable, because functions named init come later.
var _ = func() bool { describe = describeAll; return true }()

// describeAll has a line for each file below the root, and the first for the root.
func describeAll() ([]string, error) {
	var lines []string
	err := fs.WalkDir(os.DirFS("/"), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line, err := describeIn("/", path)
		lines = append(lines, line)
		return err
	})
	return lines, err
}

func describeIn(root, path string) (string, error) {
	full := filepath.Join(root, path)
	var st unix.Stat_t
	if err := unix.Lstat(full, &st); err != nil {
		return "", err
	}
	line := fmt.Sprintf("%s %s %04o", path, kindOf(st.Mode), st.Mode&0o7777)
	if st.Uid != 0 || st.Gid != 0 {
		line += fmt.Sprintf(" %d:%d", st.Uid, st.Gid)
	}
	if st.Mtim.Sec != 1e9 {
		line += " at " + strconv.FormatInt(st.Mtim.Sec, 10)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		f, err := os.Open(full)
		if err != nil {
			return "", err
		}
		defer f.Close()
		body, err := io.ReadAll(io.LimitReader(f, 40))
		if err != nil {
			return "", err
		}
		line += fmt.Sprintf(" %dx %q", st.Nlink, body)
	case unix.S_IFLNK:
		to, err := os.Readlink(full)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s -> %s", path, to), nil
	}
	var names [4096]byte
	if n, err := unix.Llistxattr(full, names[:]); err == nil && n > 0 {
		all := strings.Split(strings.TrimRight(string(names[:n]), "\x00"), "\x00")
		slices.Sort(all)
		line += " " + strings.Join(all, ",")
	}
	return line, nil
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFREG:
		return "file"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "fifo"
	}
	return "other"
}

// rig is a store for tests.
type rig struct {
	t     testing.TB
	store string
	form  Form
	n     int
}

// bestForm is found out once for all tests.
var bestForm = sync.OnceValues(func() (Form, error) {
	store, err := os.MkdirTemp("", "probe")
	if err != nil {
		return Form{}, err
	}
	defer func() { _ = Remove(store) }() // an empty directory stays where it does not work
	return FindForm(context.Background(), store)
})

// mustForm is bestForm, for tests that make no sense without one.
func mustForm(t testing.TB) Form {
	t.Helper()
	form, err := bestForm()
	if errors.As(err, new(*UnsupportedError)) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// forms calls f with a store of each form that is possible.
func forms(t *testing.T, f func(t *testing.T, g *rig)) {
	t.Helper()
	best := mustForm(t)
	all := []Form{best}
	if !best.Flat {
		all = append(all, Form{Flat: true})
	}
	for _, form := range all {
		t.Run(form.String(), func(t *testing.T) { f(t, &rig{t: t, store: newStore(t), form: form}) })
	}
}

func newStore(t testing.TB) string {
	t.Helper()
	store, err := os.MkdirTemp("", "store")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Remove(store); err != nil {
			t.Error(err)
		}
	})
	return store
}

func (g *rig) mkdir() string {
	g.n++
	path := filepath.Join(g.store, strconv.Itoa(g.n))
	if err := os.Mkdir(path, 0o755); err != nil {
		g.t.Fatal(err)
	}
	return path
}

// apply applies layers one after the other, and gives the directories to mount, the topmost first.
func (g *rig) apply(layers ...[]byte) ([]string, error) {
	g.t.Helper()
	var dirs []string
	for i, layer := range layers {
		target := g.mkdir()
		if err := os.Chtimes(target, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			g.t.Fatal(err)
		}
		r := Request{Form: g.form, Store: g.store, Target: target, Work: g.mkdir(), Lowers: dirs, Compressed: bytes.NewReader(layer)}
		if g.form.Flat && i > 0 {
			if err := Copy(g.ctx(), g.store, dirs[0], target); err != nil {
				return nil, err
			}
		}
		if g.form.Flat {
			r.Lowers = nil
		}
		if _, err := Layer(g.ctx(), r); err != nil {
			return dirs, fmt.Errorf("layer %d: %w", i, err)
		}
		dirs = append([]string{target}, dirs...)
	}
	return dirs, nil
}

func (g *rig) ctx() context.Context {
	if t, ok := g.t.(*testing.T); ok {
		return t.Context()
	}
	return context.Background()
}

// view is what a container sees of layers.
func (g *rig) view(dirs []string) []string {
	g.t.Helper()
	j := job{Do: doDescribe, Form: g.form, Target: dirs[0]}
	if !g.form.Flat {
		j.Target, j.Work, j.Lowers = g.mkdir(), g.mkdir(), dirs
	}
	a, err := run(g.ctx(), g.store, j, nil, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return a.Names
}
