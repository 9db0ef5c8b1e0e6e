// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Calls wait for a journal that is being opened, and a stop does not.
func TestLateJournal(t *testing.T) {
	active := []run.Run{{UID: "1", Namespace: "default", Name: "a", Kind: "Job"}}
	for scenario, refused := range map[string]error{"it opens": nil, "it does not": errors.New("somebody else's")} {
		t.Run(scenario, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "journal")
			l := newLateJournal(dir)
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if err := l.Record(gone, active, nil); !errors.Is(err, context.Canceled) || !l.draining() || l.failed() {
				t.Error("before it is open:", err, l.draining(), l.failed())
			}
			recorded := make(chan error, 1)
			go func() { recorded <- l.Record(t.Context(), active, nil) }()
			if err := l.open(func() (*journal.Journal, error) {
				if refused != nil {
					return nil, refused
				}
				return journal.Open(dir, journal.Options{})
			}); !errors.Is(err, refused) {
				t.Error(err)
			}
			err := <-recorded
			if refused == nil && err != nil || refused != nil && !errors.Is(err, journal.ErrUnavailable) {
				t.Error(err)
			}
			if l.failed() != (refused != nil) || l.draining() != (refused == nil) {
				t.Error(l.failed(), l.draining())
			}
			if got, err := l.Runs(t.Context(), journal.Query{}); refused == nil && (len(got) != 1 || err != nil) || refused != nil && err == nil {
				t.Error(got, err)
			}
			if err := l.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One that is closed before it is open is closed when it is.
func TestLateJournalClosedBeforeItIsOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	l := newLateJournal(dir)
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	var opened *journal.Journal
	if err := l.open(func() (j *journal.Journal, err error) {
		opened, err = journal.Open(dir, journal.Options{})
		return opened, err
	}); err != nil {
		t.Fatal(err)
	}
	if err := opened.Record(t.Context(), []run.Run{{UID: "1"}}, nil); err == nil {
		t.Error("it is open")
	}
}
