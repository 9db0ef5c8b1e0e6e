// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps what is remembered of runs, and what they wrote, when their objects are gone.
//
// It is a database in one file, SQLite in Go without C. One process writes, others may read meanwhile (Reader).
//
//   - journal.go    the life of a journal, and what is written to it
//   - writer.go     the one goroutine that writes: calls that come together are committed together
//   - available.go  what a full disk, a damaged file or another's lock means for who writes
//   - damage.go     a damaged file is set aside
//   - record.go     runs, omissions and attempts as rows
//   - log.go        logs as chunks; chunk.go is one chunk
//   - retention.go  what goes, when and how; steady.go keeps a wrong clock from taking everything
//   - reader.go     what is read; query.go, tally.go, names.go, usual.go, statistics.go and readlog.go are the parts
//     of it
//   - stamp.go      whether anything was written since
//   - freeze.go     the journal at one moment, for a backup; merge.go adds that to another, mergelog.go its logs
//   - verify.go     looking through all of one for damage
//   - database.go   the connection; schema.go its tables, encoding.go what stands in them
//   - files.go      the directory and its files; files_other.go where no Carillon runs
package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	_ "modernc.org/sqlite" // the database

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Options are the choices of who opens a journal for writing.
type Options struct {
	// KeepRuns is how long runs are kept after their end, 0 for ever. KeepLogs is how many bytes the logs of all runs
	// may take on the disk; the oldest go first; 0 keeps none, less than 0 any number.
	KeepRuns time.Duration
	KeepLogs int64
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Warn gets a line for the user: what was set aside, that the disk is full, that it is written to again. Each once.
	Warn   func(string)
	Logger logr.Logger

	// limits are those of tests.
	limits *limits
}

// limits are what the disk is to have left and the journal may have.
type limits struct {
	reserve int64                           // bytes that stay free on the disk for others
	records int64                           // bytes of all but logs
	free    func(dir string) (int64, error) // tells how many bytes are free
	rename  func(from, to string) error     // renames a file
	pragmas []string                        // more pragmas for the writing connection
	// lockWait is how long SQLite waits for another's lock.
	lockWait time.Duration
	// steady is for how long the clock must have been steady before age removes much at once; elapsed tells for how
	// long the journal has been open, by a clock that nobody sets.
	steady  time.Duration
	elapsed func() time.Duration
	idle    time.Duration // between two rounds of retention
	after   func(time.Duration) <-chan time.Time
}

func defaultLimits() limits {
	opened := time.Now()
	elapsed := func() time.Duration { return time.Since(opened) }
	return limits{steady: steadyTime, elapsed: elapsed, reserve: 64 << 20, records: 1 << 30, free: freeSpace, rename: os.Rename, lockWait: lockWait, idle: time.Minute, after: time.After}
}

// Journal is a journal that is written to. Its methods may be called from several goroutines.
type Journal struct {
	o        Options
	limits   limits
	requests chan *request
	closing  chan struct{}
	closed   chan struct{}
	once     sync.Once
	w        *writer // the goroutine's own
	// inspected is closed when nobody looks for damage any more.
	inspected chan struct{}
	err       error // of Close, after closed
}

// errClosed is that of calls after Close.
var errClosed = errors.New("the journal is closed")

// Open opens the journal in dir, and makes both with mode 0700 if need be. A damaged one is set aside with a warning
// and a new one begun. On a disk that is full, or cannot be written, it gives a journal all the same, which says
// ErrUnavailable until that is over. Errors are a journal of a later version (*LaterVersionError) and a directory of
// somebody else's (*privatedir.NotOursError).
func Open(dir string, o Options) (*Journal, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	l := defaultLimits()
	if o.limits != nil {
		l = *o.limits
	}
	j := &Journal{o: o, limits: l, requests: make(chan *request), closing: make(chan struct{}), closed: make(chan struct{}), inspected: make(chan struct{})}
	w, err := newWriter(dir, o, l)
	if err != nil {
		return nil, err
	}
	w.closing = j.closing
	j.w = w
	unchecked := w.d != nil && !w.checked
	go j.write()
	go func() {
		defer close(j.inspected)
		if unchecked {
			j.inspect(w.files.database())
		}
	}()
	return j, nil
}

// inspect looks for damage in a database that was not looked at when it was opened, because it was closed in good
// order: that takes a second for each hundred MB or so, and need not keep the first caller waiting.
func (j *Journal) inspect(path string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-j.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	d, err := connect(ctx, path, "ro", readPragmas)
	if err != nil {
		return // who writes will find it
	}
	err = d.check(ctx)
	if cerr := d.close(); err == nil {
		err = cerr
	}
	if !isDamage(err) {
		return
	}
	told := false
	// When it cannot be set aside now, who writes finds the damage again.
	_ = j.do(ctx, func(*database) error {
		if told {
			return nil // this is the new one
		}
		told = true
		return err
	})
}

// Record remembers runs and omissions. When it returns nil they are durable: neither kill -9 nor a loss of power takes
// them back. A run that is there already is brought up to date: one that has ended does not become active again (but
// one that is Unknown, without an end, does), and what attempts have summed up stays. An omission that is there already
// (owner and scheduled time) is replaced. ErrUnavailable says that the journal cannot be written to now, and that the
// same call is worth another try later.
//
// A context that ends stops the waiting; what was to be recorded may be, then.
func (j *Journal) Record(ctx context.Context, runs []run.Run, omissions []run.Omission) error {
	for i := range runs {
		if runs[i].UID == "" {
			return fmt.Errorf("a run without UID cannot be recorded: %s/%s", runs[i].Namespace, runs[i].Name)
		}
	}
	if len(runs) == 0 && len(omissions) == 0 {
		return ctx.Err()
	}
	return j.do(ctx, func(d *database) error {
		for i := range runs {
			if err := d.putRun(runs[i]); err != nil {
				return err
			}
		}
		for i := range omissions {
			if err := d.putOmission(&omissions[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordAttempt remembers an attempt that has ended, with its log in the format of CRI ("2026-01-02T15:04:05.9Z stdout
// F text"); nil is none. It is all there, and durable, when it returns nil. An attempt that is there already stays as
// it is. The run may become known later. Of a log that takes more than an eighth of KeepLogs the end is kept.
func (j *Journal) RecordAttempt(ctx context.Context, a run.Attempt, log io.Reader) error {
	if a.ContainerID == "" || a.RunUID == "" {
		return fmt.Errorf("an attempt without container ID or run cannot be recorded: %s/%s %s", a.Namespace, a.Pod, a.Container)
	}
	if log == nil || j.o.KeepLogs == 0 {
		return j.do(ctx, func(d *database) error { return d.putAttempt(&a, 0, 0) })
	}
	return j.recordWithLog(ctx, &a, log)
}

// ErrUnavailable says that the journal cannot be written to, because the disk is full or cannot be written, or because
// another process has had the journal for itself for ten seconds. Nothing was recorded.
var ErrUnavailable = errors.New("the journal cannot be written to")

// Unavailable tells whether the user was told that the journal cannot be written to, and not yet that it is again.
func (j *Journal) Unavailable() bool { return j.w.unavailable.Load() }

// Close ends it. What was recorded is there. It waits a second or two at most for another process's lock: calls that
// wait for that get ErrUnavailable.
func (j *Journal) Close() error {
	j.once.Do(func() { close(j.closing) })
	<-j.closed
	<-j.inspected
	return j.err
}
