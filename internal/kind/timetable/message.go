// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many bytes messages may have as JSON encodes them, with their quotes (timetable.md 2, 4.1).
const (
	conditionMessageBytes = 512
	entryMessageBytes     = 128
)

// ellipsis ends what was cut.
const ellipsis = "…"

// bounded makes a text of anybody fit for a status: on one line, without control characters, and of at most limit bytes
// as Go encodes it in JSON, with its quotes. It is cut between characters.
func bounded(text string, limit int) string {
	if isPlain(text) && len(`""`)+len(text) <= limit {
		return text
	}
	var b strings.Builder
	used := len(`""`)
	cutAt := 0 // where there is still room for the ellipsis
	blank := false
	for _, r := range text {
		if r == ' ' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			blank = b.Len() > 0 // one between two words, and none before the first or after the last
			continue
		}
		length := encodedLength(r)
		if blank {
			length++
		}
		if used+length > limit {
			return b.String()[:cutAt] + ellipsis
		}
		used += length
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(r) // an invalid byte becomes U+FFFD, as in JSON
		if used+len(ellipsis) <= limit {
			cutAt = b.Len()
		}
	}
	return b.String()
}

// isPlain tells whether a text is words of printable ASCII, with one blank between two, that JSON encodes as they are.
func isPlain(text string) bool {
	before := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' || strings.IndexByte(`"\<>&`, c) >= 0 {
			return false
		}
		before = c
	}
	return text == "" || before != ' '
}

// encodedLength is how many bytes encoding/json writes for a character of a string that is no control character.
func encodedLength(r rune) int {
	switch r {
	case '"', '\\':
		return 2
	case '<', '>', '&':
		return len(`\u003c`)
	}
	return utf8.RuneLen(r)
}
