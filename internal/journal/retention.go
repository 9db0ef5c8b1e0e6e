// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// stepRows and stepChunks bound one transaction of retention, so that no write waits long for it.
	stepRows, stepChunks = 100, 64
	// orphanAge is how old a log without an attempt is when nobody is at work on it any more.
	orphanAge = time.Hour
	// sparePages stay free in the file, for what comes next; more go back to the disk, vacuumPages at a time.
	sparePages, vacuumPages = 256, 256
)

// slack is how much below its bound retention goes, so that it need not follow each write.
func slack(bound int64) int64 { return bound - bound/32 }

// beginTidying begins a round of retention. Another process may have merged logs since the last.
func (w *writer) beginTidying() {
	w.tidying, w.ageing = true, false
	if w.d != nil {
		w.ageing, _ = w.lookAtAge()               // the first step finds the error, too
		if n, err := w.d.logBytes(); err == nil { // or the first step finds the error, too
			w.logBytes = n
		}
	}
}

// logBytes is about what all logs take on the disk.
func (d *database) logBytes() (n int64, err error) {
	_, err = d.one("SELECT coalesce(sum(disk), 0) FROM logs", nil, &n)
	return n, err
}

// tidy takes one small step of retention. When there is none left to take, tidying is over until the next round.
func (w *writer) tidy() {
	more := false
	err := w.attempt(func() error {
		for _, step := range []func() (bool, error){w.sweepLogs, w.boundLogs, w.boundAge, w.boundOmissions, w.boundRecords, w.giveBack} {
			var err error
			if more, err = step(); err != nil || more {
				return err
			}
		}
		return nil
	})
	w.tidying = more && err == nil
	if err != nil && !isUnavailable(err) {
		w.o.Logger.Error(err, "What is old could not be removed from the journal of runs")
	}
}

// sweepLogs removes what was written of logs whose attempts never came.
func (w *writer) sweepLogs() (bool, error) {
	return w.removeLogs(math.MaxInt64, "SELECT id FROM logs WHERE ended < ? AND attempt IS NULL ORDER BY ended LIMIT ?",
		bound(w.o.Now().Add(-orphanAge)), stepChunks)
}

// boundLogs removes the oldest logs while all take more than they may.
func (w *writer) boundLogs() (bool, error) {
	keep := w.o.KeepLogs
	if keep < 0 || w.logBytes <= slack(keep) || w.logBytes <= keep && !w.trimming {
		w.trimming = false
		return false, nil
	}
	w.trimming = true
	more, err := w.removeLogs(w.logBytes-slack(keep), "SELECT id FROM logs ORDER BY ended, id LIMIT ?", stepChunks)
	if err == nil && !more {
		// The sum was wrong, or another process has removed some.
		w.logBytes, err = w.d.logBytes()
		w.trimming = false
	}
	return more, err
}

// removeLogs removes chunks of the logs that a query gives, until enough bytes are free or the step is large enough. It
// tells whether there were any.
func (w *writer) removeLogs(enough int64, query string, args ...any) (bool, error) {
	ids, err := w.d.numbers(query, args...)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	var freed int64
	err = w.d.transact(func() error {
		freed = 0
		for chunks, i := 0, 0; i < len(ids) && chunks < stepChunks && freed < enough; i++ {
			n, bytes, _, err := w.d.removeChunks(ids[i], stepChunks-chunks)
			if err != nil {
				return err
			}
			chunks += max(n, 1)
			freed += bytes
		}
		return nil
	})
	if err == nil {
		w.logBytes -= freed
	}
	return err == nil, err
}

