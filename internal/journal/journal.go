// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps what is remembered of runs, and what they wrote, when their objects are gone.
//
// It is a database in one file, SQLite in Go without C. One process writes, others may read meanwhile (Reader).
//
//   - journal.go  the life of a journal, and what is written to it
//   - reader.go   what is read
package journal

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-logr/logr"
	_ "modernc.org/sqlite" // the database

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Options are the choices of who opens a journal for writing.
type Options struct {
	// KeepRuns is how long runs are kept after their end, 0 for ever. KeepLogs is how many bytes the logs of all runs may
	// take on the disk; the oldest go first; 0 keeps none, less than 0 any number.
	KeepRuns time.Duration
	KeepLogs int64
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Warn gets a line for the user: what was set aside, that the disk is full, that it is written to again. Each once.
	Warn   func(string)
	Logger logr.Logger
}

// Journal is a journal that is written to. Its methods may be called from several goroutines.
type Journal struct{}

var errNotBuilt = errors.New("journal: not built yet")

// Open opens the journal in dir, and makes both with mode 0700 if need be. A damaged one is set aside with a warning and a
// new one begun.
func Open(dir string, o Options) (*Journal, error) { return nil, errNotBuilt }

// Record remembers runs and omissions. When it returns nil they are durable: neither kill -9 nor a loss of power takes
// them back. A run that is there already is brought up to date: one that has ended does not become active again, and
// what attempts have summed up stays. An omission that is there already (owner and scheduled time) is replaced.
// ErrUnavailable says that the journal cannot be written to now, and that the same call is worth another try later.
func (j *Journal) Record(ctx context.Context, runs []run.Run, omissions []run.Omission) error {
	return errNotBuilt
}

// RecordAttempt remembers an attempt that has ended, with its log in the format of CRI ("2026-01-02T15:04:05.9Z stdout F
// text"); nil is none. It is all there, and durable, when it returns nil. An attempt that is there already stays as it
// is. The run may become known later.
func (j *Journal) RecordAttempt(ctx context.Context, a run.Attempt, log io.Reader) error {
	return errNotBuilt
}

// ErrUnavailable: the journal cannot be written to, because the disk is full or cannot be written. Nothing was recorded.
var ErrUnavailable = errors.New("the journal cannot be written to")

// Close ends it. What was recorded is there.
func (j *Journal) Close() error { return nil }
