// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// locked has another connection hold the lock of the journal in dir until the function that it gives is called.
func locked(t *testing.T, dir string) (unlock func()) {
	t.Helper()
	d, err := connect(t.Context(), filepath.Join(dir, fileName), "rw", lockPragmas)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
}

// impatient are limits with which another's lock is hardly waited for.
func impatient() *limits {
	l := quiet()
	l.lockWait = time.Millisecond
	return l
}

// Another's lock is told once, what cannot be written meanwhile is for later, and the end of the lock is told, too.
func TestAnothersLock(t *testing.T) {
	dir := tempDir(t)
	var told warnings
	j := open(t, dir, Options{Warn: told.add, limits: impatient()})
	<-j.inspected
	unlock := locked(t, dir)
	for range 2 {
		if err := j.Record(t.Context(), []run.Run{aRun(1, run.Active)}, nil); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	}
	if got := told.String(); strings.Count(got, "Another process") != 1 || !j.Unavailable() {
		t.Error(got, j.Unavailable())
	}
	unlock()
	record(t, j, aRun(1, run.Active))
	if got := told.String(); !strings.HasSuffix(got, "is written to again.") || j.Unavailable() {
		t.Error(got, j.Unavailable())
	}
}

// A journal that another process has locked can be opened, and closed, and is written to later.
func TestOpenAndCloseUnderAnothersLock(t *testing.T) {
	dir := tempDir(t)
	open(t, dir, Options{limits: quiet()}).Close()
	unlock := locked(t, dir)
	j := open(t, dir, Options{limits: impatient()})
	unlock()
	record(t, j, aRun(1, run.Active))
	unlock = locked(t, dir)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	unlock()
}

// Close does not wait for calls that wait for another's lock.
func TestCloseEndsTheWaitForALock(t *testing.T) {
	dir := tempDir(t)
	w, err := newWriter(dir, Options{Now: time.Now, Warn: func(string) {}}, *impatient())
	if err != nil {
		t.Fatal(err)
	}
	unlock := locked(t, dir)
	closing := make(chan struct{})
	w.closing = closing
	tries := 0
	try := func() error {
		tries++
		return w.d.transact(func() error { return nil })
	}
	if err := w.tryUnlocked(try); !isBusy(err) || tries != lockTries {
		t.Error(tries, err)
	}
	tries = 0
	close(closing)
	if err := w.tryUnlocked(try); !isBusy(err) || tries != 1 {
		t.Error(tries, err)
	}
	unlock()
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

// What retention removes on a full disk does not mean that there is room to write.
func TestRetentionIsNoRecovery(t *testing.T) {
	l := quiet()
	l.free = func(string) (int64, error) { return 0, nil }
	var told warnings
	var c clock
	w, err := newWriter(tempDir(t), Options{Now: c.Now, Warn: told.add}, *l)
	if err != nil {
		t.Fatal(err)
	}
	r := &request{apply: func(*database) error { return nil }, done: make(chan error, 1)}
	w.batch([]*request{r})
	if err := <-r.done; !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	c.advance(retryAfter)
	w.beginTidying()
	w.tidy()
	if got := told.String(); strings.Contains(got, "again") || !w.unavailable.Load() {
		t.Error(got)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

// Whatever keeps the file from being opened or set aside says nothing of what was to be recorded.
func TestFilesAreNoRefusal(t *testing.T) {
	for scenario, harm := range map[string]func(t *testing.T, path string, l *limits){
		"a damaged one cannot be set aside": func(t *testing.T, path string, l *limits) {
			l.rename = func(from, to string) error {
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: errors.New("read-only file system")}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"it is somebody else's": func(t *testing.T, path string, _ *limits) {
			if err := errors.Join(os.Remove(path), os.Symlink("/dev/null", path)); err != nil {
				t.Fatal(err)
			}
		},
		"it is a later version's": func(t *testing.T, path string, _ *limits) {
			later := tempDir(t)
			makeLater(t, open(t, later, Options{limits: quiet()}))
			if err := os.Rename(filepath.Join(later, fileName), path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(scenario, func(t *testing.T) {
			dir, l := tempDir(t), quiet()
			var told warnings
			j := open(t, dir, Options{Warn: told.add, limits: l})
			<-j.inspected
			record(t, j, aRun(1, run.Active))
			l2 := *l
			harm(t, filepath.Join(dir, fileName), &l2)
			j.w.limits.rename = l2.rename // nobody is at work
			if err := j.Record(t.Context(), []run.Run{aRun(2, run.Active)}, nil); !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
			if got := told.String(); !strings.Contains(got, "cannot be written to") {
				t.Error(got)
			}
		})
	}
}