// removeChunks removes the first chunks of a log, and the log with the last of them. It tells how many there were, what
// they took on the disk, and whether the log is gone.
func (d *database) removeChunks(log int64, most int) (removed int, freed int64, gone bool, err error) {
	var disk int64
	var attempt any
	found, err := d.one("SELECT disk, attempt FROM logs WHERE id = ?", []any{log}, &disk, &attempt)
	if err != nil || !found {
		return 0, 0, true, err
	}
	rows, err := d.pieces(log, most)
	if err != nil {
		return 0, 0, false, err
	}
	var text int64
	for _, p := range rows {
		if _, err := d.exec("DELETE FROM chunks WHERE id = ?", p.id); err != nil {
			return 0, 0, false, err
		}
		text += p.size
		freed += p.disk
	}
	if len(rows) < most {
		if _, err := d.exec("DELETE FROM logs WHERE id = ?", log); err != nil {
			return 0, 0, false, err
		}
		_, err = d.exec("UPDATE attempts SET log = NULL, kept = 0 WHERE id = ?", attempt)
		return len(rows), disk, true, err
	}
	freed = min(freed, disk)
	if _, err := d.exec("UPDATE logs SET disk = disk - ?, dropped = dropped + ? WHERE id = ?", freed, text, log); err != nil {
		return 0, 0, false, err
	}
	_, err = d.exec("UPDATE attempts SET kept = max(0, kept - ?) WHERE id = ?", text, attempt)
	return len(rows), freed, false, err
}

// storedPiece is a chunk of the database without its data.
type storedPiece struct {
	id int64
	piece
}

// pieces gives the first chunks of a log.
func (d *database) pieces(log int64, most int) ([]storedPiece, error) {
	s, err := d.prepared("SELECT id, size, length(data) FROM chunks WHERE id >= ? AND id < ? ORDER BY id LIMIT ?")
	if err != nil {
		return nil, err
	}
	rows, err := s.Query(chunkID(log, 0), chunkID(log+1, 0), most)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var all []storedPiece
	for rows.Next() {
		var p storedPiece
		var length int64
		if err := rows.Scan(&p.id, &p.size, &length); err != nil {
			return nil, err
		}
		p.disk = diskOf(length)
		all = append(all, p)
	}
	return all, rows.Err()
}

// dueRun is a run that may go.
type dueRun struct{ id, ended int64 }

// boundAge removes the runs that ended too long ago, and attempts of runs that nobody knows. Active ones stay.
func (w *writer) boundAge() (bool, error) {
	if !w.ageing {
		return false, nil
	}
	due, err := w.d.oldest(bound(w.o.Now().Add(-w.o.KeepRuns)))
	return w.removeRuns(due, err)
}

