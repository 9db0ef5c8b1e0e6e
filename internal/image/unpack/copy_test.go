// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A copy is like its original in everything that a container sees, and leaves it as it is.
func TestCopy(t *testing.T) {
	g := single(t)
	g.form = Form{Flat: true}
	dirs, err := g.apply(layerOf(t,
		dir(".", 0o711), dir("closed", 0o555), file("closed/f", strings.Repeat("content ", 100_000)), hard("h", "closed/f"), moded("none", "x", modeZero),
		e{name: "suid", body: "s", mode: 0o6755, uid: 7, mtime: 5}, link("l", "/nowhere"), hard("m", "l"), e{name: "p", typ: tar.TypeFifo, mtime: 9},
		e{name: "x", xattr: map[string]string{"user.a": "b", "security.capability": aCapability}, mode: 0o755},
		e{name: "d/", typ: tar.TypeDir, mode: 0o1777, mtime: 6, xattr: map[string]string{"user.a": "b"}}))
	if err != nil {
		t.Fatal(err)
	}
	before := g.view(dirs)
	to := g.mkdir()
	if err := Copy(t.Context(), g.store, dirs[0], to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, g.view([]string{to})); diff != "" {
		t.Errorf("-original +copy:\n%s", diff)
	}
	if err := Remove(to); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, g.view(dirs)); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}

	target := ""
	if _, _, err := g.single(bytes.NewReader(sparse(t, 1<<26)), func(r *Request) { target = r.Target }); err != nil {
		t.Fatal(err)
	}
	to = g.mkdir()
	if err := Copy(t.Context(), g.store, target, to); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(to, "s"), &st); err != nil || st.Size != 1<<26 || st.Blocks*512 > 4<<20 {
		t.Errorf("a copy of %d bytes, %d on disk (%v)", st.Size, st.Blocks*512, err)
	}
}
