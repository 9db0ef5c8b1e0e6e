// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"time"
)

// longestChunk is how much of a line is held at once: a line without an end must not fill the memory.
const longestChunk = 64 << 10

// criReader gives a log that an API server sends with timestamps ("TIME text") in the format of CRI ("TIME stdout F
// text"). The API does not tell which stream a line came from. A line that is longer than longestChunk comes in parts,
// as runtimes write it.
type criReader struct {
	from    *bufio.Reader
	closer  io.Closer
	stamp   []byte // that of the line that is being read
	inLine  bool   // a part of the line has been given
	pending []byte // what is ready and not read yet
	buffer  []byte
}

// newCRIReader reads from a stream, which Close closes.
func newCRIReader(from io.ReadCloser) *criReader {
	return &criReader{from: bufio.NewReaderSize(from, longestChunk), closer: from, stamp: []byte(time.Time{}.Format(time.RFC3339Nano))}
}

// Close implements io.Closer.
func (c *criReader) Close() error { return c.closer.Close() }

// Read implements io.Reader.
func (c *criReader) Read(p []byte) (int, error) {
	for len(c.pending) == 0 {
		part, err := c.from.ReadSlice('\n')
		if len(part) > 0 {
			c.convert(part, errors.Is(err, bufio.ErrBufferFull))
			break
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

// convert makes a part of a line ready. partial: the line goes on.
func (c *criReader) convert(part []byte, partial bool) {
	if !c.inLine {
		if stamp, rest, found := bytes.Cut(part, []byte{' '}); found && isStamp(stamp) {
			c.stamp, part = append(c.stamp[:0], stamp...), rest
		}
	}
	c.inLine = partial
	tag := " stdout F "
	if partial || !bytes.HasSuffix(part, []byte{'\n'}) { // the log may end within a line
		tag = " stdout P "
	}
	c.buffer = append(c.buffer[:0], c.stamp...)
	c.buffer = append(c.buffer, tag...)
	c.buffer = append(c.buffer, bytes.TrimSuffix(part, []byte{'\n'})...)
	c.buffer = append(c.buffer, '\n')
	c.pending = c.buffer
}

func isStamp(text []byte) bool {
	if len(text) < len("2006-01-02T15:04:05Z") || len(text) > len(time.RFC3339Nano) {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, string(text))
	return err == nil
}

// lastLines gives the last lines of a log in the format of CRI, and closes it; nil if nothing is left of it, as opened
// says. A line that was written in parts counts each of them.
func lastLines(log io.ReadCloser, lines int, opened error) ([]byte, error) {
	if errors.Is(opened, fs.ErrNotExist) {
		return nil, nil
	}
	if opened != nil {
		return nil, opened
	}
	defer log.Close()
	kept := make([][]byte, 0, max(lines, 1))
	scanner := bufio.NewReaderSize(log, longestChunk)
	for {
		line, err := scanner.ReadBytes('\n')
		if len(line) > 0 && lines > 0 {
			if len(kept) == lines {
				copy(kept, kept[1:])
				kept = kept[:lines-1]
			}
			kept = append(kept, line)
		}
		if errors.Is(err, io.EOF) {
			return bytes.Join(kept, nil), nil
		}
		if err != nil {
			return nil, err
		}
	}
}
