// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import "fmt"

// Hides tells whether a character would not be seen in a page, or would change what stands beside it. Tabs and ends of
// lines do not.
func Hides(r rune) bool {
	if r < ' ' {
		return r != '\t' && r != '\n' && r != '\r'
	}
	return r == 0x7f || r > 0x7f && unseen(r)
}

// Visible shows a character that hides.
func Visible(r rune) string {
	if r <= 0x7f {
		return picture(byte(r))
	}
	return codePoint(r)
}

// picture shows a control character, as terminals do when they show one: ^G.
func picture(c byte) string { return "^" + string(rune(c^0x40)) }

// hexadecimal shows a byte that is no UTF-8.
func hexadecimal(c byte) string { return fmt.Sprintf(`\x%02x`, c) }

// codePoint shows a character that would not be seen.
func codePoint(r rune) string { return fmt.Sprintf("<U+%04X>", r) }

// unseen tells whether a character would not be seen, or would change what stands beside it: controls, marks of
// direction, blanks without width, separators of lines, and those by which one text can hide in another.
func unseen(r rune) bool {
	switch {
	case 0x80 <= r && r <= 0x9f, r == 0x061c, r == 0x180e, r == 0x200b, r == 0x200e, r == 0x200f,
		0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, r == 0xfeff, 0xfff9 <= r && r <= 0xfffb,
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, 0x1d173 <= r && r <= 0x1d17a, 0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	return false
}
