// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package paragraph_test

import (
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

func TestLines(t *testing.T) {
	for name, test := range map[string]struct {
		first, rest, text string
		want              string
	}{
		"nothing":                   {"  ", "", "", ""},
		"what fits exactly":         {"", "", "ab cdefg", "ab cdefg"},
		"one letter too many":       {"", "  ", "ab cdefgh", "ab|  cdefgh"},
		"its own beginning":         {"- ", "  ", "ab cd ef gh", "- ab cd|  ef gh"},
		"a word wider than a line":  {"", "", "a bcdefghijkl m", "a|bcdefghijkl|m"},
		"columns, and not bytes":    {"", "", "äöü äöüß", "äöü äöüß"},
		"breaks and blanks in text": {"", "", " a\n\n b\t", "a b"},
	} {
		if got := strings.Join(paragraph.Lines(test.first, test.rest, test.text, 8), "|"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
