// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// node is a file of an image in memory. Files never change, so a hard link is the same node twice.
type node struct {
	kind  byte // of an entry: file, directory, link or fifo
	text  string
	mode  int64
	mtime int64
	files map[string]*node // of a directory
	layer map[string]bool  // which of them come from the layer that is being applied, or hold something that does
}

func newDirectory(mode, mtime int64) *node {
	return &node{kind: tar.TypeDir, mode: mode, mtime: mtime, files: map[string]*node{}, layer: map[string]bool{}}
}

var errModel = errors.New("refused")

// walk finds the directory of a name, and the names that lead to it without links.
func (n *node) walk(dir string, make bool) ([]*node, []string, error) {
	at, names := []*node{n}, []string{}
	rest := strings.Split(dir, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(names) > 0 {
				at, names = at[:len(at)-1], names[:len(names)-1]
			}
			continue
		}
		here := at[len(at)-1]
		next := here.files[part]
		switch {
		case next == nil && !make:
			return nil, nil, nil
		case next == nil:
			next = newDirectory(0o755, here.mtime)
			here.files[part] = next
		case next.kind == tar.TypeSymlink:
			if links++; links > maxLinks {
				return nil, nil, errModel
			}
			if next.text[0] == '/' {
				at, names = at[:1], nil
			}
			rest = append(strings.Split(next.text, "/"), rest...)
			continue
		case next.kind != tar.TypeDir && !make:
			return nil, nil, nil
		case next.kind != tar.TypeDir:
			return nil, nil, errModel
		}
		at, names = append(slices.Clone(at), next), append(slices.Clone(names), part)
	}
	return at, names, nil
}

// apply applies one entry.
func (n *node) apply(x e) error {
	name := path.Clean("/" + x.name)[1:]
	dirName, base := path.Split(name)
	if hides, ok := strings.CutPrefix(base, ".wh."); ok {
		at, _, err := n.walk(dirName, false)
		if err != nil || at == nil {
			return err
		}
		if hides == ".wh..opq" {
			at[len(at)-1].hideAll()
		} else {
			at[len(at)-1].hide(hides)
		}
		return nil
	}
	var made *node
	var target []string
	if x.typ == tar.TypeLink {
		toDir, toName := path.Split(path.Clean("/" + x.link)[1:])
		at, names, err := n.walk(toDir, false)
		if err != nil {
			return err
		}
		if at == nil || at[len(at)-1].files[toName] == nil {
			return errModel
		}
		if made = at[len(at)-1].files[toName]; made.kind == tar.TypeDir {
			return errModel
		}
		target = append(slices.Clone(names), toName)
	}
	at, names, err := n.walk(dirName, true)
	if err != nil {
		return err
	}
	parent := at[len(at)-1]
	switch x.typ {
	case tar.TypeLink:
		if here := append(slices.Clone(names), base); len(target) > len(here) && slices.Equal(target[:len(here)], here) {
			return errModel // it goes before there is a link to it
		}
	case tar.TypeDir:
		if made = parent.files[base]; made == nil || made.kind != tar.TypeDir {
			made = newDirectory(0, 0)
		}
		made.mode, made.mtime = x.mode, x.mtime
	default:
		made = &node{kind: x.typ, text: x.body + x.link, mode: x.mode, mtime: x.mtime}
	}
	parent.files[base], parent.layer[base] = made, true
	for i, name := range names {
		at[i].layer[name] = true
	}
	return nil
}

func (n *node) hide(name string) {
	switch f := n.files[name]; {
	case f == nil:
	case !n.layer[name]:
		delete(n.files, name)
	case f.kind == tar.TypeDir:
		f.hideAll()
	}
}

func (n *node) hideAll() {
	for name := range maps.Clone(n.files) {
		n.hide(name)
	}
}

// begin begins a new layer.
func (n *node) begin() {
	n.layer = map[string]bool{}
	for _, f := range n.files {
		if f.kind == tar.TypeDir {
			f.begin()
		}
	}
}

// lines are what a container sees of the model.
func (n *node) lines(at string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(n.files)) {
		f, full := n.files[name], path.Join(at, name)
		switch f.kind {
		case tar.TypeDir:
			line := fmt.Sprintf("%s dir %04o", full, f.mode)
			if f.mtime != 1e9 {
				line += fmt.Sprintf(" at %d", f.mtime)
			}
			all = append(append(all, line), f.lines(full)...)
		case tar.TypeSymlink:
			all = append(all, full+" -> "+f.text)
		case tar.TypeFifo:
			all = append(all, fmt.Sprintf("%s fifo %04o at %d", full, f.mode, f.mtime))
		default:
			all = append(all, fmt.Sprintf("%s file %04o at %d %q", full, f.mode, f.mtime, f.text))
		}
	}
	return all
}

