// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/datadir"
)

// Whichever call fails while a state is set aside, it is never removed: the error names where it is, and the next
// restore gives it a name, or its place.
func TestOldStateSurvives(t *testing.T) {
	cases := map[string]struct {
		twoSteps bool
		fails    []int // which renames, counted from 1
		restored bool
		left     string
	}{
		"name, exchanged at once":          {fails: []int{1}, restored: true, left: freshDir},
		"name, in two steps":               {twoSteps: true, fails: []int{3}, restored: true, left: oldDir},
		"first step":                       {twoSteps: true, fails: []int{1}},
		"second step":                      {twoSteps: true, fails: []int{2}},
		"second step and the way back":     {twoSteps: true, fails: []int{2, 3}, left: oldDir},
		"nothing fails, in two steps":      {twoSteps: true, restored: true},
		"nothing fails, exchanged at once": {restored: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := newState(t)
			parent := filepath.Dir(dir)
			file := filepath.Join(parent, "b")
			create(t, dir, file)
			if err := os.WriteFile(filepath.Join(dir, "log"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			calls := 0
			p := placing{exchange: exchangeAtOnce, rename: func(a, b string) error {
				calls++
				for _, n := range c.fails {
					if n == calls {
						return &os.LinkError{Op: "rename", Old: a, New: b, Err: unix.ENOSPC}
					}
				}
				return os.Rename(a, b)
			}}
			if c.twoSteps {
				p.exchange = func(string, string) error { return unix.EINVAL }
			}
			o := RestoreOptions{DataDir: dir, File: file, Replace: true, Now: clock}
			o.Now, o.Progress, o.Warn = orDefaults(o.Now, o.Progress, o.Warn)
			r := restoration{o: o, placing: p}
			_, err := r.run(t.Context())
			if (err != nil) != (len(c.fails) > 0) || err != nil && !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("%v", err)
			}
			old := dir
			switch {
			case c.left != "":
				found, _ := workLeft(parent, datadir.RestorePrefix(dir))
				if len(found) != 1 {
					t.Fatalf("left: %v (%v)", found, err)
				}
				old = filepath.Join(found[0], c.left)
				if !strings.Contains(err.Error(), old) {
					t.Errorf("the error does not name %s: %v", old, err)
				}
			case c.restored:
				old = dir + ".before-restore-20260504T121000Z"
			}
			if text, err := os.ReadFile(filepath.Join(old, "log")); string(text) != "old" {
				t.Errorf("the old state is not in %s: %v", old, err)
			}
			if _, err := os.Lstat(datadir.NodeName(dir)); (err == nil) != (c.restored || old == dir) {
				t.Errorf("what is in its place: %v", err)
			}
			if c.left == "" {
				return
			}
			if err := r.sweep(); err != nil {
				t.Fatal(err)
			}
			if old = dir; c.restored {
				old += ".before-restore-20260504T121000Z"
			}
			if text, err := os.ReadFile(filepath.Join(old, "log")); string(text) != "old" {
				t.Errorf("afterwards the old state is not in %s: %v", old, err)
			}
		})
	}
}
