// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"time"
)

// mergedBytes is how many bytes of logs are merged in one transaction, or a little more.
const mergedBytes = 2 << 20

// mergedAttempt is an attempt to be added, with the chunks of its log, or of a large log with the last of them.
type mergedAttempt struct {
	keptAttempt
	log    mergedLog
	chunks []placedChunk
}

// mergedLog is a log on its way: id is that of the copy, 0 before there is one.
type mergedLog struct{ id, disk, text, dropped, end int64 }

// placedChunk is a chunk and its place in its log.
type placedChunk struct {
	place int64
	chunk
}

// attempts merges the attempts after one, as many as make one transaction.
func (m *merger) attempts(after int64) (greatest int64, rows int, err error) {
	var all []keptAttempt
	err = m.read(func(t *reading) (err error) {
		all, err = t.selectAttempts(" WHERE id > ? ORDER BY id LIMIT ?", after, mergedTogether)
		return err
	})
	if err != nil {
		return after, 0, err
	}
	var group []*mergedAttempt
	var bytes int64
	for rows < len(all) && bytes < mergedBytes {
		a := &mergedAttempt{keptAttempt: all[rows]}
		rows++
		_, there, err := m.d.attemptID(a.ContainerID)
		if err != nil {
			return after, 0, err
		}
		if there || a.RunUID == "" { // a run that is gone there
			continue
		}
		if err := m.chunks(a); err != nil {
			return after, 0, err
		}
		for _, c := range a.chunks {
			bytes += int64(len(c.data))
		}
		group = append(group, a)
	}
	if rows == 0 {
		return after, 0, nil
	}
	greatest = all[rows-1].id
	if len(group) == 0 {
		return greatest, rows, nil
	}
	return greatest, rows, m.transact(func(added *Extent) error {
		for _, a := range group {
			// Its container may have become known meanwhile; what came of a large log is then swept.
			if _, there, err := m.d.attemptID(a.ContainerID); err != nil || there {
				if err != nil {
					return err
				}
				continue
			}
			log := a.log
			if err := m.d.addChunks(&log, a.chunks); err != nil {
				return err
			}
			if err := m.d.putAttempt(&a.Attempt, log.id, log.text); err != nil {
				return err
			}
			added.Attempts++
			added.LogBytes += log.disk
		}
		return nil
	})
}

// chunks reads the log of an attempt. What is too much for one transaction is written at once, for the attempt to come.
func (m *merger) chunks(a *mergedAttempt) error {
	if a.keptAttempt.log == 0 {
		return nil
	}
	from := a.keptAttempt.log
	next, last := chunkID(from, 0), false
	for !last {
		if len(a.chunks) > 0 {
			log := a.log
			if err := m.transact(func(*Extent) error { log = a.log; return m.d.addChunks(&log, a.chunks) }); err != nil {
				return err
			}
			a.log, a.chunks = log, nil
		}
		err := m.read(func(t *reading) error {
			a.log.dropped = 0
			err := t.tx.QueryRowContext(t.ctx, "SELECT max(0, dropped) FROM logs WHERE id = ?", from).Scan(&a.log.dropped)
			if err != nil && !noRows(err) {
				return err
			}
			last, err = t.placedChunks(&a.chunks, &next, chunkID(from+1, 0))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// placedChunks reads chunks, as many as go into one transaction, and tells whether they are the last.
func (t *reading) placedChunks(to *[]placedChunk, next *int64, end int64) (last bool, err error) {
	for bytes := 0; bytes < mergedBytes; {
		var id int64
		var c placedChunk
		err := t.tx.QueryRowContext(t.ctx, "SELECT id, size, data FROM chunks WHERE id >= ? AND id < ? ORDER BY id LIMIT 1", *next, end).
			Scan(&id, &c.size, &c.data)
		if noRows(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		c.place = id & (chunksPerLog - 1)
		*to, *next, bytes = append(*to, c), id+1, bytes+len(c.data)
	}
	return false, nil
}

// addChunks adds chunks to a log, and makes it if need be.
func (d *database) addChunks(log *mergedLog, chunks []placedChunk) error {
	if len(chunks) == 0 {
		return nil
	}
	if log.id == 0 {
		// ended tells others how long it has been nobody's.
		id, err := d.insert("INSERT INTO logs (ended, disk, dropped, chunks) VALUES (?, 0, 0, 0)", time.Now().UnixNano())
		if err != nil {
			return err
		}
		log.id = id
	}
	for _, c := range chunks {
		if _, err := d.exec("INSERT INTO chunks (id, size, data) VALUES (?, ?, ?)", chunkID(log.id, c.place), c.size, c.data); err != nil {
			return err
		}
		log.disk += c.disk()
		log.text += max(0, c.size)
		log.end = max(log.end, c.place+1)
	}
	_, err := d.exec("UPDATE logs SET disk = ?, dropped = ?, chunks = ? WHERE id = ?", log.disk, log.dropped, log.end, log.id)
	return err
}
