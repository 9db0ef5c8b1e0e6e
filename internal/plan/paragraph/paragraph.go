// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paragraph breaks text into lines, and makes sentences of words, in the same way in all answers.
package paragraph

import (
	"strings"
	"unicode/utf8"
)

// Lines breaks text between words into lines of at most width columns; a word that is wider has a line of its own.
// first begins the first line, and rest each other. There is always one line, and none ends in a blank.
func Lines(first, rest, text string, width int) []string {
	var lines []string
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, strings.TrimRight(line, " "))
}
