// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ended

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// Log reads all of a container's log in the order in which it was written, in the format of CRI ("TIME stdout F text"),
// each line with its end. fs.ErrNotExist says that there is none: the container had none, it could not be linked, or it
// was dropped. A part that cannot be read is left out, with a warning. The caller closes it; it may be read to its end
// also when the entry is removed meanwhile.
func (d *Dir) Log(id string) (io.ReadCloser, error) {
	c, err := d.Read(id)
	if err != nil {
		return nil, err
	}
	l := &logReader{warn: d.opts.Warn}
	for _, name := range c.Logs {
		f, _, err := d.open(id, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped
		}
		if err != nil {
			d.opts.Warn(fmt.Sprintf("a part of the log of container %s cannot be read: %v", id, err))
			continue
		}
		l.parts = append(l.parts, part{f, filepath.Join(d.path, id, name)})
	}
	if len(l.parts) == 0 {
		return nil, fmt.Errorf("nothing is kept of the log of container %s: %w", id, fs.ErrNotExist)
	}
	return l, nil
}

// part is a file of a log.
type part struct {
	file io.ReadCloser
	path string
}

// logReader reads one part after the other.
type logReader struct {
	parts []part
	warn  func(string)
	in    io.Reader // of parts[0]; nil if it was not begun
	last  byte      // that was given of it
}

// Read gives what comes next.
func (l *logReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(l.parts) > 0 {
		var n int
		err := l.begin()
		if err == nil {
			n, err = l.in.Read(p)
		}
		if n > 0 {
			l.last = p[n-1]
			return n, nil // an error comes again
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			l.warn(fmt.Sprintf("a part of a log cannot be read: %s: %v", l.parts[0].path, err))
		}
		l.parts[0].file.Close()
		l.parts, l.in = l.parts[1:], nil
		if l.last != '\n' && l.last != 0 {
			// A full disk, or the end of who wrote it, cut the line.
			p[0], l.last = '\n', '\n'
			return 1, nil
		}
	}
	return 0, io.EOF
}

// begin makes the next part ready.
func (l *logReader) begin() error {
	if l.in != nil {
		return nil
	}
	l.last = 0
	in := bufio.NewReader(l.parts[0].file)
	if !strings.HasSuffix(l.parts[0].path, packedSuffix) {
		l.in = in
		return nil
	}
	if _, err := in.Peek(1); err != nil {
		return err // an empty file is an empty part
	}
	unpacked, err := gzip.NewReader(in)
	l.in = unpacked
	return err
}

// Close closes what was not read.
func (l *logReader) Close() error {
	for _, p := range l.parts {
		p.file.Close()
	}
	l.parts = nil
	return nil
}
