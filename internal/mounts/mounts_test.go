// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mounts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func read(t *testing.T, text string) []Mount {
	t.Helper()
	all, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Mounts are found below a directory only, also under escaped names, and the deepest and latest come first, so that
// each can be unmounted in turn.
func TestBelow(t *testing.T) {
	all := read(t, `22 1 8:1 / / rw - ext4 /dev/sda rw
30 22 0:5 / /data rw - tmpfs tmpfs rw
31 30 0:6 / /data/a\040b rw - tmpfs tmpfs rw
32 31 0:7 / /data/a\040b/deep rw shared:1 master:2 - tmpfs tmpfs rw
33 22 0:8 / /database rw - tmpfs tmpfs rw
34 30 0:9 / /data/c rw - tmpfs one rw
35 34 0:9 / /data/c rw - tmpfs two rw
`)
	for name, tt := range map[string]struct {
		dir  string
		want []string
	}{
		"a tree":  {"/data", []string{"/data/a b/deep", "/data/c", "/data/c", "/data/a b", "/data"}},
		"one":     {"/database", []string{"/database"}},
		"nothing": {"/dat", nil},
		"a leaf":  {"/data/a b/deep", []string{"/data/a b/deep"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, below(all, tt.dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Of mounts on one point the last counts, and what has no path in this process's root is left out.
func TestVisible(t *testing.T) {
	got := Visible(read(t, `22 1 8:1 / / rw - ext4 /dev/sda rw
30 22 0:5 / /b rw - tmpfs tmpfs rw
31 22 0:6 / /a rw - tmpfs tmpfs rw
32 30 0:7 / /b rw - ext4 /dev/sdb rw
33 22 0:8 / (unreachable)/c rw - tmpfs tmpfs rw
`))
	want := []string{"/ ext4", "/a tmpfs", "/b ext4"}
	var points []string
	for _, m := range got {
		points = append(points, m.Point+" "+m.Type)
	}
	if diff := cmp.Diff(want, points); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Every other path to a directory is found: through its parents, itself and what is in it, and no others.
func TestAliases(t *testing.T) {
	const base = "22 1 8:1 / / rw - ext4 /dev/sda rw\n40 22 8:2 / /srv rw - ext4 /dev/sdb rw\n"
	for name, tt := range map[string]struct {
		more string
		dir  string
		want []string
	}{
		"none":                     {"", "/srv/data", nil},
		"its parent":               {"50 22 8:2 / /mnt/all rw - ext4 /dev/sdb rw\n", "/srv/data", []string{"/mnt/all/data"}},
		"itself":                   {"50 22 8:2 /data /mnt/it rw - ext4 /dev/sdb rw\n", "/srv/data", []string{"/mnt/it"}},
		"something in it":          {"50 22 8:2 /data/keys /mnt/keys rw - ext4 /dev/sdb rw\n", "/srv/data", []string{"/mnt/keys"}},
		"a neighbour":              {"50 22 8:2 /database /mnt/n rw - ext4 /dev/sdb rw\n", "/srv/data", nil},
		"another device":           {"50 22 8:3 / /mnt/o rw - ext4 /dev/sdc rw\n", "/srv/data", nil},
		"the root, elsewhere":      {"50 22 8:1 / /mnt/root rw - ext4 /dev/sda rw\n", "/var/data", []string{"/mnt/root/var/data"}},
		"a bind mount is its home": {"50 22 8:1 /var/lib /data rw - ext4 /dev/sda rw\n", "/data/c", []string{"/var/lib/c"}},
		"covered by a later mount": {"50 40 8:9 / /srv rw - ext4 /dev/sdd rw\n51 22 8:9 / /mnt/d rw - ext4 /dev/sdd rw\n", "/srv/data", []string{"/mnt/d/data"}},
		"twice":                    {"50 22 8:2 / /mnt/all rw - ext4 /dev/sdb rw\n51 50 8:2 / /mnt/all rw - ext4 /dev/sdb rw\n", "/srv/data", []string{"/mnt/all/data"}},
		"below itself":             {"50 40 8:2 /data /srv/data/x rw - ext4 /dev/sdb rw\n", "/srv/data", nil},
		"a space":                  {"50 22 8:2 / /mnt/a\\040b rw - ext4 /dev/sdb rw\n", "/srv/da ta", []string{"/mnt/a b/da ta"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Aliases(read(t, base+tt.more), tt.dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The table of this process can be read, and holds the root.
func TestTable(t *testing.T) {
	all, err := Table()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(m Mount) bool { return m.Point == "/" }) {
		t.Errorf("no root in %+v", all)
	}
}

// Everything below a directory is unmounted, whatever its name, and nothing else.
func TestUnmountBelow(t *testing.T) {
	dir := t.TempDir()
	points := []string{dir + "/a b", dir + "/a b/c\nd", dir + `/e\f`, dir + "/kept"}
	for _, point := range points {
		if err := mkdirTmpfs(point); err != nil {
			if errors.Is(err, unix.EPERM) {
				t.Skip("needs the right to mount")
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) }) // unmounted, as a rule
	}
	if err := UnmountBelow(dir, func(point string) bool { return point == dir+"/kept" }); err != nil {
		t.Fatal(err)
	}
	left, err := Below(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{dir + "/kept"}, left); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n28 27 0:25 / /a\\040b ro master:1 - tmpfs x rw\n")
	f.Add("x - y\n - \n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, m := range Visible(table) {
			if m.Point == "" || m.Point[0] != '/' || seen[m.Point] {
				t.Errorf("mount point %q", m.Point)
			}
			seen[m.Point] = true
			for _, alias := range Aliases(table, m.Point) {
				if Under(alias, m.Point) {
					t.Errorf("%q is an alias of %q", alias, m.Point)
				}
			}
		}
	})
}

func mkdirTmpfs(point string) error {
	if err := unix.Mkdir(point, 0o700); err != nil {
		return err
	}
	return unix.Mount("tmpfs", point, "tmpfs", 0, "size=16k")
}
