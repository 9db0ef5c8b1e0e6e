// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crilog reads logs of containers in the format of CRI: a record in each line, "TIME stdout F text" for a line
// that a container wrote, and P in place of F for a part of one, of which the rest comes in later records.
//
//   - crilog.go  Piece, and Reader, which makes the lines that were written out of records
//   - merge.go   several logs as one, in the order of time
//   - tail.go    the last lines of what comes
//   - mark.go    how far a log was read, and its rest
//
// Memory is bounded, however long lines and logs are.
package crilog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// LongestPiece is about how many bytes of a line a Piece has at most; longer lines come in several.
const LongestPiece = 64 << 10

// recordBuffer holds a record, or a part of one that is longer.
const recordBuffer = 16 << 10

// Ending is what follows a Piece.
type Ending int

// The endings.
const (
	Newline   Ending = iota
	Continues        // more of the same line
	Unended          // nothing: the log ends within the line
)

// Piece is a line that a container wrote, or a part of one that is too long to be held.
type Piece struct {
	// Time is when it was written: that of the first record of the piece. Zero only if the log told no time before it.
	Time time.Time
	// Stderr: it was written to the error stream.
	Stderr bool
	// Text is without the line's end. It is valid until the next piece is asked for.
	Text   []byte
	Ending Ending
}

// Reader gives the pieces of one log. What is no record comes as a line of its own, so that nothing is lost of a log
// that was damaged. It is for one goroutine.
type Reader struct {
	records *bufio.Reader
	// inside: what is read next belongs to the record that is named here.
	inside  bool
	stderr  bool
	partial bool
	last    time.Time
	open    [2]line // by stream
	given   *line   // that whose text the caller holds
	err     error
}

// line is what has been read of a line and not been given.
type line struct {
	text  []byte
	time  time.Time
	begun bool
}

// NewReader reads the log that r has.
func NewReader(r io.Reader) *Reader {
	return &Reader{records: bufio.NewReaderSize(r, recordBuffer)}
}

// Next gives the next piece. io.EOF says that there is none; another error is that of reading, and comes after all that
// could be read.
func (r *Reader) Next() (Piece, error) {
	if r.given != nil {
		r.given.text, r.given = r.given.text[:0], nil
	}
	for r.err == nil {
		part, err := r.records.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !full {
			r.err = err
		}
		if len(part) == 0 {
			continue
		}
		ended := part[len(part)-1] == '\n'
		if ended {
			part = part[:len(part)-1]
		}
		if !r.inside {
			part = r.begin(part)
		}
		r.inside = full
		if piece, ok := r.add(part, ended); ok {
			return piece, nil
		}
	}
	for i := range r.open { // the log ends within them
		if l := &r.open[i]; l.begun {
			return r.give(l, i == 1, Unended), nil
		}
	}
	return Piece{}, r.err
}

// begin reads the head of a record and gives its text.
func (r *Reader) begin(part []byte) []byte {
	at, stderr, partial, text, ok := parse(part)
	if !ok {
		r.stderr, r.partial = false, false
		return part
	}
	r.last, r.stderr, r.partial = at, stderr, partial
	return text
}

// add puts text of the current record to its line. There is a piece when the line is complete, or long. A record
// without an end is the last one, and its line has none either.
func (r *Reader) add(text []byte, ended bool) (Piece, bool) {
	l := &r.open[0]
	if r.stderr {
		l = &r.open[1]
	}
	if len(l.text) == 0 {
		l.begun, l.time = true, r.last
	}
	l.text = append(l.text, text...)
	switch {
	case ended && !r.partial:
		return r.give(l, r.stderr, Newline), true
	case len(l.text) >= LongestPiece:
		return r.give(l, r.stderr, Continues), true
	}
	return Piece{}, false
}

func (r *Reader) give(l *line, stderr bool, ending Ending) Piece {
	r.given = l
	l.begun = ending == Continues
	return Piece{Time: l.time, Stderr: stderr, Text: l.text, Ending: ending}
}

// parse takes a record apart: the time, the stream, the tags, which are separated by colons and of which the first one
// is P or F, and the text.
func parse(record []byte) (at time.Time, stderr, partial bool, text []byte, ok bool) {
	stamp, rest, found := bytes.Cut(record, []byte(" "))
	if !found {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return
	}
	stream, rest, found := bytes.Cut(rest, []byte(" "))
	if !found || string(stream) != "stdout" && string(stream) != "stderr" {
		return
	}
	tags, text, _ := bytes.Cut(rest, []byte(" "))
	tag, _, _ := bytes.Cut(tags, []byte(":"))
	if string(tag) != "F" && string(tag) != "P" {
		return
	}
	return at, string(stream) == "stderr", string(tag) == "P", text, true
}

// AppendRecord appends a record, with the newline that ends it, to b.
func AppendRecord(b []byte, at time.Time, stderr, partial bool, text []byte) []byte {
	b = at.AppendFormat(b, time.RFC3339Nano)
	stream, tag := " stdout", " F "
	if stderr {
		stream = " stderr"
	}
	if partial {
		tag = " P "
	}
	b = append(append(b, stream...), tag...)
	return append(append(b, text...), '\n')
}
