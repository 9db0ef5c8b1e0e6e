// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/version"
)

// now is when the tests happen.
var now = time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)

func nobody(int) {}

func manifest(bytes int64) *Manifest {
	return &Manifest{Format: formatName, FormatVersion: formatVersion, Carillon: "dev", Kubernetes: version.Kubernetes, Created: now, Node: "box", Bytes: bytes}
}

// memory keeps parts in memory.
type memory map[string]*bytes.Buffer

func (m memory) begin(*Manifest) error { return nil }

func (m memory) part(p part, _ int64) (io.WriteCloser, error) {
	m[p.name] = &bytes.Buffer{}
	return nopCloser{m[p.name]}, nil
}

type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }

// archive makes a good one.
func archive(t interface{ Fatal(...any) }, parts map[string]string) []byte {
	var b bytes.Buffer
	var size int64
	for _, content := range parts {
		size += int64(len(content))
	}
	a, err := newArchiveWriter(context.Background(), &b, manifest(size), nobody)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range parts {
		if err := a.add(name, int64(len(content)), strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var goodParts = map[string]string{
	storePart: "a store", journalPart: "a journal", nodeNamePart: "box\n", "control-plane/pki/ca.pem": "a key",
	"journal/ended/0a1b/record.json": "{}", "journal/ended/0a1b/0.log": "a line\n",
}

// What was written is read.
func TestArchiveRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := map[string]string{}
		for name := range goodParts {
			if rapid.Bool().Draw(t, name) {
				parts[name] = string(rapid.SliceOf(rapid.Byte()).Draw(t, "content of "+name))
			}
		}
		got := memory{}
		m, err := readArchive(context.Background(), bytes.NewReader(archive(t, parts)), got, nobody)
		if err != nil {
			t.Fatal(err)
		}
		if m.Node != "box" || !m.Created.Equal(now) {
			t.Errorf("manifest: %+v", m)
		}
		if len(got) != len(parts) {
			t.Errorf("%d parts, want %d", len(got), len(parts))
		}
		for name, content := range parts {
			if got[name] == nil || got[name].String() != content {
				t.Errorf("%s: got %v, want %q", name, got[name], content)
			}
		}
	})
}

// An archive that lost its end, or in which any byte is another, is refused.
func TestArchiveDamaged(t *testing.T) {
	whole := archive(t, goodParts)
	for n := range whole {
		if _, err := readArchive(t.Context(), bytes.NewReader(whole[:n]), memory{}, nobody); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a backup", n, len(whole))
		}
	}
	for n := range whole {
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x10
		got := memory{}
		if _, err := readArchive(t.Context(), bytes.NewReader(damaged), got, nobody); err == nil {
			// A bit of the frame that means nothing: then all must be as it was.
			for name, content := range goodParts {
				if got[name].String() != content {
					t.Fatalf("byte %d damaged: %s is %q, and nobody says so", n, name, got[name])
				}
			}
		}
	}
}

// entry is one of a hostile archive.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o600}, content}
}

