// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// Width is how many columns a line of a comment has that is broken.
const Width = 78

// writeComments writes lines, each behind a "#".
func writeComments(out *bytes.Buffer, lines []string) {
	for _, line := range lines {
		line = strings.TrimRight(Printable(line), " \t")
		if line == "" {
			out.WriteString("#\n")
			continue
		}
		fmt.Fprintf(out, "# %s\n", line)
	}
}

// Printable replaces what has no place in a line of text (control characters, other breaks of lines, bytes that are no
// UTF-8) by escapes that can be read.
func Printable(line string) string {
	var out strings.Builder
	for n, r := range line {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[n:], "�"):
			fmt.Fprintf(&out, `\x%02x`, line[n])
		case r == '\t' || unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// Wrap breaks a text into lines of at most Width columns where it has spaces. The lines after the first begin with
// indent.
func Wrap(text, indent string) []string { return paragraph.Lines("", indent, text, Width) }