// entries are random ones over few names, so that they meet.
func entries(t *rapid.T) []e {
	part := rapid.SampledFrom([]string{"a", "b", "c"})
	name := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/") })
	target := rapid.OneOf(name, rapid.Map(name, func(s string) string { return "/" + s }), rapid.Map(name, func(s string) string { return "../" + s }), rapid.Just(".."))
	count := 0
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) e {
		count++
		x := e{name: name.Draw(t, "name"), mtime: 1e6 + int64(rapid.IntRange(0, 1000).Draw(t, "mtime")), mode: rapid.SampledFrom([]int64{0o400, 0o555, 0o644, 0o755, 0o4711}).Draw(t, "mode")}
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0, 1, 2:
			x.typ, x.body = tar.TypeReg, fmt.Sprint("content ", count)
		case 3, 4, 5:
			x.typ, x.name = tar.TypeDir, x.name+"/"
		case 6, 7:
			x.typ, x.link = tar.TypeSymlink, target.Draw(t, "target")
		case 8:
			x.typ, x.link = tar.TypeLink, target.Draw(t, "target")
		case 9:
			x.typ = tar.TypeFifo
		case 10:
			x = hidden(x.name)
		case 11:
			x = opaqueDir(x.name)
		}
		return x
	}), 1, 8).Draw(t, "layer")
}

// Whatever layers hold and in whatever order: what is seen through overlays is what is seen in the flat form, and what
// the specification says, as the model does.
func TestModel(t *testing.T) {
	form := mustForm(t)
	rapid.Check(t, func(rt *rapid.T) {
		store := newStoreFor(rt)
		defer func() { _ = Remove(store) }()
		g := &rig{t: t, store: store, form: form}
		flat := &rig{t: t, store: store, form: Form{Flat: true}, n: 1000}
		model := newDirectory(0o755, 1e9)
		var layers [][]byte
		refused := false
		for range rapid.IntRange(1, 4).Draw(rt, "layers") {
			all := entries(rt)
			layers = append(layers, layerOf(t, all...))
			model.begin()
			for _, x := range all {
				if model.apply(x) != nil {
					refused = true
				}
				if refused {
					break
				}
			}
			if refused {
				break
			}
		}
		for _, g := range []*rig{g, flat} {
			dirs, err := g.apply(layers...)
			if refused {
				if !errors.Is(err, ErrArchive) || len(dirs) != len(layers)-1 {
					rt.Fatalf("%v: got %v, want a refusal of layer %d", g.form, err, len(layers)-1)
				}
				continue
			}
			if err != nil {
				rt.Fatalf("%v: %v", g.form, err)
			}
			if diff := cmp.Diff(model.lines(""), plainLines(g.view(dirs))); diff != "" {
				rt.Fatalf("%v: -model +got:\n%s", g.form, diff)
			}
		}
	})
}

// plainLines are those of a view without the root and without counts of links, which an overlay does not keep.
func plainLines(view []string) []string {
	var lines []string
	for _, line := range view[1:] {
		for _, n := range []string{" 1x", " 2x", " 3x", " 4x", " 5x", " 6x"} {
			line = strings.Replace(line, n+` "`, ` "`, 1)
		}
		lines = append(lines, line)
	}
	return lines
}

func newStoreFor(t *rapid.T) string {
	store, err := os.MkdirTemp("", "model")
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// FuzzLayer tries archives that nobody would make, without a namespace: nothing outside the root changes, nothing that
// was refused is left half open, and what was made can be removed.
func FuzzLayer(f *testing.F) {
	for _, es := range [][]e{
		{dir("d", 0o555), file("d/f", "f"), link("l", "../.."), file("l/x", "x"), hard("h", "d/f"), hidden("d/f"), opaqueDir("d")},
		{link("a", "/outside"), file("a/b", ""), hard("c", "../outside/precious"), file("../outside/precious", "x"), hidden("../outside"), link("e", "..")},
		{{name: "x", typ: tar.TypeFifo, xattr: map[string]string{"user.a": "b"}}, file("x", "y"), {name: "n", typ: tar.TypeChar}},
	} {
		f.Add(archive(f, es))
	}
	f.Add(sparse(f, 1<<20))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		for at := 0; at+512 <= len(data); at += 512 { // an archive with wrong sums is not read at all
			if data[at+257] == 'u' {
				checksum(data[at:])
			}
		}
		store := t.TempDir()
		root, outside := filepath.Join(store, "root"), filepath.Join(store, "outside")
		for _, dir := range []string{root, outside} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(outside, "precious"), []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := everything(t, outside)
		files := openFiles(t)
		result, err := applyLayer(root, bytes.NewReader(data), Limits{Entries: 1000, Bytes: 1 << 20}, false)
		if err == nil && (result.Entries > 1000 || result.Size > 1<<20) {
			t.Errorf("made %+v", result)
		}
		if now := openFiles(t); now != files {
			t.Errorf("%d files are open, %d were", now, files)
		}
		if diff := cmp.Diff(before, everything(t, outside)); diff != "" {
			t.Errorf("outside: %s", diff)
		}
		if left, err := os.ReadDir(store); err != nil || len(left) != 2 {
			t.Errorf("beside the root: %v %v", left, err)
		}
		if err := Remove(root); err != nil {
			t.Error(err)
		}
	})
}

func everything(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line, err := describeIn("/", path)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
