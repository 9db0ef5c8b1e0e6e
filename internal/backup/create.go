// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/privatedir"
	"github.com/carillon-dev/carillon/internal/version"
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

const (
	storeCopy   = "store.snapshot"
	journalCopy = "runs.db" // as the journal names it: the copy is opened as one
)

// copyAll copies what must not be held for long: a reader that is slow, such as a network, would make store and journal
// grow meanwhile.
func (b *creation) copyAll(ctx context.Context, m *moment) error {
	need := m.size
	if info, err := os.Lstat(datadir.JournalDatabase(b.dir)); err == nil && m.journal != nil {
		need += info.Size()
	}
	disk := space{b.work.path, spareBytes, "the store and the journal are copied there while the backup is made; free some space", freeBytes}
	if err := disk.check(need); err != nil {
		return err
	}
	if err := b.copyStore(ctx, m); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	if m.journal == nil {
		return nil
	}
	return b.copyJournal(ctx, m)
}

// copyJournal copies the journal and lets go of it. A damaged one is not in the backup, which has everything else.
func (b *creation) copyJournal(ctx context.Context, m *moment) error {
	b.o.Progress("copying the journal", 0)
	err := m.journal.CopyTo(ctx, b.work.file(journalCopy))
	cerr := m.journal.Close()
	m.journal = nil
	if err == nil {
		err = cerr
	}
	if err == nil {
		b.o.Progress("checking the journal", 0)
		err = journal.Verify(ctx, b.work.path)
	}
	switch {
	case err == nil:
		b.hasJournal = true
	case journal.IsDamage(err):
		b.leaveJournal(err)
	default:
		return fmt.Errorf("copy the journal: %w", err)
	}
	return nil
}

// freezeJournal holds the journal, unless that is damaged.
func (b *creation) freezeJournal(ctx context.Context) (frozenJournal, error) {
	frozen, err := b.freeze(ctx, datadir.Journal(b.dir))
	if journal.IsDamage(err) {
		b.leaveJournal(err)
		return nil, nil
	}
	return frozen, err
}

// leaveJournal makes the backup one without the journal.
func (b *creation) leaveJournal(why error) {
	b.made.JournalDamage = why.Error()
	b.o.Warn("the history is not in this backup: " + why.Error())
}

func (b *creation) copyStore(ctx context.Context, m *moment) error {
	f, err := os.OpenFile(b.work.file(storeCopy), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, &watched{ctx, m.store, b.step("copying the store")})
	m.store.Close()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
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

// source is a part that is to be written.
type source struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
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

// parts lists what the archive gets, the small ones first.
func (b *creation) parts(m *moment) ([]source, error) {
	var parts []source
	content := func(name string, data []byte) {
		parts = append(parts, source{name, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }})
	}
	if name, err := privatedir.ReadFile(datadir.NodeName(b.dir), maxRecord); err == nil {
		content(nodeNamePart, name)
		b.made.Node = strings.TrimSpace(string(name))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range controlplane.EssentialFiles() {
		data, err := privatedir.ReadFile(filepath.Join(datadir.ControlPlane(b.dir), name), maxEssential)
		if err != nil {
			return nil, fmt.Errorf("a backup without it would be of no use: %w", err)
		}
		content(essentialPart(name), data)
	}
	for _, f := range m.ended.files() {
		parts = append(parts, source{f.part, f.size, func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(f.file, 0, f.size)), nil }})
	}
	copies := []struct{ name, file string }{{storePart, storeCopy}}
	if b.hasJournal {
		copies = append(copies, struct{ name, file string }{journalPart, journalCopy})
	}
	for _, c := range copies {
		info, err := os.Lstat(b.work.file(c.file))
		if err != nil {
			return nil, err
		}
		parts = append(parts, source{c.name, info.Size(), func() (io.ReadCloser, error) { return os.Open(b.work.file(c.file)) }})
	}
	return parts, nil
}

// describe fills in the manifest.
func (b *creation) describe(ctx context.Context, m *moment, parts []source) (err error) {
	made := &b.made.Manifest
	made.Format, made.FormatVersion = formatName, formatVersion
	made.Carillon, made.Kubernetes = version.String(), version.Kubernetes
	made.Created, made.EndedContainers = m.at, len(m.ended.found)
	b.made.Froze = m.froze
	for _, p := range parts {
		made.Bytes += p.size
	}
	b.o.Progress("counting", 0)
	if made.Objects, made.Revision, err = countObjects(b.work.file(storeCopy)); err != nil {
		return err
	}
	if !b.hasJournal {
		return nil
	}
	copied, err := journal.OpenReader(b.work.path)
	if err != nil {
		return fmt.Errorf("the copy of the journal: %w", err)
	}
	defer copied.Close() //nolint:errcheck // it is only read
	extent, err := copied.Extent(ctx)
	made.Runs, made.Attempts, made.Omissions = extent.Runs, extent.Attempts, extent.Omissions
	return err
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
