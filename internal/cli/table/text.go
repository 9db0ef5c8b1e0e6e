// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// clean gives a text in one line, without what a terminal would obey.
func clean(text string) string {
	if strings.ContainsAny(text, "\n\r\t") {
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
	}
	return console.EscapeControls(text)
}

// Width is how many columns of a terminal a text takes, in which wide characters, those of East Asia and emoji, take
// two, and marks that are set upon others take none.
func Width(text string) int {
	total := 0
	for _, r := range text {
		total += widthOf(r)
	}
	return total
}

func widthOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Shorten gives a text of at most the given width in columns of a terminal: whole, or its beginning with "…" at the
// end. What a terminal would obey is made visible, and several lines are one.
func Shorten(text string, columns int) string { return shorten(clean(text), max(1, columns)) }

// shorten does that with a text that is clean; 0 columns are any number.
func shorten(text string, columns int) string {
	if columns <= 0 || len(text) <= columns {
		return text
	}
	used, cut := 0, 0 // how far the text may go if it must make room for "…"
	for at, r := range text {
		w := widthOf(r)
		if used+w > columns {
			return strings.TrimRight(text[:cut], " ") + "…"
		}
		used += w
		if used < columns {
			cut = at + utf8.RuneLen(r)
		}
	}
	return text
}
