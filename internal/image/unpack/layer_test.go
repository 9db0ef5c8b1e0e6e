// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// aCapability is what the kernel keeps for a program that may bind low ports.
const aCapability = "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Layers mean what the image specification says, in every form: hostile ones stay inside, ordinary ones come out whole.
func TestLayers(t *testing.T) {
	for name, tt := range map[string]struct {
		layers [][]e
		want   string // what is seen below the root, one line each
	}{
		"files of all kinds": {
			[][]e{{
				dir("d", 0o1777), {name: "d/f", body: "x", mode: 0o4755, uid: 7}, link("l", "d/f"), hard("h", "d/f"),
				{name: "p", typ: tar.TypeFifo, mode: 0o640}, {name: "old", body: "o", mtime: 12345}, file("empty", ""),
			}},
			`d dir 1777; d/f file 4755 7:7 2x "x"; empty file 0644 1x ""; h file 4755 7:7 2x "x"; l -> d/f; old file 0644 at 12345 1x "o"; p fifo 0640`,
		},
		"devices and sockets are left out": {
			[][]e{{{name: "dev/null", typ: tar.TypeChar}, {name: "sda", typ: tar.TypeBlock}, {name: "whiteout", typ: tar.TypeChar}, {name: "s", mode: 0o140755}, file("f", "")}},
			`f file 0644 1x ""`,
		},
		"directories that nobody named": {
			[][]e{{file("a/b/c", "c")}},
			`a dir 0755; a/b dir 0755; a/b/c file 0644 1x "c"`,
		},
		"modes of directories that a layer does not name stay": {
			[][]e{{{name: "a/", typ: tar.TypeDir, mode: 0o711, uid: 3, mtime: 77}, file("a/x", "")}, {file("a/b", "b")}, {hidden("a/x")}},
			`a dir 0711 3:3 at 77; a/b file 0644 1x "b"`,
		},
		"closed directories and files": {
			[][]e{{dir("a", 0o555), file("a/b/c", "c"), dir("a/b", 0o555), moded("f", "secret", modeZero), dir("z", modeZero), file("z/z", "z")}, {file("a/b/d", "d"), hard("g", "f"), hidden("a/b/c"), hidden("z/z")}},
			`a dir 0555; a/b dir 0555; a/b/d file 0644 1x "d"; f file 0000 2x "secret"; g file 0000 2x "secret"; z dir 0000`,
		},
		"names that lead up or begin at the root": {
			[][]e{{file("../../up", "u"), file("/abs", "a"), file("./dot//x/../y", "y"), file("a/../../b", "b")}},
			`abs file 0644 1x "a"; b file 0644 1x "b"; dot dir 0755; dot/y file 0644 1x "y"; up file 0644 1x "u"`,
		},
		"links that lead out": {
			[][]e{
				{link("up", "../../../.."), link("abs", "/"), link("cron", "/etc"), link("long", "../../../../etc/../..")},
				{file("up/1", "1"), file("abs/2", "2"), file("cron/passwd", "3"), file("long/4", "4")},
			},
			`1 file 0644 1x "1"; 2 file 0644 1x "2"; 4 file 0644 1x "4"; abs -> /; cron -> /etc; etc dir 0755; etc/passwd file 0644 1x "3"; long -> ../../../../etc/../..; up -> ../../../..`,
		},
		"parents that are links": {
			[][]e{
				{dir("run", 0), dir("var", 0), link("var/run", "../run"), link("var/lock", "/run/lock"), link("chain", "var/run")},
				{file("var/run/a", "a"), file("var/lock/b", "b"), file("chain/c", "c"), hidden("var/run/none")},
				{hidden("chain/c"), hard("d", "var/run/a")},
			},
			`chain -> var/run; d file 0644 2x "a"; run dir 0755; run/a file 0644 2x "a"; run/lock dir 0755; run/lock/b file 0644 1x "b"; var dir 0755; var/lock -> /run/lock; var/run -> ../run`,
		},
		"a link is replaced, not followed": {
			[][]e{{dir("d", 0), file("d/f", "f"), link("l", "d"), link("m", "d/f"), link("n", "d")}, {file("m", "new"), dir("l", 0o700), file("l/x", "x"), link("n", "elsewhere")}},
			`d dir 0755; d/f file 0644 1x "f"; l dir 0700; l/x file 0644 1x "x"; m file 0644 1x "new"; n -> elsewhere`,
		},
		"one kind replaces another": {
			[][]e{
				{file("a", "a"), dir("b", 0), file("b/c/d", "d"), {name: "c", typ: tar.TypeFifo}, dir("e", 0), file("e/f", "f")},
				{dir("a", 0o700), file("a/x", "x"), file("b", "b"), dir("c", 0), link("e", "a")},
				{file("a", "again"), dir("b", 0)},
			},
			`a file 0644 1x "again"; b dir 0755; c dir 0755; e -> a`,
		},
		"a name twice": {
			[][]e{{file("a", "1"), file("a", "22"), dir("d", 0o700), dir("d", 0o711), link("l", "a"), link("l", "d")}},
			`a file 0644 1x "22"; d dir 0711; l -> d`,
		},
		"hard links into layers below": {
			[][]e{{{name: "bin/x", body: "x", mode: 0o4755, uid: 7}, link("l", "bin/x")}, {hard("bin/y", "bin/x"), hard("m", "l"), hard("/abs", "/bin/../bin/x"), hard("bin/x", "bin/y")}},
			`abs file 4755 7:7 3x "x"; bin dir 0755; bin/x file 4755 7:7 3x "x"; bin/y file 4755 7:7 3x "x"; l -> bin/x; m -> bin/x`,
		},
		"hidden files": {
			[][]e{
				{file("a", ""), file("d/e/f", ""), file("d/g", ""), link("l", "a"), file("kept", "")},
				{hidden("a"), hidden("d"), hidden("l"), hidden("none"), hidden("none/none"), hidden("kept/none")},
			},
			`kept file 0644 1x ""`,
		},
		"hidden and made again": {
			[][]e{{file("d/old", ""), file("f", "old")}, {hidden("d"), file("d/new", "n"), hidden("f"), file("f", "new")}},
			`d dir 0755; d/new file 0644 1x "n"; f file 0644 1x "new"`,
		},
		"what a layer has itself is not hidden by it": {
			[][]e{{file("d/old", ""), file("d/e/old", ""), file("f", "old")}, {file("f", "new"), hidden("f"), file("d/new", "n"), file("d/e/new", "n"), hidden("d")}},
			`d dir 0755; d/e dir 0755; d/e/new file 0644 1x "n"; d/new file 0644 1x "n"; f file 0644 1x "new"`,
		},
		"an opaque directory": {
			[][]e{
				{dir("o", 0o750), file("o/old", ""), file("o/d/old", ""), file("o/both", "1"), file("other", "")},
				{file("o/before", ""), file("o/d/new", ""), opaqueDir("o"), file("o/both", "2"), opaqueDir("none")},
			},
			`o dir 0750; o/before file 0644 1x ""; o/both file 0644 1x "2"; o/d dir 0755; o/d/new file 0644 1x ""; other file 0644 1x ""`,
		},
		"an opaque root": {
			[][]e{{file("old", ""), dir("d", 0)}, {opaqueDir("."), file("new", "")}},
			`new file 0644 1x ""`,
		},
		"opaque through a link": {
			[][]e{{file("d/old", ""), link("l", "d")}, {opaqueDir("l"), file("l/new", "")}},
			`d dir 0755; d/new file 0644 1x ""; l -> d`,
		},
		"hidden twice, and there again later": {
			[][]e{{file("a/b", "1")}, {hidden("a/b")}, {hidden("a/b")}, {file("a/b", "2")}, {hidden("a")}, {file("a/c", "3")}},
			`a dir 0755; a/c file 0644 1x "3"`,
		},
		"notes of old filesystems": {
			[][]e{{file(".wh..wh.aufs", ""), file(".wh..wh.plnk", ""), file("f", "")}},
			`f file 0644 1x ""`,
		},
		"extended attributes": {
			[][]e{
				{file("evil/low", ""), {name: "evil", typ: tar.TypeDir, xattr: map[string]string{
					"trusted.overlay.opaque": "y", "user.overlay.opaque": "y", "user.overlay.redirect": "/etc", "security.selinux": "x",
					"system.posix_acl_access": "x", "user.fine": "1",
				}}},
				{{name: "evil/", typ: tar.TypeDir, xattr: map[string]string{"trusted.overlay.opaque": "y", "user.overlay.opaque": "y"}}, {name: "cap", body: "c", mode: 0o755, xattr: map[string]string{"security.capability": aCapability}}},
			},
			`cap file 0755 1x "c" security.capability; evil dir 0755 user.fine; evil/low file 0644 1x ""`,
		},
		"the root itself": {
			[][]e{{dir(".", 0o750), file("f", "")}, {file("g", "")}},
			`f file 0644 1x ""; g file 0644 1x ""`,
		},
		"global headers": {[][]e{{{typ: tar.TypeXGlobalHeader}, file("f", "")}}, `f file 0644 1x ""`},
		"an old and a new name": {
			[][]e{{file(strings.Repeat("n", 255), "n"), file(strings.Repeat("d/", 100)+"f", "")}, {hidden("d")}},
			strings.Repeat("n", 255) + ` file 0644 1x "n"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, g *rig) {
				var layers [][]byte
				for _, es := range tt.layers {
					layers = append(layers, layerOf(t, es...))
				}
				dirs, err := g.apply(layers...)
				if err != nil {
					t.Fatal(err)
				}
				want := tt.want
				if os.Geteuid() != 0 {
					want = regexp.MustCompile(` [37]:[37]`).ReplaceAllString(want, "")
				}
				if diff := cmp.Diff(strings.Split(want, "; "), g.view(dirs)[1:]); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

// What no honest builder makes is refused, and says which entry.
func TestRefused(t *testing.T) {
	deep := strings.Repeat("d/", maxDepth/2)
	for name, tt := range map[string]struct {
		layer []e
		want  string
	}{
		"a long name":                {[]e{file(strings.Repeat("n", 256), "")}, "a part of 256 bytes"},
		"a long path":                {[]e{file(strings.Repeat("nnnnnnn/", 512)+"n", "")}, "a name of"},
		"a long path through links":  {[]e{dir(deep, 0), link("l", deep), file("l/"+deep+"f", "")}, "deep"},
		"a whiteout of nothing":      {[]e{file("d/.wh.", "")}, "hides no file"},
		"a whiteout of itself":       {[]e{file("d/.wh..", "")}, "hides no file"},
		"a whiteout of the parent":   {[]e{file("d/.wh...", "")}, "hides no file"},
		"a hard link to nothing":     {[]e{hard("a", "none")}, `"none", which is not there`},
		"a hard link to a parent":    {[]e{hard("a", "none/none")}, "which is not there"},
		"a hard link to outside":     {[]e{hard("a", "../../../etc/passwd")}, "which is not there"},
		"a hard link to the root":    {[]e{hard("a", "/")}, "to the root"},
		"a hard link to a directory": {[]e{dir("d", 0), hard("a", "d")}, "to the directory"},
		"a hard link in its place":   {[]e{file("d/f", ""), hard("d", "d/f")}, "which is not there"},
		"a file as a parent":         {[]e{file("f", ""), file("f/g", "")}, "f is no directory"},
		"a loop":                     {[]e{link("a", "b"), link("b", "a"), file("a/x", "")}, "too many links"},
		"a link to itself":           {[]e{link("a", "a/a"), file("a/x", "")}, "too many links"},
		"a link to nothing":          {[]e{link("a", "")}, "a link to"},
		"the root as a file":         {[]e{file("a/..", "")}, "the root of an image"},
		"the root as a link":         {[]e{link("a/..", "/etc")}, "the root of an image"},
		"an unknown type":            {[]e{{name: "x", typ: 'Z'}}, "unknown type"},
		"an owner that cannot be":    {[]e{{name: "x", uid: 1<<32 - 1}}, "the owner"},
		"a large attribute":          {[]e{{name: "x", xattr: map[string]string{"user.x": strings.Repeat("x", 70000)}}}, "extended attribute"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "an owner that cannot be" && os.Geteuid() != 0 {
				t.Skip("owners are not looked at")
			}
			forms(t, func(t *testing.T, g *rig) {
				_, err := g.apply(layerOf(t, tt.layer...))
				if !errors.Is(err, ErrArchive) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			})
		})
	}
}
