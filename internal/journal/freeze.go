// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"modernc.org/sqlite"
)

// Frozen is a journal as it was at one moment, for a backup. Its methods are for one goroutine.
type Frozen struct {
	lock     *database // holds the lock of who writes; nil after Thaw
	snapshot *database // reads the state of the moment
	thaw     sync.Once
	thawed   error
}

// Freeze keeps every process from writing to the journal in dir until Thaw, and holds on to its state at this moment
// until Close. It waits for a transaction that is at work, at most until ctx ends. Who wants to write waits meanwhile,
// and gets ErrUnavailable after ten seconds: thaw soon. Until Close the file beside the database, which has what was
// written lately, does not shrink. The error is ErrNone if there is no journal, or one of OpenReader's.
func Freeze(ctx context.Context, dir string) (*Frozen, error) {
	files, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	defer files.close()
	f := &Frozen{}
	if f.lock, err = connect(ctx, files.database(), "rw", lockPragmas); err != nil {
		return nil, explained(files, err)
	}
	if err = f.freeze(ctx, files); err != nil {
		return nil, errors.Join(explained(files, err), f.Close())
	}
	return f, nil
}

func (f *Frozen) freeze(ctx context.Context, files *directory) error {
	version, err := f.lock.version(ctx, files.database())
	if err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("%w in %s", ErrNone, files.path)
	}
	for {
		// Its own busy_timeout is what it waits between two looks at ctx.
		if _, err = f.lock.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err == nil {
			break
		}
		if cerr := ctx.Err(); cerr != nil || !isBusy(err) {
			return errors.Join(cerr, err)
		}
	}
	if f.snapshot, err = connect(ctx, files.database(), "ro", readPragmas); err != nil {
		return err
	}
	if _, err = f.snapshot.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	// A snapshot is that of the first read.
	var n int64
	return f.snapshot.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
}

// Thaw lets who writes go on. The state of the moment stays. Calling it again does nothing.
func (f *Frozen) Thaw() error {
	f.thaw.Do(func() {
		_, err := f.lock.exec("ROLLBACK")
		f.thawed = errors.Join(err, f.lock.close())
	})
	return f.thawed
}

// Close thaws, and lets go of the state of the moment.
func (f *Frozen) Close() error {
	var err error
	if f.snapshot != nil {
		err = f.snapshot.close()
		f.snapshot = nil
	}
	f.thaw.Do(func() { f.thawed = f.lock.close() }) // which undoes a transaction
	return errors.Join(err, f.thawed)
}

// pagesTogether is how many pages are copied between two looks at the context.
const pagesTogether = 256

// CopyTo writes the state of the moment into a new database file, which must not be there yet. It is one file, readable
// by its owner, and durable. After an error there is none.
func (f *Frozen) CopyTo(ctx context.Context, path string) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			for _, c := range companions {
				_ = os.Remove(path + c) // the error that made it useless is the one to tell
			}
		}
	}()
	if err := file.Close(); err != nil {
		return err
	}
	if err := f.snapshot.conn.Raw(func(c any) error { return copyPages(ctx, c, path) }); err != nil {
		return err
	}
	// The copy says of itself that it has a file beside it: it is made one that has none.
	d, err := connect(ctx, path, "rw", []string{"journal_mode(delete)", "synchronous(full)"})
	if err != nil {
		return err
	}
	if err := d.close(); err != nil {
		return err
	}
	if file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// copyPages copies a connection's database.
func copyPages(ctx context.Context, conn any, path string) error {
	source, ok := conn.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("the database's driver makes no copies")
	}
	b, err := source.NewBackup(dsn(path, "rw", []string{"busy_timeout(10000)"}))
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.Step(pagesTogether)
		}
	}
	if ferr := b.Finish(); err == nil {
		err = ferr
	}
	return err
}
