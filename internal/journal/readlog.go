// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// Log gives what is kept of an attempt's log, in the format of CRI; fs.ErrNotExist says that nothing is. Of a log of
// which the beginning is not kept, the first line says how much that was. It is read while it is read from: an error
// may come then, also fs.ErrNotExist, if the log goes meanwhile.
func (r *Reader) Log(ctx context.Context, containerID string) (io.ReadCloser, error) {
	l := &logReader{ctx: ctx, r: r, container: containerID}
	err := r.read(ctx, func(t *reading) (err error) {
		l.log, err = t.log(containerID)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.next = chunkID(l.log.id, 0)
	return l, nil
}

// foundLog is what is known of a log: dropped and kept are bytes of text, chunks how many it has had.
type foundLog struct{ id, dropped, chunks, kept int64 }

// log finds the log of an attempt.
func (t *reading) log(containerID string) (l foundLog, err error) {
	err = t.tx.QueryRowContext(t.ctx, `SELECT l.id, l.dropped, l.chunks, a.kept FROM attempts a JOIN logs l ON l.id = a.log
		WHERE a.container_hash = ? AND a.container_id = ?`, hash(containerID), pack(containerID)).
		Scan(&l.id, &l.dropped, &l.chunks, &l.kept)
	if noRows(err) {
		return l, fmt.Errorf("nothing is kept of the output of container %s: %w", containerID, fs.ErrNotExist)
	}
	return l, err
}

// logReader reads a log chunk by chunk, each in a transaction of its own: a long one would keep the file from
// shrinking.
type logReader struct {
	ctx       context.Context
	r         *Reader
	container string
	log       foundLog
	next      int64 // the id of the chunk to come, or a smaller one
	read      int64 // bytes of text
	text      []byte
	err       error
}

func (l *logReader) Read(p []byte) (int, error) {
	for len(l.text) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.text, l.err = l.chunk()
	}
	n := copy(p, l.text)
	l.text = l.text[n:]
	return n, nil
}

func (l *logReader) Close() error {
	l.text, l.err = nil, fs.ErrClosed
	return nil
}

func (l *logReader) chunk() ([]byte, error) {
	var id, size int64
	var data []byte
	err := l.r.read(l.ctx, func(t *reading) error {
		err := t.tx.QueryRowContext(t.ctx, "SELECT id, size, data FROM chunks WHERE id >= ? AND id < ? ORDER BY id LIMIT 1",
			l.next, chunkID(l.log.id+1, 0)).Scan(&id, &size, &data)
		if !noRows(err) {
			return err
		}
		if l.read == l.log.kept {
			return io.EOF
		}
		// Chunks are missing: retention has taken them meanwhile, or the file is damaged.
		if now, err := t.log(l.container); err != nil || now != l.log {
			return errors.Join(fmt.Errorf("the log has become too old while it was read: %w", fs.ErrNotExist), err)
		}
		return errDamagedLog
	})
	if err != nil {
		return nil, err
	}
	text, err := decompressed(data, size)
	if err != nil {
		return nil, err
	}
	if l.read == 0 && l.log.dropped > 0 {
		l.read -= int64(len(missing(text, l.log.dropped)))
		text = append(missing(text, l.log.dropped), text...)
	}
	l.read += int64(len(text))
	l.next = id + 1
	return text, nil
}

// missing is the line that stands for a beginning that is not kept, with the time of the first line that is.
func missing(text []byte, bytesMissing int64) []byte {
	when, _, ok := bytes.Cut(text, []byte(" "))
	if !ok || len(when) > 40 || bytes.ContainsRune(when, '\n') {
		when = []byte("1970-01-01T00:00:00Z")
	}
	return fmt.Appendf(nil, "%s stderr F [carillon: the first %s of this log are not kept]\n", when, quantity.Bytes(bytesMissing))
}

// Tail gives the end of an attempt's log in the format of CRI, at least the given number of lines if there are so many,
// and not much more; nil if nothing is kept. A line that the container's runtime has split counts once.
func (r *Reader) Tail(ctx context.Context, containerID string, lines int) ([]byte, error) {
	var tail []byte
	err := r.read(ctx, func(t *reading) error {
		l, err := t.log(containerID)
		if err != nil || lines <= 0 {
			return err
		}
		var chunks [][]byte
		var text int64
		for place, found := l.chunks-1, 0; found <= lines && text < l.kept; place-- {
			var size int64
			var data []byte
			err := t.tx.QueryRowContext(t.ctx, "SELECT size, data FROM chunks WHERE id = ?", chunkID(l.id, place)).Scan(&size, &data)
			if noRows(err) {
				return errDamagedLog
			}
			if err != nil {
				return err
			}
			c, err := decompressed(data, size)
			if err != nil {
				return err
			}
			chunks = append(chunks, c)
			found += countLines(c)
			text += size
		}
		if n := len(chunks); text == l.kept && n > 0 && l.dropped > 0 {
			chunks = append(chunks, missing(chunks[n-1], l.dropped))
		}
		slices.Reverse(chunks)
		tail = lastLines(slices.Concat(chunks...), lines)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return tail, err
}

// whole tells whether a line in the format of CRI is not one of the first parts of a split one.
func whole(line []byte) bool {
	fields := bytes.SplitN(line, []byte(" "), 4)
	return len(fields) < 3 || string(fields[2]) != "P"
}

func countLines(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if whole(line) {
			n++
		}
	}
	return n
}

// lastLines cuts a text to its last lines.
func lastLines(text []byte, n int) []byte {
	end := len(text)
	for end > 0 {
		start := bytes.LastIndexByte(text[:end-1], '\n') + 1
		if whole(text[start:end]) {
			if n == 0 {
				return text[end:]
			}
			n--
		}
		end = start
	}
	return text
}
