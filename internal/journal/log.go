// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

const (
	// chunksTogether is how many chunks are written in one transaction, so that no other call waits long for a large
	// log.
	chunksTogether = 4
	// logShare is the part of KeepLogs that one log may take.
	logShare = 8
)

// logWriter writes one log. It is the caller's; its transactions are the journal's, and see copies of what they need.
type logWriter struct {
	j     *Journal
	a     *run.Attempt
	bound int64 // of its bytes on the disk; less than 0: none

	log     storedLog // as it is in the database; id 0: not yet
	first   int64     // the place of the first chunk that is kept
	kept    []piece   // all that are kept
	pending []chunk   // the last of them, which are not in the database
	disk    int64     // of all that are kept
	text    int64
	dropped int64 // bytes of text before the first
}

// piece is what is known of a chunk without its text.
type piece struct{ size, disk int64 }

// storedLog is what the database has of a log.
type storedLog struct{ id, first, disk int64 }

// recordWithLog writes an attempt and its log. A log of a few chunks goes with the attempt; the chunks of a larger one
// go before, and are nobody's until the attempt comes: what a crash leaves of them is swept (retention.go).
func (j *Journal) recordWithLog(ctx context.Context, a *run.Attempt, log io.Reader) error {
	l := &logWriter{j: j, a: a, bound: -1}
	if j.o.KeepLogs > 0 {
		l.bound = max(1, j.o.KeepLogs/logShare)
	}
	c := newChunker(log)
	for {
		text, err := c.next()
		if errors.Is(err, io.EOF) {
			_, err := l.write(ctx, true)
			return err
		}
		there := false
		if err == nil {
			l.add(text)
			if len(l.pending) >= chunksTogether {
				there, err = l.write(ctx, false)
			}
		}
		if err != nil {
			l.abandon(ctx)
		}
		if err != nil || there {
			return err
		}
	}
}

// add takes a chunk, and lets go of the first ones when the log is too large.
func (l *logWriter) add(text []byte) {
	c := compressed(text)
	for l.bound >= 0 && c.disk() > l.bound && len(text) > 1 {
		half := text[len(text)/2:]
		if i := bytes.IndexByte(half, '\n'); i >= 0 && i+1 < len(half) {
			half = half[i+1:]
		}
		// What is before a missing part is not kept, either.
		l.dropped += l.text + int64(len(text)-len(half))
		l.first += int64(len(l.kept))
		l.kept, l.pending, l.disk, l.text = nil, nil, 0, 0
		text, c = half, compressed(half)
	}
	l.kept, l.pending = append(l.kept, piece{c.size, c.disk()}), append(l.pending, c)
	l.disk += c.disk()
	l.text += c.size
	for l.bound >= 0 && l.disk > l.bound && len(l.kept) > 1 {
		if len(l.pending) == len(l.kept) {
			l.pending = l.pending[1:]
		}
		first := l.kept[0]
		l.kept = l.kept[1:]
		l.first++
		l.disk -= first.disk
		l.text -= first.size
		l.dropped += first.size
	}
}

// write brings the database up to date, and ends the log with its attempt. It tells whether the attempt was there
// before: then nothing is written.
func (l *logWriter) write(ctx context.Context, last bool) (there bool, err error) {
	s := step{
		log: l.log, attempt: *l.a, last: last, pending: l.pending, first: l.first, end: l.first + int64(len(l.kept)),
		disk: l.disk, text: l.text, dropped: l.dropped, now: bound(l.j.o.Now()),
	}
	if s.end >= chunksPerLog {
		return false, errLongLog
	}
	var result stepResult
	r := &request{}
	r.apply = func(d *database) error {
		var err error
		result, err = s.apply(d)
		r.logs = result.added
		return err
	}
	if err := l.j.ask(ctx, r); err != nil {
		return false, err
	}
	l.log, l.pending = storedLog{result.id, s.first, s.disk}, nil
	return result.there, nil
}

// step is one transaction of a log. It is not changed: it may be tried again, and after its caller has left.
type step struct {
	log                 storedLog
	attempt             run.Attempt
	last                bool // with it comes the attempt
	pending             []chunk
	first, end          int64 // the places of the log's chunks
	disk, text, dropped int64
	now                 int64
}

type stepResult struct {
	id    int64
	there bool  // the attempt was there before
	added int64 // bytes of logs
}

func (s *step) apply(d *database) (stepResult, error) {
	id := s.log.id
	_, there, err := d.attemptID(s.attempt.ContainerID)
	if err != nil {
		return stepResult{}, err
	}
	if there {
		if id != 0 {
			err = d.orphan(id)
		}
		return stepResult{id: id, there: true}, err
	}
	if id == 0 && len(s.pending) > 0 {
		id, err = d.insert("INSERT INTO logs (ended, disk, dropped, chunks) VALUES (?, 0, 0, 0)", s.now)
		if err != nil {
			return stepResult{}, err
		}
	}
	if id != 0 {
		if err := s.putChunks(d, id); err != nil {
			return stepResult{}, err
		}
	}
	if s.last {
		err = d.putAttempt(&s.attempt, id, s.text)
	}
	return stepResult{id: id, added: s.disk - s.log.disk}, err
}

func (s *step) putChunks(d *database, id int64) error {
	if _, err := d.exec("DELETE FROM chunks WHERE id >= ? AND id < ?", chunkID(id, s.log.first), chunkID(id, s.first)); err != nil {
		return err
	}
	for i, c := range s.pending {
		place := s.end - int64(len(s.pending)) + int64(i)
		if _, err := d.exec("INSERT INTO chunks (id, size, data) VALUES (?, ?, ?)", chunkID(id, place), c.size, c.data); err != nil {
			return err
		}
	}
	r, err := d.exec("UPDATE logs SET disk = ?, dropped = ?, chunks = ? WHERE id = ?", s.disk, s.dropped, s.end, id)
	if err != nil {
		return err
	}
	// A new database was begun, or the log was swept, while it was written.
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errLogGone, err)
	}
	return nil
}

var (
	errLongLog = fmt.Errorf("a log of more than %d chunks cannot be kept", chunksPerLog)
	errLogGone = fmt.Errorf("%w: what was written of a log is gone", ErrUnavailable)
)

// orphan gives a log that has no attempt to retention, as the first to go.
func (d *database) orphan(log int64) error {
	_, err := d.exec("UPDATE logs SET attempt = NULL, ended = ? WHERE id = ?", math.MinInt64+1, log)
	return err
}

// abandon gives what was written of the log to retention.
func (l *logWriter) abandon(ctx context.Context) {
	if id := l.log.id; id != 0 {
		// If this fails, too, it is swept when it is old.
		_ = l.j.do(context.WithoutCancel(ctx), func(d *database) error { return d.orphan(id) })
	}
}
