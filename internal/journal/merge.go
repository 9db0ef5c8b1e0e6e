// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// mergedTogether is how many rows are merged in one transaction at most.
const mergedTogether = 100

// messageOfActive is that of a run that was active in what is merged.
const messageOfActive = "It was active when the journal was copied, and nobody saw how it ended"

// Merge adds to the journal in dir the runs, attempts, logs and omissions of another journal's file that it does not
// have, and makes the journal if there is none. Of a run that both have, what is known better holds, as with Record. A
// run that is active there, and not known here, is Unknown: nobody saw how it ended. It works in small transactions,
// also while another process writes; what an interrupted one has added stays, and the next adds the rest.
//
// The file is somebody's: it is read whole first, and nothing is changed if it is damaged or of a later version
// (*LaterVersionError). It is one that CopyTo has made, or the like: no process has it open. progress, unless nil, is
// called with how many rows are done, of how many. What was added is told also with an error; DiskBytes is none.
func Merge(ctx context.Context, dir, from string, progress func(done, all int64)) (added Extent, err error) {
	m := &merger{ctx: ctx, progress: progress}
	if progress == nil {
		m.progress = func(int64, int64) {}
	}
	if m.from, err = openCopy(ctx, from); err != nil {
		return added, err
	}
	defer m.from.close() //nolint:errcheck // it is only read
	files, err := makeDirectory(dir)
	if err != nil {
		return added, err
	}
	defer files.close()
	m.files = files
	if err := files.prepare(); err != nil {
		return added, err
	}
	if m.d, err = connect(ctx, files.database(), "rw", append([]string{"busy_timeout(10000)"}, writePragmas...)); err != nil {
		return added, explained(files, err)
	}
	defer func() {
		if cerr := m.d.close(); err == nil {
			err = cerr
		}
	}()
	version, err := m.d.version(ctx, files.database())
	if err == nil {
		err = m.d.migrate(version)
	}
	if err != nil {
		return added, explained(files, err)
	}
	err = m.merge()
	return m.added, explained(files, err)
}

// openCopy opens a database file that nobody writes to, and reads it whole to see that it is sound.
func openCopy(ctx context.Context, path string) (*opened, error) {
	db, err := sql.Open("sqlite", dsn(path, "ro", copyPragmas))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	o := &opened{db: db, words: map[int64]string{}, series: map[int64]seriesKey{}}
	if err := o.verifyWhole(ctx, path); err != nil {
		_ = db.Close() // it was only read
		if isDamage(err) || code(err) != 0 {
			err = fmt.Errorf("%s is not the sound copy of a journal: %w", path, err)
		}
		return nil, err
	}
	return o, nil
}

func (o *opened) verifyWhole(ctx context.Context, path string) error {
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it was only read
	d := &database{conn: conn}
	version, err := d.version(ctx, path)
	if err != nil {
		return err
	}
	if version == 0 {
		return &damagedError{"it is empty"}
	}
	var said string
	if err := conn.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&said); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	if said != "ok" {
		return &damagedError{firstFinding(said)}
	}
	return nil
}

// merger is one merge.
type merger struct {
	ctx       context.Context
	from      *opened
	files     *directory
	d         *database
	progress  func(done, all int64)
	done, all int64
	added     Extent
}

func (m *merger) merge() error {
	for _, table := range []string{"runs WHERE series IS NOT NULL", "attempts", "omissions"} {
		var n int64
		if err := m.from.db.QueryRowContext(m.ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return err
		}
		m.all += n
	}
	for _, part := range []func(after int64) (greatest int64, rows int, err error){m.runs, m.attempts, m.omissions} {
		for after, rows := int64(0), 1; rows > 0; {
			var err error
			if after, rows, err = part(after); err != nil {
				return err
			}
			m.done += int64(rows)
			m.progress(m.done, m.all)
		}
	}
	return nil
}

// read looks into the other journal.
func (m *merger) read(f func(*reading) error) error {
	tx, err := m.from.db.BeginTx(m.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it has written nothing
	return f(&reading{ctx: m.ctx, o: m.from, tx: tx})
}

// transact writes to this journal, and then leaves it to others for as long as that took: who polls for the lock, as
// SQLite does, would else hardly get it.
func (m *merger) transact(f func(added *Extent) error) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	if free, err := freeSpace(m.files.path); err == nil && free < defaultLimits().reserve {
		return &noSpaceError{free}
	}
	begun := time.Now()
	var added Extent
	err := m.d.transact(func() error {
		// Another process may have removed series since.
		clear(m.d.series)
		added = m.added
		return f(&added)
	})
	if err != nil {
		return err
	}
	m.added = added
	select {
	case <-time.After(time.Since(begun)):
	case <-m.ctx.Done():
	}
	return nil
}

func (m *merger) runs(after int64) (greatest int64, rows int, err error) {
	var all []run.Run
	err = m.read(func(t *reading) (err error) {
		all, greatest, err = t.selectRuns(" WHERE id > ? AND series IS NOT NULL ORDER BY id LIMIT ?", after, mergedTogether)
		return err
	})
	if err != nil || len(all) == 0 {
		return greatest, 0, err
	}
	return greatest, len(all), m.transact(func(added *Extent) error {
		for i := range all {
			s, found, err := m.d.storedRun(all[i].UID)
			if err != nil {
				return err
			}
			known := found && s.outcome != hidden
			if !all[i].Outcome.Ended() {
				if known {
					continue
				}
				all[i].Outcome, all[i].Message, all[i].PodsRunning = run.Unknown, messageOfActive, 0
			}
			if err := m.d.putRun(all[i]); err != nil {
				return err
			}
			if !known {
				added.count(&added.Runs, all[i].Ended)
			}
		}
		return nil
	})
}

// count counts what was added.
func (e *Extent) count(what *int64, ended time.Time) {
	*what++
	if !ended.IsZero() && (e.Oldest.IsZero() || ended.Before(e.Oldest)) {
		e.Oldest = ended
	}
}

func (m *merger) omissions(after int64) (greatest int64, rows int, err error) {
	var all []run.Omission
	err = m.read(func(t *reading) (err error) {
		all, greatest, err = t.selectOmissions(" WHERE id > ? ORDER BY id LIMIT ?", after, mergedTogether)
		return err
	})
	if err != nil || len(all) == 0 {
		return greatest, 0, err
	}
	return greatest, len(all), m.transact(func(added *Extent) error {
		for i := range all {
			there, err := m.d.hasOmission(&all[i])
			if err != nil {
				return err
			}
			if there {
				continue
			}
			if err := m.d.putOmission(&all[i]); err != nil {
				return err
			}
			added.Omissions++
		}
		return nil
	})
}

func (d *database) hasOmission(o *run.Omission) (bool, error) {
	series, err := d.seriesID(seriesKey{namespace: o.Namespace, owner: o.Owner})
	if err != nil {
		return false, err
	}
	var id int64
	return d.one("SELECT id FROM omissions WHERE series = ? AND scheduled = ?", []any{series, bound(o.ScheduledTime)}, &id)
}
