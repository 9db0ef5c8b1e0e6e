// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// EscapeControls returns s without anything that a terminal would obey instead of show: control characters (all but
// tab), bytes that are not UTF-8, characters that change the direction of writing, and separators that break lines.
// What stands in their place is what the pager less shows: ^[ for ESC, <9B> for a byte, <U+202E> for a character. The
// result is valid UTF-8 in one line, so that nobody who chooses s can write a line that looks like one of ours.
func EscapeControls(s string) string {
	first := strings.IndexFunc(s, isControl) // of bytes that are no UTF-8, too: they are read as RuneError
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:first])
	for rest := s[first:]; len(rest) > 0; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<%02X>", rest[0])
		case !isControl(r) || r == utf8.RuneError:
			b.WriteString(rest[:size])
		case r < 0x20, r == 0x7f:
			b.WriteByte('^')
			b.WriteByte(byte(r) ^ 0x40)
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		rest = rest[size:]
	}
	return b.String()
}

// isControl tells which characters do something to a terminal. Joiners (U+200C, U+200D) are not among them: scripts and
// emoji need them, and they stay where they are.
func isControl(r rune) bool {
	switch {
	case r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // direction
		return true
	case r == 0x2028, r == 0x2029: // separators of lines and paragraphs
		return true
	case r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f: // marks that hide or order text
		return true
	}
	return r == utf8.RuneError
}

// overwritten returns what a terminal would show in the end of a line in which a program went back to the beginning, as
// progress bars do: what follows the last carriage return that something follows.
func overwritten(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// oneLine makes one line of a message that may have several.
func oneLine(message string) string {
	if !strings.Contains(message, "\n") {
		return message
	}
	return strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

// escaped replaces in JSON what EscapeControls replaces in text, by JSON's own escapes, so that a program reads the
// value as it was. encoding/json escapes C0 and the separators itself and leaves no byte that is not UTF-8.
func escaped(document []byte) []byte {
	text := string(document)
	if strings.IndexFunc(text, func(r rune) bool { return isControl(r) && r != '\n' && r != utf8.RuneError }) < 0 {
		return document
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	for _, r := range text {
		switch {
		case !isControl(r), r == '\n', r == utf8.RuneError:
			b.WriteRune(r)
		case r > 0xffff: // as JSON wants them, in two halves
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}
