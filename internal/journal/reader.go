// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Reader reads a journal, also while another process writes to it, and also when none does. Its methods may be called
// from several goroutines. When a new database is begun in place of the one that it has open, it goes on with that.
type Reader struct {
	files *directory

	mu     sync.Mutex
	o      *opened
	closed bool
}

// opened is a database file, opened for reading.
type opened struct {
	db    *sql.DB
	info  os.FileInfo
	users sync.WaitGroup

	mu     sync.Mutex
	words  map[int64]string
	series map[int64]seriesKey
}

// readConnections is how many queries of one Reader go at the same time.
const readConnections = 4

// ErrNone says that there is no journal in the directory.
var ErrNone = errors.New("there is no journal")

// OpenReader opens the journal in dir for reading. It makes nothing: errors are ErrNone, a damaged one, one of a later
// version, or one of somebody else's (privatedir).
func OpenReader(dir string) (*Reader, error) {
	files, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	r := &Reader{files: files}
	if r.o, err = openFile(files); err != nil {
		files.close()
		return nil, err
	}
	return r, nil
}

// openFile opens the database for reading and sees that it is one.
func openFile(files *directory) (*opened, error) {
	info, err := os.Lstat(files.database())
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w in %s", ErrNone, files.path)
		}
		return nil, err
	}
	name := dsn(files.database(), "ro", readPragmas)
	if files.isStill() {
		name += "&immutable=1" // SQLite would make files for readers and writers to agree
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readConnections)
	db.SetMaxIdleConns(readConnections)
	o := &opened{db: db, info: info, words: map[int64]string{}, series: map[int64]seriesKey{}}
	if err := o.verify(files); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return o, nil
}

func (o *opened) verify(files *directory) error {
	ctx := context.Background()
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return explained(files, err)
	}
	defer conn.Close() //nolint:errcheck // it was only read
	d := &database{conn: conn}
	version, err := d.version(ctx, files.database())
	switch {
	case err != nil:
		return explained(files, err)
	case version == 0:
		return fmt.Errorf("%w in %s", ErrNone, files.path) // it is being made
	case version < ownVersion():
		return fmt.Errorf("%s was written by an earlier version of Carillon, which still runs: start this version with "+
			"carillon up, and it is brought up to date", files.database())
	}
	return nil
}

// explained says what an error of the database means for who reads.
func explained(files *directory, err error) error {
	if isDamage(err) {
		return fmt.Errorf("the journal %s is damaged (%w): the next carillon up keeps it beside and begins a new one; "+
			"carillon restore brings back what a backup has", files.database(), err)
	}
	return err
}

// Close ends it.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.files.close()
	return r.o.close()
}

func (o *opened) close() error {
	o.users.Wait()
	return o.db.Close()
}

// with calls f with the database that is there now.
func (r *Reader) with(f func(*opened) error) error {
	o, err := r.current()
	if err != nil {
		return err
	}
	defer o.users.Done()
	return explained(r.files, f(o))
}

// current gives the open file, for as long as its user takes; another one if that has taken its name.
func (r *Reader) current() (*opened, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if info, err := os.Lstat(r.files.database()); err != nil || !os.SameFile(info, r.o.info) {
		// Another one takes its place only once it can be read: a restore, or a new one, may just be on the way.
		if o, err := openFile(r.files); err == nil {
			go r.o.close() //nolint:errcheck // nobody reads from it any more
			r.o = o
		}
	}
	r.o.users.Add(1)
	return r.o, nil
}

// Runs gives the chosen runs, newest first.
func (r *Reader) Runs(ctx context.Context, q Query) ([]run.Run, error) {
	var all []run.Run
	err := r.read(ctx, func(t *reading) (err error) {
		all, err = t.runs(q)
		return err
	})
	return all, err
}

// Omissions gives the chosen omissions, newest first.
func (r *Reader) Omissions(ctx context.Context, q Query) ([]run.Omission, error) {
	var all []run.Omission
	err := r.read(ctx, func(t *reading) (err error) {
		all, err = t.omissions(q)
		return err
	})
	return all, err
}

// Attempts gives those of a run, by their end.
func (r *Reader) Attempts(ctx context.Context, uid types.UID) ([]run.Attempt, error) {
	var all []run.Attempt
	err := r.read(ctx, func(t *reading) (err error) {
		all, err = t.attempts(uid)
		return err
	})
	return all, err
}

// Extent tells what a journal has.
type Extent struct {
	Runs, Attempts, Omissions int64
	// Oldest is the end of the oldest run that is kept; zero if there is none.
	Oldest time.Time
	// LogBytes is what logs take, DiskBytes what the whole journal does.
	LogBytes, DiskBytes int64
}

// Extent measures the journal.
func (r *Reader) Extent(ctx context.Context) (Extent, error) {
	var e Extent
	err := r.read(ctx, func(t *reading) error {
		var oldest any
		for _, part := range []struct {
			query string
			to    any
		}{
			{"SELECT count(*) FROM runs WHERE outcome >= 0", &e.Runs},
			{"SELECT count(*) FROM attempts", &e.Attempts},
			{"SELECT count(*) FROM omissions", &e.Omissions},
			{"SELECT min(ended) FROM runs WHERE outcome IN (1, 2, 3, 4)", &oldest},
			{"SELECT coalesce(sum(disk), 0) FROM logs", &e.LogBytes},
		} {
			if err := t.tx.QueryRowContext(ctx, part.query).Scan(part.to); err != nil {
				return err
			}
		}
		e.Oldest = ofNanos(oldest)
		return nil
	})
	for _, c := range companions {
		if info, serr := os.Lstat(r.files.database() + c); serr == nil {
			e.DiskBytes += info.Size()
		}
	}
	return e, err
}
