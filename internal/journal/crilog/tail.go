// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crilog

import "bytes"

// Tail keeps the last lines of what it is given, and from whom each one is.
type Tail struct {
	lines int
	kept  []tailLine // a ring
	first int
}

type tailLine struct {
	log    int
	pieces []Piece
}

// NewTail keeps that many lines.
func NewTail(lines int) *Tail { return &Tail{lines: lines} }

// Add takes a piece of the log with that index. Pieces of one line follow each other.
func (t *Tail) Add(log int, p Piece) {
	if t.lines <= 0 {
		return
	}
	p.Text = bytes.Clone(p.Text)
	if n := len(t.kept); n > 0 {
		newest := &t.kept[(t.first+n-1)%n]
		if end := newest.pieces[len(newest.pieces)-1]; newest.log == log && end.Ending == Continues && end.Stderr == p.Stderr {
			newest.pieces = append(newest.pieces, p)
			return
		}
	}
	next := tailLine{log, []Piece{p}}
	if len(t.kept) < t.lines {
		t.kept = append(t.kept, next)
		return
	}
	t.kept[t.first] = next
	t.first = (t.first + 1) % t.lines
}

// Each gives what was kept, in the order in which it came.
func (t *Tail) Each(give func(log int, p Piece) error) error {
	for i := range t.kept {
		l := t.kept[(t.first+i)%len(t.kept)]
		for _, p := range l.pieces {
			if err := give(l.log, p); err != nil {
				return err
			}
		}
	}
	return nil
}
