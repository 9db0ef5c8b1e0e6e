// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/recorder"
)

// lateJournal is a journal that is opened while others have it already: their calls wait until it is. Of one that
// cannot be opened they get journal.ErrUnavailable. Its methods may be called from several goroutines.
type lateJournal struct {
	past   *recorder.JournalPast
	opened chan struct{} // closed when it is open, or never will be

	mu      sync.Mutex
	closed  bool
	journal *journal.Journal // after opened, when err is nil
	err     error
}

var (
	_ recorder.Journal = (*lateJournal)(nil)
	_ recorder.Past    = (*lateJournal)(nil)
)

// newLateJournal is the journal in dir.
func newLateJournal(dir string) *lateJournal {
	return &lateJournal{past: recorder.NewJournalPast(dir), opened: make(chan struct{})}
}

// open opens it; once.
func (l *lateJournal) open(open func() (*journal.Journal, error)) error {
	j, err := open()
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(l.opened)
	l.journal, l.err = j, err
	if l.closed && err == nil {
		return j.Close()
	}
	return err
}

// await gives the journal when it is open.
func (l *lateJournal) await(ctx context.Context) (*journal.Journal, error) {
	select {
	case <-l.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.err != nil {
		return nil, fmt.Errorf("%w: %w", journal.ErrUnavailable, l.err)
	}
	return l.journal, nil
}

// failed tells whether it could not be opened.
func (l *lateJournal) failed() bool {
	select {
	case <-l.opened:
		return l.err != nil
	default:
		return false
	}
}

// draining tells whether it takes what waits for it, now or in a moment.
func (l *lateJournal) draining() bool {
	select {
	case <-l.opened:
		return l.err == nil && !l.journal.Unavailable()
	default:
		return true
	}
}

// close closes it, now, or when it is open: that is not waited for.
func (l *lateJournal) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	err := l.past.Close()
	if l.journal != nil {
		err = errors.Join(err, l.journal.Close())
	}
	return err
}

// Record implements recorder.Journal.
func (l *lateJournal) Record(ctx context.Context, runs []run.Run, omissions []run.Omission) error {
	j, err := l.await(ctx)
	if err != nil {
		return err
	}
	return j.Record(ctx, runs, omissions)
}

// RecordAttempt implements recorder.Journal.
func (l *lateJournal) RecordAttempt(ctx context.Context, a run.Attempt, log io.Reader) error {
	j, err := l.await(ctx)
	if err != nil {
		return err
	}
	return j.RecordAttempt(ctx, a, log)
}

// Runs implements recorder.Past.
func (l *lateJournal) Runs(ctx context.Context, q journal.Query) ([]run.Run, error) {
	if _, err := l.await(ctx); err != nil {
		return nil, err
	}
	return l.past.Runs(ctx, q)
}

// Attempts implements recorder.Past.
func (l *lateJournal) Attempts(ctx context.Context, uid types.UID) ([]run.Attempt, error) {
	if _, err := l.await(ctx); err != nil {
		return nil, err
	}
	return l.past.Attempts(ctx, uid)
}
