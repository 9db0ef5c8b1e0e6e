// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

func failure(name string, ended time.Time) run.Run {
	return run.Run{UID: types.UID(name), APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name, Outcome: run.Failed, Created: ended, Ended: ended,
		Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "shop-backup"}}
}

// The first who asks waits until it is found out; then it is at hand, follows what happens while somebody looks, and
// nobody is asked any more when nobody does.
func TestStatus(t *testing.T) {
	inWorld(t, []string{backup, report}, func(t *testing.T, w *world) {
		w.source.takes = 100 * time.Millisecond
		w.begin()
		time.Sleep(time.Minute)
		if n := w.source.questions(); n != 0 {
			t.Errorf("%d questions before anybody looks", n)
		}
		first, err := w.Status(t.Context())
		if err != nil || first.Schedules != 2 || !first.Served {
			t.Fatalf("%+v, %v", first, err)
		}
		began := time.Now()
		if _, err := w.Status(t.Context()); err != nil || time.Since(began) > 0 {
			t.Errorf("it was waited %v for it: %v", time.Since(began), err)
		}
		w.source.add(failure("backup-1", time.Now()))
		w.create(job) // a run begins, which is watched
		time.Sleep(2 * time.Second)
		if is, err := w.Status(t.Context()); err != nil || len(is.Failed) != 1 {
			t.Errorf("then %+v, %v", is, err)
		}
		before := w.source.questions()
		time.Sleep(20 * time.Second)
		if n := w.source.questions() - before; n < 1 || n > 3 {
			t.Errorf("%d questions in 20 s without news", n)
		}
		time.Sleep(lookedFor)
		before = w.source.questions()
		time.Sleep(10 * time.Minute)
		if n := w.source.questions() - before; n != 0 {
			t.Errorf("%d questions when nobody looks", n)
		}
		if is, err := w.Status(t.Context()); err != nil || time.Since(is.Now) > time.Second {
			t.Errorf("it is of %v: %v", is.Now, err)
		}
	})
}

// Rest follows work: what takes long is not done all the time, whatever happens.
func TestStatusRests(t *testing.T) {
	inWorld(t, []string{backup}, func(t *testing.T, w *world) {
		w.source.takes = time.Second
		w.begin()
		changes := w.Changes(t.Context())
		go func() {
			for {
				select {
				case <-time.After(20 * time.Millisecond):
					w.changed()
				case <-t.Context().Done():
					return
				}
			}
		}()
		time.Sleep(time.Minute)
		before := w.source.questions()
		time.Sleep(time.Minute)
		if n := w.source.questions() - before; n < 10 || n > 13 {
			t.Errorf("%d looks of a second each in a minute", n)
		}
		<-changes
	})
}

// Who asks for what cannot be found out is told so, and it is tried again.
func TestStatusFails(t *testing.T) {
	inWorld(t, []string{backup}, func(t *testing.T, w *world) {
		w.source.fails = errors.New("the journal is damaged")
		w.begin()
		if _, err := w.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("the error is %v", err)
		}
		w.source.mu.Lock()
		w.source.fails = nil
		w.source.mu.Unlock()
		time.Sleep(late + 2*time.Second)
		if _, err := w.Status(t.Context()); err != nil {
			t.Errorf("then the error is %v", err)
		}
	})
}

// A cache that does not run, or not yet, keeps nobody waiting for ever.
func TestStatusNotYet(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		began := time.Now()
		if _, err := w.Status(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > firstWait+time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// Without an API server what a journal has is shown, and followed.
func TestJournalAlone(t *testing.T) {
	dir := t.TempDir()
	written, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := written.Close(); err != nil {
			t.Error(err)
		}
	}()
	reader, err := journal.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Source: lookup.NewJournal(reader, "a test", "")})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	defer func() { stop(); <-ended; _ = reader.Close() }()
	changes := c.Changes(ctx)
	if all, err := c.Schedules(ctx); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	is, err := c.Status(ctx)
	if err != nil || is.Served || len(is.Failed) != 0 {
		t.Fatalf("%+v, %v", is, err)
	}
	if err := written.Record(ctx, []run.Run{failure("backup-1", time.Now())}, nil); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(time.Minute)
	for {
		if is, err := c.Status(ctx); err == nil && len(is.Failed) == 1 {
			return
		}
		select {
		case <-changes:
		case <-deadline:
			t.Fatal("nobody tells that a run failed")
		}
	}
}

// Notes of what could not be found out are among those of what cannot be watched.
func TestNotes(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.server.fail("Job.batch", forbidden)
		w.begin()
		if _, err := w.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if notes := w.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "Jobs may not be read: ") {
			t.Errorf("noted: %q", notes)
		}
	})
}

// A fault that stays is told to each viewer, and logged once; so is a panic, with which nothing else ends.
func TestStatusFaultsAreLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		begin  func(s *source)
		logged string
		often  func(n int) bool
	}{
		"it fails":  {func(s *source) { s.fails = errors.New("no disk") }, "What goes on cannot be found out", func(n int) bool { return n == 1 }},
		"it panics": {func(s *source) { s.panics = "no sense" }, "work for a page panicked", func(n int) bool { return n > 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, []string{backup}, func(t *testing.T, w *world) {
				test.begin(w.source)
				w.begin()
				for range 20 {
					if _, err := w.Status(t.Context()); err == nil {
						t.Fatal("it is not told")
					}
					time.Sleep(4 * time.Second)
				}
				synctest.Wait()
				if n := strings.Count(w.log.String(), test.logged); !test.often(n) {
					t.Errorf("it was logged %d times: %s", n, &w.log)
				}
				w.source.mu.Lock()
				w.source.fails, w.source.panics = nil, nil
				w.source.mu.Unlock()
				time.Sleep(goodFor + 2*late)
				if _, err := w.Status(t.Context()); err != nil {
					t.Errorf("when it is over: %v", err)
				}
			})
		})
	}
}
