// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t testing.TB, data []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // in parts, or the frame would say how long it is
		if _, err := w.Write(data[i*len(data)/2 : (i+1)*len(data)/2]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// single applies one layer, and gives what came of it.
func (g *rig) single(input io.Reader, edit func(*Request)) (Result, []string, error) {
	r := Request{Form: g.form, Store: g.store, Target: g.mkdir(), Work: g.mkdir(), Compressed: input}
	if edit != nil {
		edit(&r)
	}
	result, err := Layer(g.ctx(), r)
	if err != nil {
		return result, nil, err
	}
	return result, g.view([]string{r.Target}), nil
}

func single(t *testing.T) *rig {
	t.Helper()
	form := mustForm(t)
	return &rig{t: t, store: newStore(t), form: form}
}

// However a layer is zipped, and whatever the end of the archive looks like, all of it counts for its digest.
func TestZipped(t *testing.T) {
	plain := layerOf(t, file("f", strings.Repeat("hello ", 100_000)), dir("d", 0))
	half := len(plain) / 2
	for name, tt := range map[string]struct{ input, plain []byte }{
		"not at all":                       {plain, plain},
		"gzip":                             {gzipped(t, plain), plain},
		"gzip in two parts":                {append(gzipped(t, plain[:half]), gzipped(t, plain[half:])...), plain},
		"zstd":                             {zstdOf(t, plain, 1<<20), plain},
		"zstd in two frames":               {append(zstdOf(t, plain[:half], 1<<20), zstdOf(t, plain[half:], 1<<20)...), plain},
		"zstd with a wide window":          {zstdOf(t, plain, 128<<20), plain},
		"zstd after a frame to be skipped": {append([]byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'h', 'i'}, zstdOf(t, plain, 1<<20)...), plain},
		"more after the end":               {gzipped(t, append(bytes.Clone(plain), "more"...)), append(bytes.Clone(plain), "more"...)},
		"no end":                           {gzipped(t, plain[:len(plain)-1024]), plain[:len(plain)-1024]},
	} {
		t.Run(name, func(t *testing.T) {
			g := single(t)
			result, seen, err := g.single(bytes.NewReader(tt.input), func(r *Request) { r.DiffID = digestOf(tt.plain) })
			if err != nil {
				t.Fatal(err)
			}
			if want := (Result{DiffID: digestOf(tt.plain), Size: 600_000, Entries: 2}); result != want {
				t.Errorf("got %+v, want %+v", result, want)
			}
			if len(seen) != 3 {
				t.Errorf("got %q", seen)
			}
		})
	}
	t.Run("a file, from where it stands", func(t *testing.T) {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(append([]byte("skip"), gzipped(t, plain)...)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(4, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if result, _, err := single(t).single(f, nil); err != nil || result.DiffID != digestOf(plain) {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

// A layer that is broken, or not the one that was meant, is refused with the reason.
func TestBroken(t *testing.T) {
	plain := layerOf(t, file("f", strings.Repeat("hello ", 100_000)))
	zipped := gzipped(t, plain)
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-6] ^= 1
	for name, tt := range map[string]struct {
		input []byte
		kind  error
		want  string
	}{
		"nothing":           {nil, ErrArchive, "empty"},
		"text":              {bytes.Repeat([]byte("<html>"), 200), ErrArchive, "no archive"},
		"xz":                {[]byte("\xfd7zXZ\x00……"), ErrArchive, "xz"},
		"bzip2":             {[]byte("BZh91AY&SY"), ErrArchive, "bzip2"},
		"cut off":           {zipped[:len(zipped)/2], ErrArchive, "unexpected EOF"},
		"cut off, unzipped": {plain[:4000], ErrArchive, "unexpected EOF"},
		"a flipped bit":     {flipped, ErrArchive, "checksum"},
		"more after gzip":   {append(bytes.Clone(zipped), "more than that"...), ErrArchive, "unzipped"},
		"another layer":     {gzipped(t, layerOf(t, file("g", ""))), ErrDigest, "instead of " + digestOf(plain)},
		"a window too wide": {zstdOf(t, plain, 256<<20), ErrLimit, "MiB of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := single(t).single(bytes.NewReader(tt.input), func(r *Request) { r.DiffID = digestOf(plain) })
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("the reader fails", func(t *testing.T) {
		cause := errors.New("connection reset")
		_, _, err := single(t).single(io.MultiReader(bytes.NewReader(zipped[:100]), failing{cause}), nil)
		if !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	})
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// What would fill the disk or the memory stops at the limits.
func TestBombs(t *testing.T) {
	many := make([]e, 1001)
	for i := range many {
		many[i] = file(fmt.Sprint(i), "")
	}
	huge := layerOf(t, file("f", strings.Repeat("x", 8)))
	patched := bytes.Clone(huge)
	copy(patched[124:136], "77777777777\x00")
	checksum(patched)
	for name, tt := range map[string]struct {
		input []byte
		want  string
	}{
		"a long file":                 {gzipped(t, layerOf(t, file("f", strings.Repeat("\x00", 64<<20)))), "hold more than"},
		"many files":                  {layerOf(t, many...), "more than 1000 entries"},
		"many files that are skipped": {layerOf(t, slicesOf(1001, e{name: "c", typ: tar.TypeChar})...), "more than 1000 entries"},
		"a file that says so":         {patched, "hold more than"},
		"a hole":                      {sparse(t, 1<<40), "hold more than"},
		"a long end":                  {gzipped(t, append(layerOf(t, file("f", "")), make([]byte, 64<<20)...)), "larger than it may be"},
		"a long end, zstd":            {zstdOf(t, append(layerOf(t, file("f", "")), make([]byte, 64<<20)...), 1<<20), "larger than it may be"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := single(t).single(bytes.NewReader(tt.input), func(r *Request) { r.Limits = Limits{Entries: 1000, Bytes: 1 << 20} })
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func slicesOf(n int, x e) []e {
	all := make([]e, n)
	for i := range all {
		all[i] = x
	}
	return all
}

// checksum corrects that of the header at the beginning of block.
func checksum(block []byte) {
	copy(block[148:156], "        ")
	sum := 0
	for _, b := range block[:512] {
		sum += int(b)
	}
	copy(block[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// sparse is an archive with a file of a size that has "data" at 1 MiB and holes elsewhere, as GNU tar writes it.
func sparse(t testing.TB, size int64) []byte {
	t.Helper()
	b := make([]byte, 2048)
	for at, text := range map[int]string{
		0: "s", 100: "0000644\x00", 108: "0000000\x00", 116: "0000000\x00", 124: "00000001000\x00", 136: "07346545000\x00", 156: "S", 257: "ustar  \x00",
		386: "00004000000\x00", 398: "00000001000\x00", 410: fmt.Sprintf("%011o\x00", size), 422: "00000000000\x00",
		483: fmt.Sprintf("%011o\x00", size), 512: "data",
	} {
		copy(b[at:], text)
	}
	if size >= 1<<33 { // in base 256
		for _, at := range []int{410, 483} {
			copy(b[at:], "\x80\x00\x00\x00")
			for i := range 8 {
				b[at+4+i] = byte(size >> (8 * (7 - i)))
			}
		}
	}
	checksum(b)
	return b
}

// Holes of a file stay holes.
func TestSparse(t *testing.T) {
	g := single(t)
	target := ""
	const size = 1 << 30
	result, _, err := g.single(bytes.NewReader(sparse(t, size)), func(r *Request) { target = r.Target })
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(target, "s"), &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != size || st.Blocks*512 > 4<<20 || result.Size != size {
		t.Errorf("size %d, %d on disk, %+v", st.Size, st.Blocks*512, result)
	}
	f, err := os.Open(filepath.Join(target, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, 6)
	if _, err := f.ReadAt(got, 1<<20-1); err != nil || string(got) != "\x00data\x00" {
		t.Errorf("%q, %v", got, err)
	}
}
