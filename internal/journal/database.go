// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileName is the name of the database in the journal's directory (datadir.JournalDatabase).
const fileName = "runs.db"

// The pragmas; writePragmas want a busy_timeout, too. WAL lets others read while one writes; FULL syncs each commit, so
// that a loss of power takes nothing back; what is deleted gives its pages back in steps (retention.go).
var (
	writePragmas = []string{
		"auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)",
		"journal_size_limit(4194304)", "cache_size(-4096)", "temp_store(memory)", "trusted_schema(off)",
	}
	readPragmas = []string{"busy_timeout(10000)", "cache_size(-4096)", "temp_store(memory)", "query_only(on)", "trusted_schema(off)"}
	// lockPragmas are for a connection that only holds the lock.
	lockPragmas = []string{"busy_timeout(250)", "synchronous(full)", "trusted_schema(off)"}
	// copyPragmas are for a database that is one file, and in nobody's use.
	copyPragmas = []string{"busy_timeout(10000)", "query_only(on)", "trusted_schema(off)", "cell_size_check(on)"}
)

// database is one connection, and what it has prepared. It belongs to one goroutine.
type database struct {
	db         *sql.DB
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	// words and series are what is known of these tables; forgotten when a transaction is undone.
	words  map[string]int64
	series map[seriesKey]int64
}

// dsn names a database file for the driver. mode is SQLite's: "rw" and "ro" make no file, "rwc" does.
func dsn(path, mode string, pragmas []string) string {
	q := url.Values{"mode": {mode}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true, RawQuery: q.Encode()}).String()
}

// connect opens a database file.
func connect(ctx context.Context, path, mode string, pragmas []string) (*database, error) {
	db, err := sql.Open("sqlite", dsn(path, mode, pragmas))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{db: db, conn: conn, statements: map[string]*sql.Stmt{}, words: map[string]int64{}, series: map[seriesKey]int64{}}, nil
}

// close lets go of the connection.
func (d *database) close() error {
	var errs []error
	for _, s := range d.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, d.conn.Close(), d.db.Close())...)
}

// prepared gives a statement, made once. Statements have no values in their text, so there are few.
func (d *database) prepared(query string) (*sql.Stmt, error) {
	if s := d.statements[query]; s != nil {
		return s, nil
	}
	s, err := d.conn.PrepareContext(context.Background(), query)
	if err == nil {
		d.statements[query] = s
	}
	return s, err
}

// exec runs a statement. It has no context: an interrupted one would undo what other callers wrote.
func (d *database) exec(query string, args ...any) (sql.Result, error) {
	s, err := d.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

// insert runs a statement that adds a row, and gives its id.
func (d *database) insert(query string, args ...any) (int64, error) {
	r, err := d.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// one reads the first row of a result; false says that there is none.
func (d *database) one(query string, args []any, to ...any) (bool, error) {
	s, err := d.prepared(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRow(args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// numbers reads a result of one column.
func (d *database) numbers(query string, args ...any) ([]int64, error) {
	s, err := d.prepared(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var all []int64
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// transact does all that f does, or nothing.
func (d *database) transact(f func() error) error {
	if _, err := d.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = d.exec("COMMIT")
	}
	if err != nil {
		// SQLite has undone it already after some errors; then this is refused, and nothing follows from that.
		_, _ = d.exec("ROLLBACK")
		clear(d.words)
		clear(d.series)
	}
	return err
}

// code is SQLite's number for an error, without its details; 0 if it is not SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// isDamage tells whether an error says that the file is damaged.
func isDamage(err error) bool {
	var d *damagedError
	c := code(err)
	return errors.As(err, &d) || c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
}

// asDamage takes an error for damage that would be none elsewhere: a table that is not there.
func asDamage(err error, why string) error {
	if code(err) == sqlite3.SQLITE_ERROR || errors.Is(err, sql.ErrNoRows) {
		return &damagedError{why + ": " + err.Error()}
	}
	return err
}

// isBusy tells whether an error says that another connection has the lock.
func isBusy(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// isOutside tells whether an error comes from the disk or from other processes, and may pass.
func isOutside(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM,
		sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOLFS:
		return true
	}
	var files *filesError
	var path *os.PathError
	var link *os.LinkError
	var call *os.SyscallError
	var number syscall.Errno
	return errors.As(err, &files) || errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &call) || errors.As(err, &number)
}

// filesError is why there is no database to write to, whatever the kind of the error: it says nothing of what was to be
// written.
type filesError struct{ error }

func (e *filesError) Unwrap() error { return e.error }
