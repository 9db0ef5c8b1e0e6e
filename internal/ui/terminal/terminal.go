// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal shows what a program wrote as a terminal would, in text with classes of a style sheet: colours and
// what was written over, as progress bars do, are as they would be there. Nothing else that a terminal obeys is obeyed,
// and what is not to be seen otherwise, such as a control character, or one that turns the direction of text, is made
// visible.
//
//   - terminal.go  Program, which gives segments for lines
//   - cells.go     the line of a terminal that is being written
//   - escape.go    escape sequences
//   - style.go     colours, and the classes of a style
//   - visible.go   characters that would not be seen
//
// Memory is bounded by the length of a line.
package terminal

import (
	"unicode/utf8"
)

// Segment is text of one style.
type Segment struct {
	// Class has classes for the style sheet: none, or some of "t-f1" (foreground, 0 to 15), "t-g1" (background), "t-b"
	// (bold), "t-d" (dim), "t-i" (italic), "t-u" (underlined), "t-s" (struck), "t-v" (inverse) and "t-c" (a character
	// that is made visible). It never has anything of what the program wrote.
	Class string
	// Text has no control character but tabs, and nothing that changes the direction of text. It is valid UTF-8.
	Text string
}

// Program gives the lines of one stream of one program as a terminal shows them. Colours that it leaves on go on in its
// next line. The zero value begins without any. It is for one goroutine.
type Program struct{ on style }

// Line gives the segments of a line, without what ends it. What the program wrote over is left out.
func (p *Program) Line(text []byte) []Segment {
	if segments, ok := p.straight(text); ok {
		return segments
	}
	l := line{on: p.on}
	for len(text) > 0 {
		text = text[l.take(text):]
	}
	p.on = l.on
	return l.segments()
}

// straight gives the segments of a line that has nothing but characters that are shown as they are written, and
// colours: nearly all lines are such, and it is many times faster. ok is false for other lines, and then nothing has
// changed.
func (p *Program) straight(text []byte) (segments []Segment, ok bool) {
	on := p.on
	begin, i := 0, 0
	give := func(until int) {
		if until == begin {
			return
		}
		class := on.classes()
		if n := len(segments); n > 0 && segments[n-1].Class == class {
			segments[n-1].Text += string(text[begin:until])
			return
		}
		segments = append(segments, Segment{class, string(text[begin:until])})
	}
	for i < len(text) {
		c := text[i]
		if c == '\x1b' {
			if i+1 >= len(text) || text[i+1] != '[' {
				return nil, false
			}
			n := control(text[i:])
			if n == 0 || text[i+n-1] != 'm' {
				return nil, false
			}
			give(i)
			if all, ok := parameters(string(text[i+2 : i+n-1])); ok {
				on.apply(all)
			}
			i += n
			begin = i
			continue
		}
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\t' || c == 0x7f {
				return nil, false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || unseen(r) || combines(r) {
			return nil, false
		}
		i += size
	}
	give(len(text))
	p.on = on
	return segments, true
}

// Text is the text of segments without their classes.
func Text(segments []Segment) string {
	if len(segments) == 1 {
		return segments[0].Text
	}
	var text []byte
	for i := range segments {
		text = append(text, segments[i].Text...)
	}
	return string(text)
}

// Plain tells whether a line is shown as it is written, but for colours that are on.
func Plain(text []byte) bool {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || unseen(r) || combines(r) {
			return false
		}
		i += size
	}
	return true
}