func asJSON(t *testing.T, content any) string {
	t.Helper()
	b, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sums is the right last part for what comes before it.
func sums(t *testing.T, entries []entry) entry {
	t.Helper()
	var c checksums
	for _, e := range entries {
		sum := sha256.Sum256([]byte(e.content))
		c.Parts = append(c.Parts, checksum{e.Name, int64(len(e.content)), hex.EncodeToString(sum[:])})
	}
	return file(checksumsPart, asJSON(t, c))
}

func packed(t *testing.T, entries []entry, after string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zip)
	for _, e := range entries {
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(zip, after); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever an archive has that ours never have is refused before it is believed.
func TestHostileArchives(t *testing.T) {
	head := func(change func(*Manifest)) entry {
		m := manifest(5)
		if change != nil {
			change(m)
		}
		return file(manifestPart, asJSON(t, m))
	}
	withSums := func(entries ...entry) []entry { return append(entries, sums(t, entries)) }
	link := func(kind byte) entry {
		return entry{tar.Header{Typeflag: kind, Name: nodeNamePart, Linkname: "/etc/passwd"}, ""}
	}
	node := file(nodeNamePart, "box12")
	cases := map[string]struct {
		entries []entry
		after   string
		want    string // "" is none
	}{
		"good":             {entries: withSums(head(nil), node)},
		"no manifest":      {entries: withSums(node), want: "no backup of Carillon"},
		"another tar":      {entries: []entry{file("etc/passwd", "root")}, want: "no backup of Carillon"},
		"later format":     {entries: withSums(head(func(m *Manifest) { m.FormatVersion = 2 }), node), want: "later Carillon (format 2, and this one has 1): restore it with that version"},
		"later Kubernetes": {entries: withSums(head(func(m *Manifest) { m.Kubernetes = "v1.99.0" }), node), want: "later Carillon (Kubernetes v1.99.0"},
		"later patch": {entries: withSums(head(func(m *Manifest) {
			m.Kubernetes = strings.Split(version.Kubernetes, ".")[0] + "." + strings.Split(version.Kubernetes, ".")[1] + ".99"
		}), node)},
		"foreign manifest":      {entries: withSums(head(func(m *Manifest) { m.Format = "other" }), node), want: "no backup of Carillon"},
		"node with a path":      {entries: withSums(head(func(m *Manifest) { m.Node = "../x" }), node), want: "no name of one"},
		"path upwards":          {entries: withSums(head(nil), file("journal/ended/../../x", "12345")), want: "no part of a backup"},
		"absolute path":         {entries: withSums(head(nil), file("/node-name", "12345")), want: "no part of a backup"},
		"ended upwards":         {entries: withSums(head(nil), file("journal/ended/../record.json", "12345")), want: "no part of a backup"},
		"ended, hidden":         {entries: withSums(head(nil), file("journal/ended/.a/record.json", "12345")), want: "no part of a backup"},
		"ended, strange file":   {entries: withSums(head(nil), file("journal/ended/a/run.sh", "12345")), want: "no part of a backup"},
		"ended, deeper":         {entries: withSums(head(nil), file("journal/ended/a/b/0.log", "12345")), want: "no part of a backup"},
		"symbolic link":         {entries: withSums(head(nil), link(tar.TypeSymlink)), want: "no regular file"},
		"hard link":             {entries: withSums(head(nil), link(tar.TypeLink)), want: "no regular file"},
		"device":                {entries: withSums(head(nil), link(tar.TypeChar)), want: "no regular file"},
		"pipe":                  {entries: withSums(head(nil), link(tar.TypeFifo)), want: "no regular file"},
		"directory":             {entries: withSums(head(nil), link(tar.TypeDir)), want: "no regular file"},
		"twice":                 {entries: withSums(head(nil), node, node), want: "twice"},
		"manifest twice":        {entries: withSums(head(nil), head(nil)), want: "twice"},
		"more than told":        {entries: withSums(head(nil), file(nodeNamePart, "123456")), want: "more than the 5 bytes"},
		"less than told":        {entries: withSums(head(nil), file(nodeNamePart, "1234")), want: "4 bytes where its manifest tells of 5"},
		"key of a megabyte":     {entries: withSums(head(func(m *Manifest) { m.Bytes = 1 << 30 }), file("control-plane/pki/ca.pem", strings.Repeat("x", maxEssential+1))), want: "never should"},
		"no checksums":          {entries: []entry{head(nil), node}, want: "ends before its end"},
		"a part without":        {entries: []entry{head(nil), node, sums(t, []entry{head(nil)})}, want: "without a checksum"},
		"a checksum without":    {entries: []entry{head(nil), node, sums(t, []entry{head(nil), node, file(storePart, "x")})}, want: "is missing"},
		"a checksum twice":      {entries: []entry{head(nil), node, sums(t, []entry{head(nil), head(nil)})}, want: "has two checksums"},
		"wrong checksum":        {entries: []entry{head(nil), node, sums(t, []entry{head(nil), file(nodeNamePart, "BOX12")})}, want: "not as its checksum says"},
		"checksums, no JSON":    {entries: []entry{head(nil), node, file(checksumsPart, "{")}, want: "cannot be read"},
		"part after the end":    {entries: append(withSums(head(nil), node), file(storePart, "x")), want: "a part follows"},
		"something after it":    {entries: withSums(head(nil), node), after: "more", want: "something follows"},
		"zeros after it":        {entries: withSums(head(nil), node), after: strings.Repeat("\x00", 10240)},
		"a bomb after it":       {entries: withSums(head(nil), node), after: strings.Repeat("\x00", 2*maxPadding), want: "something follows"},
		"negative manifest":     {entries: withSums(head(func(m *Manifest) { m.Bytes = -1 }), node), want: "does not make sense"},
		"boundless manifest":    {entries: withSums(head(func(m *Manifest) { m.Bytes = 1 << 62 }), node), want: "does not make sense"},
		"manifest without time": {entries: withSums(head(func(m *Manifest) { m.Created = time.Time{} }), node), want: "does not make sense"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := readArchive(t.Context(), bytes.NewReader(packed(t, c.entries, c.after)), memory{}, nobody)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

// What follows an archive is told as that, and not as a part that is missing.
func TestTrailingBytes(t *testing.T) {
	for after, want := range map[string]string{"xy": "or something follows", "something else": "something follows"} {
		if _, err := readArchive(t.Context(), bytes.NewReader(append(archive(t, goodParts), after...)), memory{}, nobody); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", after, err)
		}
	}
}

// What is no archive at all is told so.
func TestNotAnArchive(t *testing.T) {
	for name, content := range map[string]string{"text": "apiVersion: v1\n", "gzip": "\x1f\x8b\x08\x00", "zeros": strings.Repeat("\x00", 1024)} {
		if _, err := readArchive(t.Context(), strings.NewReader(content), memory{}, nobody); !errors.Is(err, errNotOurs) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readArchive(t.Context(), strings.NewReader(""), memory{}, nobody); err == nil || !strings.Contains(err.Error(), "ends before its end") {
		t.Errorf("empty: %v", err)
	}
}

// No archive makes its reader panic, give out a path that leads elsewhere, or more bytes than a part may have.
func FuzzReadArchive(f *testing.F) {
	f.Add(archive(f, goodParts))
	f.Add([]byte("(\xb5/\xfd"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		got := memory{}
		_, err := readArchive(t.Context(), bytes.NewReader(data), got, nobody)
		for name, content := range got {
			p, perr := partNamed(name)
			if perr != nil || int64(content.Len()) > p.max || p.path != "" && !filepath.IsLocal(p.path) {
				t.Errorf("%q, %d bytes (%v, %v)", name, content.Len(), perr, err)
			}
		}
	})
}

// No name leads out of the directory.
func FuzzPartName(f *testing.F) {
	for name := range goodParts {
		f.Add(name)
	}
	f.Add("journal/ended/../../../x.log")
	f.Fuzz(func(t *testing.T, name string) {
		p, err := partNamed(name)
		if err == nil && (p.name != name || p.path != "" && (!filepath.IsLocal(p.path) || filepath.Clean(p.path) != p.path)) {
			t.Errorf("%q is the part %+v", name, p)
		}
	})
}
