// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// CreateOptions are the choices of who makes a backup.
type CreateOptions struct {
	DataDir string
	// File is where it is written, Out takes it instead if it is not nil.
	File string
	Out  io.Writer
	// Force replaces a file that is there.
	Force bool
	// Now tells the time; nil means time.Now. Progress is told what is done and how many bytes of it are, at most a few
	// hundred times a second; Warn what the user should know. Nil means nobody listens.
	Now      func() time.Time
	Progress func(step string, bytes int64)
	Warn     func(string)
}

// Created tells what a backup has.
type Created struct {
	Manifest
	// Size is how large the file is, in bytes.
	Size int64
	// Running: Carillon ran meanwhile.
	Running bool
	// Froze is how long the journal waited.
	Froze time.Duration
	// Alive counts containers that run although Carillon does not, because it was killed: for the backup they run
	// still.
	Alive int
}

// backupPrefix begins the names of directories in the data directory in which backups are made ready.
const backupPrefix = ".backup-" + unfinished + "-"

// Create makes a backup of the Carillon on a data directory, whether or not it runs. After an error, or a kill, there
// is no file of that name that was not there before. A *RequestError says that the user's choice is at fault.
func Create(ctx context.Context, o CreateOptions) (Created, error) {
	b := creation{o: o, freeze: freezeJournal}
	b.o.Now, b.o.Progress, b.o.Warn = orDefaults(o.Now, o.Progress, o.Warn)
	return b.run(ctx)
}

func orDefaults(now func() time.Time, progress func(string, int64), warn func(string)) (func() time.Time, func(string, int64), func(string)) {
	if now == nil {
		now = time.Now
	}
	if progress == nil {
		progress = func(string, int64) {}
	}
	if warn == nil {
		warn = func(string) {}
	}
	return now, progress, warn
}

// creation is one backup that is being made.
type creation struct {
	o      CreateOptions
	freeze func(ctx context.Context, dir string) (frozenJournal, error)
	dir    string
	work   *workDir
	made   Created
	// hasJournal: a copy of the journal is in work.
	hasJournal bool
}

func (b *creation) run(ctx context.Context) (_ Created, err error) {
	if b.dir, err = privatedir.Resolve(b.o.DataDir); err != nil {
		return Created{}, fmt.Errorf("the data directory cannot be used: %w (--data-dir names another)", err)
	}
	if err := b.checkSource(); err != nil {
		return Created{}, err
	}
	out, commit := b.o.Out, func() error { return nil }
	if out == nil {
		file, err := openOutput(b.o.File, b.o.Force)
		if err != nil {
			return Created{}, err
		}
		defer file.abandon()
		out, commit = file, file.commit
	}
	store, release, err := b.reachStore(ctx)
	if err != nil {
		return Created{}, err
	}
	defer release()
	if err := b.makeWork(); err != nil {
		return Created{}, err
	}
	defer func() { err = errors.Join(err, b.work.remove()) }()
	m, err := take(ctx, store, b.freezeJournal, datadir.EndedContainers(b.dir), b.o.Now)
	if err != nil {
		return Created{}, err
	}
	defer m.close()
	if err := b.copyAll(ctx, m); err != nil {
		return Created{}, err
	}
	parts, err := b.parts(m)
	if err != nil {
		return Created{}, err
	}
	if err := b.describe(ctx, m, parts); err != nil {
		return Created{}, err
	}
	// All is copied, or open: whoever reads slowly keeps nobody waiting.
	release()
	counted := &countingWriter{w: out}
	if err := b.write(ctx, counted, parts); err != nil {
		return Created{}, err
	}
	if err := commit(); err != nil {
		return Created{}, err
	}
	b.made.Size = counted.n
	return b.made, nil
}

// checkSource makes sure that there is something to back up, without making anything.
func (b *creation) checkSource() error {
	d, err := privatedir.Open(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return b.nothing()
	}
	if err != nil {
		return fmt.Errorf("the data directory cannot be used: %w (--data-dir names another)", err)
	}
	d.Close()
	there, err := controlplane.HasStore(datadir.ControlPlane(b.dir))
	if err == nil && !there {
		err = b.nothing()
	}
	return err
}

func (b *creation) nothing() error {
	return request("no Carillon keeps its state in %s, so there is nothing to back up (--data-dir names another directory)", b.dir)
}

// reachStore opens the store: that of a Carillon that runs, or, with the directory locked, alone.
func (b *creation) reachStore(ctx context.Context) (*controlplane.OpenStore, func(), error) {
	plane := datadir.ControlPlane(b.dir)
	lock, err := controlplane.LockDir(b.dir)
	var locked *controlplane.LockedError
	if errors.As(err, &locked) {
		b.made.Running = true
		store, err := controlplane.ConnectStore(ctx, plane)
		if err != nil {
			return nil, nil, fmt.Errorf("%s uses %s, and its store does not answer: it starts or stops just now, or is another backup or restore; try again in a moment (%w)", processText(locked.PID), b.dir, err)
		}
		return store, sync.OnceFunc(func() { _ = store.Close() }), nil // it is only read
	}
	if err != nil {
		return nil, nil, err
	}
	if b.made.Alive, err = keepEnds(b.dir, b.o.Warn); err != nil {
		lock.Release()
		return nil, nil, err
	}
	b.o.Progress("opening the store", 0)
	store, err := controlplane.StartStore(ctx, plane)
	if err != nil {
		lock.Release()
		return nil, nil, err
	}
	return store, sync.OnceFunc(func() { _ = store.Close(); lock.Release() }), nil // likewise
}

func processText(pid int) string {
	if pid == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

// makeWork makes the directory for copies, and removes what killed backups left.
func (b *creation) makeWork() (err error) {
	if err := sweepWork(b.dir, backupPrefix, func(string) error { return nil }); err != nil {
		b.o.Warn("what a backup left that was killed is not removed: " + err.Error())
	}
	b.work, err = makeWork(b.dir, backupPrefix)
	return err
}

// step gives what counts the bytes of a step.
func (b *creation) step(name string) func(int) {
	return countedStep(name, b.o.Progress)
}

func countedStep(name string, progress func(string, int64)) func(int) {
	var done int64
	return func(n int) {
		done += int64(n)
		progress(name, done)
	}
}

// write writes the archive.
func (b *creation) write(ctx context.Context, w io.Writer, parts []source) error {
	a, err := newArchiveWriter(ctx, w, &b.made.Manifest, b.step("writing the backup"))
	if err != nil {
		return b.writeError(err)
	}
	defer a.abandon()
	for _, p := range parts {
		r, err := p.open()
		if err != nil {
			return err
		}
		err = a.add(p.name, p.size, r)
		r.Close()
		if err != nil {
			return b.writeError(err)
		}
	}
	return b.writeError(a.close())
}

func (b *creation) writeError(err error) error {
	if err == nil || b.o.Out != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return cannotWrite(b.o.File, err)
}

// countingWriter counts what passes.
type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
