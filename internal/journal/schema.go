// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// applicationID stands in the header of the file and says whose database it is ("Cari").
const applicationID = 0x43617269

// migrations[n] makes version n+1 of the schema from version n; version 0 is an empty database. One that was released
// is never changed: what changes the schema is the next one.
var migrations = []string{versionOne}

// versionOne is the first schema. Times are nanoseconds since 1970 UTC, NULL where there is none. A column without a
// type has a text, or what stands for it: the number of a word, or the bytes of a UID (encoding.go).
const versionOne = `
-- Texts that come again and again, so that rows have a number instead.
CREATE TABLE words (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

-- What runs, and omissions, of one owner have in common. No id comes again: readers remember them.
CREATE TABLE series (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	namespace TEXT NOT NULL, api_version TEXT NOT NULL, kind TEXT NOT NULL,
	owner_api_version TEXT NOT NULL, owner_kind TEXT NOT NULL, owner_name TEXT NOT NULL, owner_uid NOT NULL
);
CREATE INDEX series_by_uid ON series (owner_uid);
CREATE INDEX series_by_name ON series (owner_name);

-- The last successful runs of a series, for Usual (usual.go).
CREATE TABLE usual (series INTEGER PRIMARY KEY, last BLOB NOT NULL);

-- A run without a series is known from its attempts alone, so far: it only sums them up.
CREATE TABLE runs (
	id INTEGER PRIMARY KEY,
	uid NOT NULL,
	series INTEGER, name TEXT, name_hash INTEGER,
	trigger, retry INTEGER,
	time INTEGER, scheduled INTEGER, created INTEGER, started INTEGER, ended INTEGER,
	outcome INTEGER NOT NULL, suspended INTEGER, reason, message,
	completions INTEGER, succeeded INTEGER, failed INTEGER, running INTEGER,
	attempts INTEGER, exit_code INTEGER, exit_ended INTEGER, exit_weight INTEGER,
	first INTEGER, last INTEGER, well INTEGER, -- run.Span: started and ended are as its object tells
	cpu INTEGER, memory INTEGER, output INTEGER
);
CREATE UNIQUE INDEX runs_by_uid ON runs (uid);
CREATE INDEX runs_by_series ON runs (series, time);
CREATE INDEX runs_by_time ON runs (time) WHERE series IS NOT NULL;
CREATE INDEX runs_by_outcome ON runs (outcome, ended);
CREATE INDEX runs_by_name ON runs (name_hash) WHERE series IS NOT NULL;

CREATE TABLE attempts (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL,
	container_hash INTEGER NOT NULL, container_id NOT NULL,
	namespace, pod TEXT, pod_uid, container, restart INTEGER,
	role INTEGER, mains INTEGER, -- run.Role, and how many main containers there are; NULL where nobody told
	started INTEGER, ended INTEGER, exit_code INTEGER, signal INTEGER, reason,
	cpu INTEGER, memory INTEGER, output INTEGER, kept INTEGER, log INTEGER
);
CREATE INDEX attempts_by_run ON attempts (run);
CREATE INDEX attempts_by_container ON attempts (container_hash);

CREATE TABLE omissions (
	id INTEGER PRIMARY KEY,
	series INTEGER NOT NULL, scheduled INTEGER NOT NULL, until INTEGER, count INTEGER, missed INTEGER,
	reason, message, seen INTEGER NOT NULL
);
CREATE UNIQUE INDEX omissions_by_series ON omissions (series, scheduled);
CREATE INDEX omissions_by_time ON omissions (scheduled);
CREATE INDEX omissions_by_seen ON omissions (seen);

-- A log is what is kept of one attempt's output; attempt is NULL while it is still being written. disk is about what its
-- chunks take on the disk, dropped how many bytes of text are missing at its beginning, chunks how many it has had.
-- No id comes again: a reader may still be at work on a log that is gone.
CREATE TABLE logs (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	attempt INTEGER, ended INTEGER NOT NULL, disk INTEGER NOT NULL, dropped INTEGER NOT NULL, chunks INTEGER NOT NULL
);
CREATE INDEX logs_by_end ON logs (ended);

-- The id of a chunk is its log's and its place there (chunkID). size is that of the text, data the text, compressed.
CREATE TABLE chunks (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL);

-- version: of the schema. clean: 1 if the last who wrote closed it.
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
`

