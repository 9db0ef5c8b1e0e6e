// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package watchjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// scan looks for the end of a JSON object. It does not find out whether that is valid: who reads it does.
type scan struct {
	// at is how far it has come, 1 more than there is after a backslash at the end.
	// depth counts open braces and brackets.
	at, depth int
	// quoted: it is in a string.
	quoted bool
}

// in goes on in text, which begins as it did at the last call, and reports whether the object ends at text[:s.at].
func (s *scan) in(text []byte) bool {
	for s.at < len(text) {
		if s.quoted {
			s.string(text)
			continue
		}
		switch text[s.at] {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
		}
		s.at++
		if s.depth <= 0 && !s.quoted {
			return true
		}
	}
	return false
}

// string goes on to the end of the string, of the text, or to behind the next character that has a backslash.
func (s *scan) string(text []byte) {
	rest := text[s.at:]
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		end = len(rest)
	}
	if backslash := bytes.IndexByte(rest[:end], '\\'); backslash >= 0 {
		s.at += backslash + 2
		return
	}
	s.quoted = end == len(rest)
	s.at += end
	if !s.quoted {
		s.at++
	}
}

// firstBuffer is how much is read at once at first, which is more than most objects have.
const firstBuffer = 32 << 10

var errNoObject = errors.New("the stream holds something else than JSON objects")

// frames cuts a stream of JSON objects: each Read gives one of them, or a part of it with io.ErrShortBuffer.
type frames struct {
	from io.ReadCloser
	// buffer[begin:end] is what was read and not given yet; of that, open bytes belong to an object of which a part was
	// given, or none yet.
	buffer     []byte
	begin, end int
	open       int
	// err is what ended the stream.
	err error
}

func newFrames(from io.ReadCloser) *frames {
	return &frames{from: from, buffer: make([]byte, firstBuffer)}
}

// Close implements io.Closer.
func (f *frames) Close() error { return f.from.Close() }

// Read implements io.Reader.
func (f *frames) Read(into []byte) (int, error) {
	if f.open == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(into, f.buffer[f.begin:f.begin+f.open])
	f.begin += n
	f.open -= n
	if f.open > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// next makes the next object the open one.
func (f *frames) next() error {
	var end scan
	for {
		if end == (scan{}) {
			unread := f.buffer[f.begin:f.end]
			f.begin += len(unread) - len(bytes.TrimLeft(unread, " \t\r\n"))
		}
		unread := f.buffer[f.begin:f.end]
		if len(unread) > 0 && unread[0] != '{' {
			return fmt.Errorf("%w: %.20q", errNoObject, unread)
		}
		if len(unread) > 0 && end.in(unread) {
			f.open = end.at
			return nil
		}
		if f.err != nil {
			if len(unread) > 0 && errors.Is(f.err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return f.err
		}
		f.fill()
	}
}

// fill reads more, behind what is there.
func (f *frames) fill() {
	if f.begin == f.end {
		f.begin, f.end = 0, 0
	}
	if f.end == len(f.buffer) {
		buffer := f.buffer
		if f.end-f.begin > len(buffer)/2 {
			buffer = make([]byte, 2*len(buffer))
		}
		f.end = copy(buffer, f.buffer[f.begin:f.end])
		f.buffer, f.begin = buffer, 0
	}
	var n int
	n, f.err = f.from.Read(f.buffer[f.end:])
	f.end += n
}
