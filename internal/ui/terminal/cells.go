// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cell is a place of a line: a character with what combines with it, or one that is made visible.
type cell struct {
	text    string
	style   style
	visible bool // it stands for a character that would not be seen
	marks   int  // how many characters combine with it
}

// line is a line of a terminal while it is written. A character takes one place, however wide it is.
type line struct {
	cells []cell
	at    int // the place that is written next
	on    style
}

const (
	// widest is how far a program can move to the right of what it has written.
	widest = 512
	// mostMarks is how many characters combine with one: more only pile up over other lines.
	mostMarks = 6
)

// take takes what stands at the beginning of text, and tells how many bytes that was.
func (l *line) take(text []byte) int {
	switch c := text[0]; {
	case c == '\r':
		l.at = 0
		return 1
	case c == '\b':
		l.at = max(0, l.at-1)
		return 1
	case c == '\x1b':
		return l.escape(text)
	case c == '\t':
		l.put(cell{text: "\t"})
		return 1
	case c < utf8.RuneSelf:
		if c < ' ' || c == 0x7f {
			l.put(cell{text: picture(c), visible: true})
		} else {
			l.put(cell{text: string(rune(c))})
		}
		return 1
	}
	r, size := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && size == 1:
		l.put(cell{text: hexadecimal(text[0]), visible: true})
	case unseen(r):
		l.put(cell{text: codePoint(r), visible: true})
	case combines(r):
		l.combine(r)
	default:
		l.put(cell{text: string(r)})
	}
	return size
}

func combines(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return r == joiner || r == nonJoiner || unicode.In(r, unicode.Mn, unicode.Me)
}

// put writes a cell where the line is written.
func (l *line) put(c cell) {
	c.style = l.on
	for len(l.cells) < l.at {
		l.cells = append(l.cells, cell{text: " "})
	}
	if l.at == len(l.cells) {
		l.cells = append(l.cells, c)
	} else {
		l.cells[l.at] = c
	}
	l.at++
}

// combine adds a character to the one before it.
func (l *line) combine(r rune) {
	before := min(l.at, len(l.cells)) - 1
	if before < 0 || l.cells[before].visible || l.cells[before].marks == mostMarks {
		l.put(cell{text: codePoint(r), visible: true})
		return
	}
	l.cells[before].text += string(r)
	l.cells[before].marks++
}

// move moves to a place, not far beyond what is written.
func (l *line) move(to int) { l.at = min(max(0, to), max(len(l.cells), widest)) }

// erase makes places blank, from one until before another.
func (l *line) erase(from, until int) {
	if until >= len(l.cells) {
		l.cells = l.cells[:min(from, len(l.cells))]
		return
	}
	for i := from; i < until; i++ {
		l.cells[i] = cell{text: " "}
	}
}

// segments gives what stands in the line.
func (l *line) segments() []Segment {
	var all []Segment
	var text strings.Builder
	for i := 0; i < len(l.cells); {
		first := &l.cells[i]
		text.Reset()
		for ; i < len(l.cells) && l.cells[i].style == first.style && l.cells[i].visible == first.visible; i++ {
			text.WriteString(l.cells[i].text)
		}
		class := first.style.classes()
		if first.visible {
			class = strings.TrimLeft(class+" t-c", " ")
		}
		all = append(all, Segment{class, text.String()})
	}
	return all
}
