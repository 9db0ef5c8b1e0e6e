// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crilog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Mark is how far a log has been read, in a form by which another reading of it finds the place: lines of one log may
// have the same time. The zero value is its beginning.
type Mark struct {
	// At is the time of the last line that has begun.
	At    time.Time
	lines int // of that time that were read to their end
	part  int // how many bytes were read of the line after these
}

// After is the mark when one more piece was read.
func (m Mark) After(p Piece) Mark {
	if m.part == 0 && p.Time.After(m.At) {
		m.At, m.lines = p.Time, 0
	}
	if m.part += len(p.Text); p.Ending == Newline {
		m.lines, m.part = m.lines+1, 0
	}
	return m
}

// String writes a mark so that ParseMark reads it; that of a beginning is empty.
func (m Mark) String() string {
	if m == (Mark{}) {
		return ""
	}
	return fmt.Sprintf("%d-%d-%d", m.At.UnixNano(), m.lines, m.part)
}

// ParseMark reads a mark.
func ParseMark(text string) (Mark, error) {
	if text == "" {
		return Mark{}, nil
	}
	parts := strings.Split(strings.TrimPrefix(text, "-"), "-")
	if len(parts) != 3 {
		return Mark{}, fmt.Errorf("%q is no place in a log", text)
	}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return Mark{}, fmt.Errorf("%q is no place in a log", text)
	}
	if strings.HasPrefix(text, "-") {
		at = -at
	}
	m := Mark{At: time.Unix(0, at).UTC()}
	for i, to := range []*int{&m.lines, &m.part} {
		n, err := strconv.ParseUint(parts[i+1], 10, 31)
		if err != nil {
			return Mark{}, fmt.Errorf("%q is no place in a log", text)
		}
		*to = int(n) //nolint:gosec // it has 31 bits
	}
	return m, nil
}

// Resumed leaves out of a log what was read of it before a mark. It is for one reading of it.
type Resumed struct {
	From   Mark
	lines  int  // of the time of the mark
	inLine bool // the next piece goes on with a line
	skip   bool // the line was read
	cut    int  // how much of the line was read
}

// Rest gives what is new of a piece; false if nothing is.
func (r *Resumed) Rest(p Piece) (Piece, bool) {
	if !r.inLine {
		r.skip, r.cut = p.Time.Before(r.From.At), 0
		if p.Time.Equal(r.From.At) && !r.From.At.IsZero() {
			if r.skip = r.lines < r.From.lines; r.lines == r.From.lines {
				r.cut = r.From.part
			}
			r.lines++
		}
	}
	r.inLine = p.Ending == Continues
	if r.skip {
		return Piece{}, false
	}
	n := min(r.cut, len(p.Text))
	p.Text, r.cut = p.Text[n:], r.cut-n
	return p, n == 0 || len(p.Text) > 0 || p.Ending == Newline
}
