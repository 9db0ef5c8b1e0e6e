// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package paragraph_test

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// Whatever letter a message begins with, it is not cut.
func TestSentence(t *testing.T) {
	for name, test := range map[string]struct{ text, capital, sentence string }{
		"nothing":             {"", "", ""},
		"blanks":              {"  ", "  ", ""},
		"words":               {"nothing starts", "Nothing starts", "Nothing starts."},
		"a sentence":          {"Nothing starts.", "Nothing starts.", "Nothing starts."},
		"a line":              {" it ended...\n", " it ended...\n", "It ended."},
		"a letter of 2 bytes": {"über limit", "Über limit", "Über limit."},
		"a letter of 3 bytes": {"日本", "日本", "日本."},
		"no UTF-8":            {"\xe2\x80 off", "\xe2\x80 off", "\xe2\x80 off."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := paragraph.Capital(test.text); got != test.capital {
				t.Errorf("Capital: %q, want %q", got, test.capital)
			}
			if got := paragraph.Sentence(test.text); got != test.sentence {
				t.Errorf("Sentence: %q, want %q", got, test.sentence)
			}
		})
	}
}