// checkedTables are those that are looked at when nobody closed the journal: all but the chunks, which are most of it
// and have checksums of their own.
var checkedTables = []string{"words", "series", "usual", "runs", "attempts", "omissions", "logs", "meta"}

// LaterVersionError says that a later version of this program has written the journal.
type LaterVersionError struct {
	File         string
	Version, Own int64
}

func (e *LaterVersionError) Error() string {
	return fmt.Sprintf("%s was written by a later version of Carillon (its format is %d, and %d is the latest that this "+
		"one knows): use that version, or move the file elsewhere and begin a new one", e.File, e.Version, e.Own)
}

// damagedError says that a file is not the database that it should be.
type damagedError struct{ why string }

func (e *damagedError) Error() string { return e.why }

// ownVersion is the version of the schema that this program writes.
func ownVersion() int64 { return int64(len(migrations)) }

// version tells the version of the schema: 0 of an empty database. A damagedError says that it is no journal.
func (d *database) version(ctx context.Context, file string) (int64, error) {
	var tables, application, header, version int64
	if err := d.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	if tables == 0 {
		return 0, nil
	}
	for pragma, to := range map[string]*int64{"PRAGMA application_id": &application, "PRAGMA user_version": &header} {
		if err := d.conn.QueryRowContext(ctx, pragma).Scan(to); err != nil {
			return 0, err
		}
	}
	if application != applicationID {
		return 0, &damagedError{"it is not a journal of runs"}
	}
	if err := d.conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'version'").Scan(&version); err != nil {
		return 0, asDamage(err, "its version cannot be read")
	}
	// The header has it, too, so that one flipped bit is not taken for a later version.
	if version != header || version < 1 {
		return 0, &damagedError{"its header and its content name different versions"}
	}
	if version > ownVersion() {
		return version, &LaterVersionError{File: file, Version: version, Own: ownVersion()}
	}
	if version == ownVersion() {
		return version, d.checkSchema(ctx)
	}
	return version, nil
}

// ownSchema is what migrations make of an empty database.
var ownSchema = sync.OnceValues(func() ([]string, error) {
	ctx := context.Background()
	d, err := connect(ctx, ":memory:", "memory", nil)
	if err != nil {
		return nil, err
	}
	defer d.close() //nolint:errcheck // nothing was written
	if err := d.migrate(0); err != nil {
		return nil, err
	}
	return d.schema(ctx)
})

// schema gives the statements that would make the tables and indexes.
func (d *database) schema(ctx context.Context) ([]string, error) {
	rows, err := d.conn.QueryContext(ctx, `SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// checkSchema sees that the tables are ours, and that there is nothing else: in a file that somebody gave us there
// could be views and triggers that do more than is asked for.
func (d *database) checkSchema(ctx context.Context) error {
	want, err := ownSchema()
	if err != nil {
		return err
	}
	got, err := d.schema(ctx)
	if err == nil && !slices.Equal(want, got) {
		err = &damagedError{"its tables are not those of its version"}
	}
	return err
}

// migrate brings the schema from a version to ours, each step whole or not at all.
func (d *database) migrate(version int64) error {
	for ; version < ownVersion(); version++ {
		err := d.transact(func() error {
			// Another process may have been faster.
			var now int64
			if err := d.conn.QueryRowContext(context.Background(), "PRAGMA user_version").Scan(&now); err != nil || now > version {
				return err
			}
			for _, q := range []string{
				migrations[version],
				fmt.Sprintf("PRAGMA application_id = %d", applicationID),
				fmt.Sprintf("PRAGMA user_version = %d", version+1),
				fmt.Sprintf("INSERT OR REPLACE INTO meta (name, value) VALUES ('version', %d)", version+1),
			} {
				if _, err := d.conn.ExecContext(context.Background(), q); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// check looks for damage in the tables that are small. A context that ends stops it, and is no damage.
func (d *database) check(ctx context.Context) error {
	for _, table := range checkedTables {
		var said string
		err := d.conn.QueryRowContext(ctx, "PRAGMA quick_check("+table+")").Scan(&said)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return asDamage(err, "table "+table+" cannot be checked")
		case said != "ok":
			return &damagedError{firstFinding(said)}
		}
	}
	return nil
}

// firstFinding is the first of what a check has found, in one line.
func firstFinding(said string) string {
	said = strings.TrimSpace(strings.TrimPrefix(said, "*** in database main ***"))
	said, _, _ = strings.Cut(said, "\n")
	return said
}
