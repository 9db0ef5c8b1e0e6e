// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// RestoreOptions are the choices of who restores a backup.
type RestoreOptions struct {
	DataDir string
	// File is the backup, In has it instead if it is not nil.
	File string
	In   io.Reader
	// Replace sets the state aside that is there; Runs brings back the history alone; Suspend lets nothing start by
	// itself in what is restored. Runs goes with neither of the others.
	Replace, Runs, Suspend bool
	// Now tells the time; nil means time.Now. Progress is told what is done and how many bytes of it are, Warn what the
	// user should know. Nil means nobody listens.
	Now      func() time.Time
	Progress func(step string, bytes int64)
	Warn     func(string)
}

// Restored tells what a restore did.
type Restored struct {
	Manifest
	// Aside is where the state is that was there before; empty if there was none.
	Aside string
	// Running: Carillon ran meanwhile. RunsOnly: the history came back, and nothing else.
	Running, RunsOnly bool
	// Lost counts the Pods that were running, or about to, when the backup was made, and have failed now; Ended those
	// that had ended and whose end was not in the store yet.
	Lost, Ended int
	// Suspended counts what was suspended because the user asked for it.
	Suspended Suspended
	// Merged is what came into the journal; only with RunsOnly.
	Merged Merged
}

// Restore makes a data directory of a backup, or brings its history back. The whole backup is checked before anything
// of the user's is touched; after an error, or a kill, all is as it was. A *RequestError says that the user's choice is
// at fault.
func Restore(ctx context.Context, o RestoreOptions) (Restored, error) {
	r := restoration{o: o, placing: systemCalls}
	r.o.Now, r.o.Progress, r.o.Warn = orDefaults(o.Now, o.Progress, o.Warn)
	return r.run(ctx)
}

// restoration is one restore.
type restoration struct {
	o      RestoreOptions
	dir    string
	target target
	work   *workDir
	done   Restored
	// placing is what puts the state in its place.
	placing placing
}

func (r *restoration) run(ctx context.Context) (_ Restored, err error) {
	in := io.NopCloser(r.o.In)
	if r.o.In == nil {
		if in, err = openInput(r.o.File); err != nil {
			return Restored{}, err
		}
	}
	defer in.Close()
	if r.dir, err = privatedir.Resolve(r.o.DataDir); err != nil {
		return Restored{}, fmt.Errorf("the data directory cannot be used: %w (--data-dir names another)", err)
	}
	if err := r.sweep(); err != nil {
		return Restored{}, err
	}
	if r.target, err = takeTarget(r.dir, r.o.Runs); err != nil {
		return Restored{}, err
	}
	defer func() { r.target.release(err != nil) }()
	if err := r.target.allows(ctx, r.o); err != nil {
		return Restored{}, err
	}
	if err := r.makeWork(); err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, r.work.remove()) }()

	fresh := r.work.file(freshDir)
	u := &unpacker{dir: fresh, snapshot: r.work.file(storeCopy), space: space{spare: spareBytes, cure: "free some space, or restore it elsewhere (--data-dir)", free: freeBytes}}
	if r.target.inUse {
		u.space.spare = runningSpareBytes
	}
	m, err := readArchive(ctx, in, u, countedStep("reading the backup", r.o.Progress))
	if err != nil {
		return Restored{}, fmt.Errorf("%s is not restored, and nothing was changed: %w", r.name(), err)
	}
	if err := u.complete(m); err != nil {
		return Restored{}, fmt.Errorf("%s is not restored, and nothing was changed: %w", r.name(), err)
	}
	if u.has[journalPart] {
		r.o.Progress("checking the history", 0)
		if err := journal.Verify(ctx, datadir.Journal(fresh)); err != nil {
			return Restored{}, fmt.Errorf("%s is not restored, and nothing was changed: the journal in it cannot be read: %w", r.name(), cause(err))
		}
	}
	r.done.Manifest = *m
	if r.o.Runs {
		return r.done, r.restoreHistory(ctx, fresh)
	}
	if err := r.build(ctx, fresh, u.snapshot); err != nil {
		return Restored{}, fmt.Errorf("%s is not restored, and nothing was changed: %w", r.name(), err)
	}
	if err := ctx.Err(); err != nil {
		return Restored{}, err
	}
	r.o.Progress("putting it in place", 0)
	done, err := r.placing.place(fresh, r.target, r.o.Now())
	r.done.Aside, r.work.keep = done.aside, done.left != ""
	return r.done, err
}

