// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// clock is a clock that is set by hand.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time          { return at(0).Add(time.Duration(c.now.Load())) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

// fill records runs until that fails.
func fill(t *testing.T, j *Journal) (recorded int, err error) {
	t.Helper()
	for n := 1; n < 100_000; n++ {
		r := aRun(n, run.Succeeded)
		r.Message = strings.Repeat("1", 2000)
		if err := j.Record(t.Context(), []run.Run{r}, nil); err != nil {
			return n - 1, err
		}
	}
	t.Fatal("it is never full")
	return 0, nil
}

// A full disk is told once, nobody waits for it, nothing recorded is lost, and it is told when it has room again.
func TestFullDisk(t *testing.T) {
	for scenario, disk := range map[string]func(t *testing.T, l *limits) (dir string, free func()){
		"the database may not grow": func(t *testing.T, l *limits) (string, func()) {
			l.pragmas = []string{"max_page_count(400)"}
			return tempDir(t), func() { l.pragmas[0] = "max_page_count(100000)" }
		},
		"the reserve is reached": func(t *testing.T, l *limits) (string, func()) {
			var free atomic.Int64
			free.Store(l.reserve + 1000)
			l.free = func(string) (int64, error) { return free.Add(-10), nil }
			return tempDir(t), func() { free.Store(1 << 40) }
		},
		"a filesystem is full": func(t *testing.T, l *limits) (string, func()) {
			l.reserve = 0
			dir := smallFilesystem(t)
			ballast := filepath.Join(filepath.Dir(dir), "ballast")
			if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			return dir, func() {
				if err := os.Remove(ballast); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		t.Run(scenario, func(t *testing.T) {
			l := quiet()
			dir, free := disk(t, l)
			var told warnings
			var c clock
			j := open(t, dir, Options{KeepLogs: -1, Now: c.Now, Warn: told.add, limits: l})
			recorded, err := fill(t, j)
			if !errors.Is(err, ErrUnavailable) || recorded == 0 {
				t.Fatal(recorded, err)
			}
			for range 3 {
				c.advance(retryAfter) // it is tried again, and fails again
				if err := j.Record(t.Context(), []run.Run{aRun(200_000, run.Active)}, nil); scenario != "the reserve is reached" && err == nil {
					break // a small one had room
				}
			}
			if got := told.String(); strings.Count(got, "cannot be written to") != 1 || !strings.Contains(got, "Free space on the disk of "+dir) {
				t.Error(got)
			}
			free()
			big := aRun(300_000, run.Succeeded)
			big.Message = strings.Repeat("1", 50_000)
			if err := j.Record(t.Context(), []run.Run{big}, nil); !errors.Is(err, ErrUnavailable) && !strings.Contains(told.String(), "again") {
				t.Error("tried again at once:", err)
			}
			c.advance(retryAfter)
			record(t, j, big)
			if got := told.String(); !strings.HasSuffix(got, "The journal of runs is written to again.") {
				t.Error(got)
			}
			r := read(t, dir)
			for n := 1; n <= recorded; n++ {
				if len(runs(t, r, Query{UID: uid(n)})) != 1 {
					t.Fatal("lost:", n)
				}
			}
			sound(t, dir)
		})
	}
}

// sound checks the whole database.
func sound(t testing.TB, dir string) {
	t.Helper()
	d, err := connect(t.Context(), filepath.Join(dir, fileName), "rw", lockPragmas)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	var said string
	if err := d.conn.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Fatal("the database is damaged:", said, err)
	}
}

// A journal opens on a disk that has no room, and records once it has.
func TestOpenOnAFullDisk(t *testing.T) {
	l := quiet()
	l.pragmas = []string{"max_page_count(1)"}
	var told warnings
	var c clock
	j := open(t, tempDir(t), Options{Now: c.Now, Warn: told.add, limits: l})
	if err := j.Record(t.Context(), []run.Run{aRun(1, run.Active)}, nil); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	l.pragmas[0] = "max_page_count(100000)"
	c.advance(retryAfter)
	record(t, j, aRun(1, run.Active))
	if got := told.String(); strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
}

// With less room than is left to others, what is old goes all the same: that makes room.
func TestRetentionOnAFullDisk(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: -1, limits: quiet()})
	record(t, j, aRun(1, run.Succeeded))
	j.Close()
	l := quiet()
	l.free = func(string) (int64, error) { return 0, nil }
	tidied(t, dir, Options{KeepRuns: time.Minute, Now: func() time.Time { return at(999) }, limits: l})
	if got := runs(t, read(t, dir), Query{}); len(got) != 0 {
		t.Error("left are", names(got))
	}
}

func ExampleLaterVersionError() {
	fmt.Println(&LaterVersionError{File: "/data/journal/runs.db", Version: 2, Own: 1})
	// Output: /data/journal/runs.db was written by a later version of Carillon (its format is 2, and 1 is the latest that this one knows): use that version, or move the file elsewhere and begin a new one
}
