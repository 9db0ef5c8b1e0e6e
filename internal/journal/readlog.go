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
)

func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// Log gives what is kept of an attempt's log, in the format of CRI; fs.ErrNotExist says that nothing is. Of a log of which
// the beginning is not kept, the first line says how much that was. It is read while it is read from: an error may come then,
// also fs.ErrNotExist, if the log goes meanwhile.
func (r *Reader) Log(ctx context.Context, containerID string) (io.ReadCloser, error) {
	l := &logReader{ctx: ctx, r: r}
	err := r.read(ctx, func(t *reading) error {
		return t.log(containerID, &l.id, &l.dropped)
	})
	if err != nil {
		return nil, err
	}
	l.next = chunkID(l.id, 0)
	return l, nil
}

// log finds the log of an attempt.
func (t *reading) log(containerID string, id, dropped *int64) error {
	err := t.tx.QueryRowContext(t.ctx, `SELECT l.id, l.dropped FROM attempts a JOIN logs l ON l.id = a.log
		WHERE a.container_hash = ? AND a.container_id = ?`, hash(containerID), pack(containerID)).Scan(id, dropped)
	if noRows(err) {
		return fmt.Errorf("nothing is kept of the output of container %s: %w", containerID, fs.ErrNotExist)
	}
	return err
}

// logReader reads a log chunk by chunk, each in a transaction of its own: a long one would keep the file from shrinking.
type logReader struct {
	ctx     context.Context
	r       *Reader
	id      int64
	next    int64 // the id of the chunk to come, or a smaller one
	begun   bool
	dropped int64
	text    []byte
	err     error
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
			l.next, chunkID(l.id+1, 0)).Scan(&id, &size, &data)
		if !noRows(err) {
			return err
		}
		if !l.begun {
			return fs.ErrNotExist
		}
		return io.EOF
	})
	if err != nil {
		return nil, err
	}
	text, err := decompressed(data, size)
	if err != nil {
		return nil, err
	}
	if !l.begun && l.dropped > 0 {
		text = append(missing(text, l.dropped), text...)
	}
	l.begun, l.next = true, id+1
	return text, nil
}

// missing is the line that stands for a beginning that is not kept, with the time of the first line that is.
func missing(text []byte, bytesMissing int64) []byte {
	when, _, ok := bytes.Cut(text, []byte(" "))
	if !ok || len(when) > 40 || bytes.ContainsRune(when, '\n') {
		when = []byte("1970-01-01T00:00:00Z")
	}
	return fmt.Appendf(nil, "%s stderr F [carillon: the first %s of this log are not kept]\n", when, humanBytes(bytesMissing))
}

func humanBytes(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// Tail gives the end of an attempt's log in the format of CRI, at least the given number of lines if there are so many,
// and not much more; nil if nothing is kept. A line that the container's runtime has split counts once.
func (r *Reader) Tail(ctx context.Context, containerID string, lines int) ([]byte, error) {
	var tail []byte
	err := r.read(ctx, func(t *reading) error {
		var id, dropped int64
		if err := t.log(containerID, &id, &dropped); err != nil || lines <= 0 {
			return err
		}
		var chunks [][]byte
		for below, found := chunkID(id+1, 0), 0; found <= lines; {
			var chunk, size int64
			var data []byte
			err := t.tx.QueryRowContext(t.ctx, "SELECT id, size, data FROM chunks WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1",
				chunkID(id, 0), below).Scan(&chunk, &size, &data)
			if noRows(err) {
				if dropped > 0 && len(chunks) > 0 {
					chunks = append(chunks, missing(chunks[len(chunks)-1], dropped))
				}
				break
			}
			if err != nil {
				return err
			}
			text, err := decompressed(data, size)
			if err != nil {
				return err
			}
			chunks, below = append(chunks, text), chunk
			found += countLines(text)
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
