// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A record that names cgroups or logs of somebody else is refused.
func TestCheckPaths(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	logs := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	dir := filepath.Join(t.TempDir(), "carillon-12345678", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(logs, link); err != nil {
		t.Fatal(err)
	}
	r := &Runtime{opts: Options{LogDir: logs, CgroupName: "named"}}
	for name, tt := range map[string]struct {
		rec  containerRecord
		good bool
	}{
		"nothing":                   {containerRecord{ID: id}, true},
		"a cgroup that is gone":     {containerRecord{ID: id, Cgroups: []string{"/sys/fs/cgroup/none/carillon-12345678/" + id}}, true},
		"under another name":        {containerRecord{ID: id, Cgroups: []string{"/sys/fs/cgroup/none/named/" + id}}, true},
		"another container's":       {containerRecord{ID: id, Cgroups: []string{"/sys/fs/cgroup/none/carillon-12345678/ff"}}, false},
		"somebody else's":           {containerRecord{ID: id, Cgroups: []string{"/sys/fs/cgroup/none/system.slice/" + id}}, false},
		"the cgroup of all":         {containerRecord{ID: id, Cgroups: []string{"/sys/fs/cgroup"}}, false},
		"not clean":                 {containerRecord{ID: id, Cgroups: []string{"/sys/fs/cgroup/x/../carillon-1/" + id}}, false},
		"relative":                  {containerRecord{ID: id, Cgroups: []string{"carillon-1/" + id}}, false},
		"a directory, not a cgroup": {containerRecord{ID: id, Cgroups: []string{dir}}, false},
		"a log":                     {containerRecord{ID: id, LogPath: filepath.Join(logs, "pod/main/0.log")}, true},
		"a log through a link":      {containerRecord{ID: id, LogPath: filepath.Join(link, "0.log")}, true},
		"a log elsewhere":           {containerRecord{ID: id, LogPath: "/etc/passwd"}, false},
		"a log that climbs":         {containerRecord{ID: id, LogPath: logs + "/../../x"}, false},
		"the directory itself":      {containerRecord{ID: id, LogPath: logs}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := r.checkPaths(&tt.rec); (err == nil) != tt.good {
				t.Errorf("%v, want good: %t", err, tt.good)
			}
		})
	}
}

// Only what can be a mount point that was made on the machine is removed.
func TestRemovableMade(t *testing.T) {
	dir := t.TempDir()
	memory := filepath.Join(dir, "memory")
	if err := os.Mkdir(memory, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", memory, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("needs the right to mount", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(memory, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for name, tt := range map[string]struct {
		text  string // of a file; "" with dir false is an empty one
		dir   bool
		on    string
		owner int
		want  bool
	}{
		"an empty file":   {on: memory, want: true},
		"a directory":     {on: memory, dir: true, want: true},
		"a file":          {on: memory, text: "x"},
		"on a disk":       {on: dir},
		"somebody else's": {on: memory, owner: 2001},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(tt.on, "x")
			err := os.WriteFile(path, []byte(tt.text), 0o600)
			if tt.dir {
				_ = os.Remove(path)
				err = os.Mkdir(path, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
			if tt.owner != 0 {
				if err := os.Chown(path, tt.owner, tt.owner); err != nil {
					t.Fatal(err)
				}
			}
			if got := isRemovableMountPoint(path); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if isRemovableMountPoint("relative") || isRemovableMountPoint(filepath.Join(memory, "none")) {
		t.Error("what is relative or not there")
	}
}
