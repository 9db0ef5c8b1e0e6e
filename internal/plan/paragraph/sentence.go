// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package paragraph

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence gives words as a sentence: with a capital letter and one full stop; "" of nothing.
func Sentence(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), ".")
	if text == "" {
		return ""
	}
	return Capital(text) + "."
}

// Capital gives text with a capital letter at its beginning. What does not begin with UTF-8 stays as it is.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
