// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// ProgramOutput makes what one program writes fit for a terminal, line by line: its colours get through, nothing else
// that a terminal would obey. What else there is becomes visible (EscapeControls), and of what a program wrote over, as
// progress bars do, the last state is shown. Colours that a program leaves on go on in its next line, and in nobody
// else's. The zero value takes colours out. It is for one goroutine.
type ProgramOutput struct {
	// Colors: they get through.
	Colors bool

	on     []byte // the colours that are on
	rest   []byte // the beginning of a sequence, or of a character, at the end of the last piece
	inLine bool
}

// longestSequence bounds a sequence that sets colours, longestColors those that are on at the end of a line.
const (
	longestSequence = 64
	longestColors   = 256
)

// reset ends all colours.
const reset = "\x1b[0m"

// Append appends a line, without what ends it, or a piece of one, to b. ended: the line ends with it.
func (o *ProgramOutput) Append(b, text []byte, ended bool) []byte {
	if len(o.rest) > 0 {
		text = append(o.rest, text...)
		o.rest = nil
	}
	if !o.inLine {
		b = append(b, o.on...)
		o.inLine = true
	}
	trimmed := bytes.TrimRight(text, "\r")
	if ended {
		text = trimmed
	}
	if over := bytes.LastIndexByte(trimmed, '\r'); over >= 0 {
		text = text[over+1:]
	}
	if more := text[len(bytes.TrimRight(text, "\r")):]; len(more) > 0 { // whether something follows is not known yet
		text = text[:len(text)-len(more)]
		defer func() { o.rest = append(o.rest, more...) }()
	}
	for len(text) > 0 {
		plain := bytes.IndexByte(text, '\x1b')
		if plain < 0 {
			plain = len(text)
			if !ended {
				plain -= unfinished(text)
			}
		}
		b = append(b, EscapeControls(string(text[:plain]))...)
		text = text[plain:]
		if len(text) == 0 || text[0] != '\x1b' { // at the end, or at the beginning of a character
			o.rest = bytes.Clone(text)
			break
		}
		sequence, whole := colorSequence(text)
		switch {
		case !whole && !ended:
			o.rest, text = bytes.Clone(text), nil
		case sequence == 0:
			b, text = append(b, "^["...), text[1:]
		default:
			if o.Colors {
				b = append(b, text[:sequence]...)
				o.turnOn(text[:sequence])
			}
			text = text[sequence:]
		}
	}
	if ended {
		if o.inLine = false; len(o.on) > 0 {
			b = append(b, reset...)
		}
	}
	return b
}

// turnOn remembers the colours that a sequence leaves on.
func (o *ProgramOutput) turnOn(sequence []byte) {
	parameters := string(sequence[2 : len(sequence)-1])
	first, _, several := strings.Cut(parameters, ";")
	if strings.Trim(first, "0") == "" {
		o.on = o.on[:0]
		if !several {
			return
		}
	}
	o.on = append(o.on, sequence...)
	for len(o.on) > longestColors { // the oldest one is the first to be forgotten
		o.on = o.on[1+bytes.IndexByte(o.on[1:], '\x1b'):]
	}
}

// colorSequence is the length of the sequence at the beginning of text (which begins with ESC) if it sets colours or
// other looks of characters (SGR), 0 if it does not. whole is false if more text could make it one. One that hides
// characters is none.
func colorSequence(text []byte) (length int, whole bool) {
	if len(text) > 1 && text[1] != '[' {
		return 0, true
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case i >= longestSequence:
			return 0, true
		case c == 'm' && !conceals(string(text[2:i])):
			return i + 1, true
		case c >= '0' && c <= '9', c == ';', c == ':':
		default:
			return 0, true
		}
	}
	return 0, len(text) >= longestSequence
}

// conceals tells whether parameters of SGR hide what follows.
func conceals(parameters string) bool {
	words := strings.Split(parameters, ";")
	for i := 0; i < len(words); i++ {
		word, _, _ := strings.Cut(words[i], ":")
		switch strings.TrimLeft(word, "0") {
		case "8":
			return true
		case "38", "48", "58": // a colour: its values follow
			if word != words[i] || i+1 == len(words) {
				break
			}
			switch strings.TrimLeft(words[i+1], "0") {
			case "5":
				i += 2
			case "2":
				i += 4
			}
		}
	}
	return false
}

// unfinished is how many bytes at the end of text are the beginning of a character.
func unfinished(text []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return i
		}
	}
	return 0
}