// oldest gives the runs that ended before a time, the oldest first, as many as one step removes. One of which it is not
// known when it ended goes by when it began.
func (d *database) oldest(before int64) ([]dueRun, error) {
	var all []dueRun
	for outcome := hidden; outcome < len(outcomes); outcome++ {
		if outcome == active {
			continue
		}
		for _, query := range []string{
			"SELECT id, ended FROM runs WHERE outcome = ? AND ended < ? ORDER BY ended, id LIMIT ?",
			"SELECT id, coalesce(time, 0) FROM runs WHERE outcome = ? AND ended IS NULL AND coalesce(time, 0) < ? ORDER BY time, id LIMIT ?",
		} {
			s, err := d.prepared(query)
			if err != nil {
				return nil, err
			}
			rows, err := s.Query(outcome, before, stepRows)
			if err != nil {
				return nil, err
			}
			for rows.Next() {
				var r dueRun
				if err = rows.Scan(&r.id, &r.ended); err != nil {
					break
				}
				all = append(all, r)
			}
			if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(all, func(a, b dueRun) int { return cmp.Or(cmp.Compare(a.ended, b.ended), cmp.Compare(a.id, b.id)) })
	return all[:min(len(all), stepRows)], nil
}

// removeRuns removes runs, their attempts and logs: as many as one step may. It tells whether there were any.
func (w *writer) removeRuns(due []dueRun, err error) (bool, error) {
	if err != nil || len(due) == 0 {
		return false, err
	}
	var freed int64
	err = w.d.transact(func() error {
		freed = 0
		for chunks, i := 0, 0; i < len(due) && chunks < stepChunks; i++ {
			n, bytes, err := w.d.removeRun(due[i].id, stepChunks-chunks)
			if err != nil {
				return err
			}
			chunks += n
			freed += bytes
		}
		return nil
	})
	if err == nil {
		w.logBytes -= freed
	}
	return err == nil, err
}

// removeRun removes a run and all that is its, or of large logs a part, and then no more.
func (d *database) removeRun(id int64, most int) (removed int, freed int64, err error) {
	logs, err := d.numbers("SELECT log FROM attempts WHERE run = ? AND log IS NOT NULL", id)
	if err != nil {
		return 0, 0, err
	}
	for _, log := range logs {
		if removed >= most {
			return removed, freed, nil
		}
		n, bytes, gone, err := d.removeChunks(log, most-removed)
		if err != nil {
			return 0, 0, err
		}
		removed += n
		freed += bytes
		if !gone {
			return removed, freed, nil
		}
	}
	if _, err := d.exec("DELETE FROM attempts WHERE run = ?", id); err != nil {
		return 0, 0, err
	}
	var series any
	if _, err := d.one("SELECT series FROM runs WHERE id = ?", []any{id}, &series); err != nil {
		return 0, 0, err
	}
	if _, err := d.exec("DELETE FROM runs WHERE id = ?", id); err != nil {
		return 0, 0, err
	}
	return removed, freed, d.removeUnused(series)
}

// removeUnused removes a series that nothing is left of.
func (d *database) removeUnused(series any) error {
	if series == nil {
		return nil
	}
	r, err := d.exec(`DELETE FROM series WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE series = series.id)
		AND NOT EXISTS (SELECT 1 FROM omissions WHERE series = series.id)`, series)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return err
	}
	clear(d.series)
	_, err = d.exec("DELETE FROM usual WHERE series = ?", series)
	return err
}

// boundOmissions removes the omissions that became known too long ago.
func (w *writer) boundOmissions() (bool, error) {
	if !w.ageing {
		return false, nil
	}
	return w.removeOmissions(bound(w.o.Now().Add(-w.o.KeepRuns)))
}

func (w *writer) removeOmissions(before int64) (bool, error) {
	ids, err := w.d.numbers("SELECT id FROM omissions WHERE seen < ? ORDER BY seen, id LIMIT ?", before, stepRows)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	err = w.d.transact(func() error {
		for _, id := range ids {
			var series any
			if _, err := w.d.one("SELECT series FROM omissions WHERE id = ?", []any{id}, &series); err != nil {
				return err
			}
			if _, err := w.d.exec("DELETE FROM omissions WHERE id = ?", id); err != nil {
				return err
			}
			if err := w.d.removeUnused(series); err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil, err
}

// boundRecords removes the oldest runs and omissions while all but the logs takes more than it may.
func (w *writer) boundRecords() (bool, error) {
	pages, err := w.d.pages()
	if err != nil {
		return false, err
	}
	records := pages.used*pages.size - w.logBytes
	if records <= slack(w.limits.records) || records <= w.limits.records && !w.shrinking {
		w.shrinking = false
		return false, nil
	}
	w.shrinking = true
	if !w.warnedLarge {
		w.warnedLarge = true
		w.o.Warn(fmt.Sprintf("The journal of runs has %d MiB of records, which is as much as it may; the oldest go, sooner than "+
			"--keep-runs says.", records>>20))
	}
	due, err := w.d.oldest(math.MaxInt64)
	if err != nil {
		return false, err
	}
	if len(due) == 0 {
		return w.removeOmissions(math.MaxInt64)
	}
	if _, err := w.removeOmissions(due[len(due)-1].ended); err != nil {
		return false, err
	}
	return w.removeRuns(due, nil)
}

// filePages says how large a database is.
type filePages struct{ size, used, free int64 }

func (d *database) pages() (p filePages, err error) {
	var all int64
	for query, to := range map[string]*int64{"PRAGMA page_size": &p.size, "PRAGMA page_count": &all, "PRAGMA freelist_count": &p.free} {
		if _, err := d.one(query, nil, to); err != nil {
			return p, err
		}
	}
	p.used = all - p.free
	return p, nil
}

// giveBack gives free pages back to the disk.
func (w *writer) giveBack() (bool, error) {
	p, err := w.d.pages()
	if err != nil || p.free <= max(sparePages, p.used/32) {
		return false, err
	}
	_, err = w.d.exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages))
	if after, perr := w.d.pages(); err == nil && (perr != nil || after.free >= p.free) {
		return false, perr // the file has none to give
	}
	return err == nil, err
}