func (r *restoration) name() string {
	if r.o.In != nil {
		return "the backup"
	}
	return r.o.File
}

// makeWork makes the directory for what is not in its place yet: on the same filesystem.
func (r *restoration) makeWork() (err error) {
	parent := filepath.Dir(r.dir)
	if r.o.Runs { // its own place is inside
		parent = r.dir
	}
	r.work, err = makeWork(parent, datadir.RestorePrefix(r.dir))
	return err
}

// sweep removes what killed restores left. What they were about to set aside when they were killed is set aside: not
// while a Carillon runs there, which hides from its containers what was beside its directory when it started.
func (r *restoration) sweep() error {
	left, err := workLeft(filepath.Dir(r.dir), datadir.RestorePrefix(r.dir))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(r.dir); err == nil && len(left) > 0 {
		lock, err := controlplane.LockDir(r.dir)
		var locked *controlplane.LockedError
		if errors.As(err, &locked) {
			return nil
		}
		if err != nil {
			return err
		}
		defer lock.Release()
	}
	for _, parent := range []string{filepath.Dir(r.dir), r.dir} {
		err := sweepWork(parent, datadir.RestorePrefix(r.dir), func(path string) error {
			told, err := rescue(path, r.dir, r.o.Now())
			if err == nil && told == "" {
				told = "a restore was killed before it was finished; what it left is removed"
			}
			if err == nil {
				r.o.Warn(told)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("what a restore left that was killed is in the way: %w", err)
		}
	}
	return nil
}

// build makes a state of what was unpacked, in a directory that nobody uses.
func (r *restoration) build(ctx context.Context, fresh, snapshot string) error {
	r.o.Progress("making the store", 0)
	plane := datadir.ControlPlane(fresh)
	if err := controlplane.RestoreStore(snapshot, plane); err != nil {
		return err
	}
	if err := os.Remove(snapshot); err != nil {
		return err
	}
	attempts, err := openAttempts(fresh)
	if err != nil {
		return err
	}
	defer attempts.close()
	store, err := controlplane.StartStore(ctx, plane)
	if err != nil {
		return err
	}
	s := settlement{kv: store.KV, attempts: attempts, manifest: &r.done.Manifest, suspend: r.o.Suspend, now: r.o.Now()}
	// A store that was full refuses to be written to; the next start looks how full it is.
	if err = store.Disarm(ctx); err == nil {
		err = s.settle(ctx)
	}
	r.done.Lost, r.done.Ended, r.done.Suspended = s.lost, s.ended, s.suspended
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(plane, "etcd.sock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// unpacker puts the parts of a backup into a directory that nobody uses.
type unpacker struct {
	dir      string
	snapshot string // where the store's goes
	space    space
	has      map[string]bool
}

// begin makes the directory.
func (u *unpacker) begin(m *Manifest) error {
	u.has = map[string]bool{}
	d, err := privatedir.Make(u.dir)
	if err != nil {
		return err
	}
	d.Close()
	// The store is there twice, as a snapshot and made of it; so is a journal that is merged.
	u.space.dir = u.dir
	return u.space.check(2 * m.Bytes)
}

// part makes a file.
func (u *unpacker) part(p part, _ int64) (io.WriteCloser, error) {
	u.has[p.name] = true
	f, err := u.open(p)
	if err != nil {
		return nil, err
	}
	return u.space.writer(f), nil
}

func (u *unpacker) open(p part) (io.WriteCloser, error) {
	if p.path != "" {
		dir, err := privatedir.Make(filepath.Join(u.dir, filepath.FromSlash(path.Dir(p.path))))
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return dir.OpenFile(path.Base(p.path), os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	}
	return os.OpenFile(u.snapshot, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// complete tells what is missing.
func (u *unpacker) complete(m *Manifest) error {
	needed := []string{storePart}
	for _, file := range controlplane.EssentialFiles() {
		needed = append(needed, essentialPart(file))
	}
	if m.Node != "" {
		needed = append(needed, nodeNamePart)
	}
	for _, name := range needed {
		if !u.has[name] {
			return fmt.Errorf("the backup has no %s", name)
		}
	}
	return nil
}
