// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Many write, many read, and copies are made meanwhile: each copy is sound, and has what was acknowledged before it was
// begun and nothing that was begun after Thaw.
func TestAllAtOnce(t *testing.T) {
	const writers, each, copies = 4, 60, 3
	dir, copied := tempDir(t), t.TempDir()
	j := open(t, dir, Options{KeepLogs: -1})
	record(t, j, aRun(0, run.Active))
	r := read(t, dir)
	var acknowledged sync.Map
	var all, readers sync.WaitGroup
	stop := make(chan struct{})
	for w := range writers {
		all.Go(func() {
			for i := range each {
				n := 1 + w + writers*i
				if err := j.Record(t.Context(), []run.Run{aRun(n, run.Succeeded)}, nil); err != nil {
					t.Error(err)
					return
				}
				if err := j.RecordAttempt(t.Context(), anAttempt(n, n), strings.NewReader(logText(n%300))); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Store(n, true)
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for before := 0; ; {
				got, err := r.Runs(t.Context(), Query{})
				if err != nil || len(got) < before {
					t.Error("a reader sees less than before:", len(got), before, err)
					return
				}
				before = len(got)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for c := range copies {
		var known []int
		acknowledged.Range(func(n, _ any) bool {
			known = append(known, n.(int))
			return true
		})
		f, err := Freeze(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Thaw(); err != nil {
			t.Fatal(err)
		}
		late := aRun(1_000_000+c, run.Active)
		record(t, j, late)
		path := filepath.Join(copied, fmt.Sprint(c))
		if err := f.CopyTo(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		at := asJournal(t, path)
		sound(t, at)
		back := read(t, at)
		for _, n := range known {
			if got := runs(t, back, Query{UID: uid(n)}); len(got) != 1 || got[0].Attempts != 1 {
				t.Fatalf("copy %d has lost run %d", c, n)
			}
		}
		if got := runs(t, back, Query{UID: late.UID}); len(got) != 0 {
			t.Fatalf("copy %d has what came later", c)
		}
	}
	all.Wait()
	close(stop)
	readers.Wait()
	if got := runs(t, r, Query{}); len(got) != 1+writers*each+copies {
		t.Error(len(got))
	}
	sound(t, dir)
}
