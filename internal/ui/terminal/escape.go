// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"strconv"
	"strings"
)

// Bounds on sequences: what goes on for longer is none.
const (
	longestSequence = 128
	longestString   = 4096
	mostParameters  = 32
)

// escape takes an escape sequence, and tells how many bytes it has. Those that only mean something to a terminal are
// left out; the beginning of what is none is made visible.
func (l *line) escape(text []byte) int {
	if len(text) > 1 {
		switch c := text[1]; c {
		case '[':
			if n := control(text); n > 0 {
				l.control(text[2:n])
				return n
			}
		case ']', 'P', 'X', '^', '_': // a title, an address, …
			if n := stringEnd(text, c == ']'); n > 0 {
				return n
			}
		default:
			n := 1
			for n < len(text) && n < longestSequence && ' ' <= text[n] && text[n] <= '/' {
				n++
			}
			if n < len(text) && '0' <= text[n] && text[n] <= '~' {
				return n + 1
			}
		}
	}
	l.put(cell{text: picture('\x1b'), visible: true})
	return 1
}

// control is the length of a control sequence: parameters, intermediate bytes and a final one; 0 if it is none.
func control(text []byte) int {
	n := 2
	for n < len(text) && n < longestSequence && '0' <= text[n] && text[n] <= '?' {
		n++
	}
	for n < len(text) && n < longestSequence && ' ' <= text[n] && text[n] <= '/' {
		n++
	}
	if n < len(text) && '@' <= text[n] && text[n] <= '~' {
		return n + 1
	}
	return 0
}

// stringEnd is the length of a sequence that holds a string: it ends with ESC \, that of an operating system command
// also with BEL; 0 if it does not end.
func stringEnd(text []byte, bell bool) int {
	within := text[2:min(len(text), longestString)]
	end := bytes.Index(within, []byte("\x1b\\"))
	if end >= 0 {
		within = within[:end]
	}
	if at := bytes.IndexByte(within, '\a'); bell && at >= 0 {
		return 2 + at + 1
	}
	if end < 0 {
		return 0
	}
	return 2 + end + 2
}

// control obeys a control sequence that stays in its line.
func (l *line) control(sequence []byte) {
	final := sequence[len(sequence)-1]
	text := string(sequence[:len(sequence)-1])
	if final == 'm' {
		if p, ok := parameters(text); ok {
			l.on.apply(p)
		}
		return
	}
	n, err := strconv.Atoi(text)
	if text == "" {
		n, err = 0, nil
	}
	if err != nil || n > widest {
		return
	}
	switch final {
	case 'C':
		l.move(l.at + max(1, n))
	case 'D':
		l.move(l.at - max(1, n))
	case 'G':
		l.move(max(1, n) - 1)
	case 'K':
		switch n {
		case 0:
			l.erase(l.at, len(l.cells))
		case 1:
			l.erase(0, l.at+1)
		case 2:
			l.erase(0, len(l.cells))
		}
	}
}

// parameters reads numbers that are separated by semicolons; each may have further ones, separated by colons.
func parameters(text string) (all [][]int, ok bool) {
	parts := strings.SplitN(text, ";", mostParameters+1)
	for _, part := range parts[:min(len(parts), mostParameters)] {
		var numbers []int
		for one := range strings.SplitSeq(part, ":") {
			n, err := strconv.Atoi(one)
			if err != nil && one != "" || n < 0 {
				return nil, false
			}
			numbers = append(numbers, n)
		}
		all = append(all, numbers)
	}
	return all, true
}
