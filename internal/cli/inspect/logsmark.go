// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
)

// mark is how far a log has been read, in a form by which another reading of it finds the place: lines of one log may
// have the same time. The zero value is its beginning.
type mark struct {
	at    time.Time // of the last line that has begun
	lines int       // of that time that were read to their end
	part  int       // how many bytes were read of the line after these
}

// after is the mark when one more piece was read.
func (m mark) after(p crilog.Piece) mark {
	if m.part == 0 && p.Time.After(m.at) {
		m.at, m.lines = p.Time, 0
	}
	if m.part += len(p.Text); p.Ending == crilog.Newline {
		m.lines, m.part = m.lines+1, 0
	}
	return m
}

// resumed leaves out of a log what was read of it before a mark.
type resumed struct {
	from   mark
	lines  int  // of the time of the mark
	inLine bool // the next piece goes on with a line
	skip   bool // the line was read
	cut    int  // how much of the line was read
}

// rest gives what is new of a piece; false if nothing is.
func (r *resumed) rest(p crilog.Piece) (crilog.Piece, bool) {
	if !r.inLine {
		r.skip, r.cut = p.Time.Before(r.from.at), 0
		if p.Time.Equal(r.from.at) && !r.from.at.IsZero() {
			if r.skip = r.lines < r.from.lines; r.lines == r.from.lines {
				r.cut = r.from.part
			}
			r.lines++
		}
	}
	r.inLine = p.Ending == crilog.Continues
	if r.skip {
		return crilog.Piece{}, false
	}
	n := min(r.cut, len(p.Text))
	p.Text, r.cut = p.Text[n:], r.cut-n
	return p, n == 0 || len(p.Text) > 0 || p.Ending == crilog.Newline
}
