// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"html"
	"slices"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/ui/terminal"
)

// visible gives a rendered page in which characters are seen that would not be, or that would change what stands beside
// them, such as the marks of direction: whoever names an object or writes a message must not change what a page says.
// What a form sends back stays as it is: the texts of textareas, and the attributes value and name. What is no UTF-8 is
// replaced everywhere. The page is one that templates have escaped, so that each < begins a tag.
func visible(rendered []byte) []byte {
	rendered = bytes.ToValidUTF8(rendered, []byte("\uFFFD"))
	if !bytes.ContainsFunc(rendered, terminal.Hides) {
		return rendered
	}
	out := make([]byte, 0, len(rendered)+1024)
	for len(rendered) > 0 {
		if rendered[0] == '<' {
			n := tagEnd(rendered)
			if bytes.HasPrefix(rendered, []byte("<textarea")) {
				if end := bytes.Index(rendered, []byte("</textarea>")); end > n {
					out = appendTag(out, rendered[:n])
					out, rendered = append(out, rendered[n:end]...), rendered[end:]
					continue
				}
			}
			out, rendered = appendTag(out, rendered[:n]), rendered[n:]
			continue
		}
		n := bytes.IndexByte(rendered, '<')
		if n < 0 {
			n = len(rendered)
		}
		out, rendered = appendVisible(out, rendered[:n]), rendered[n:]
	}
	return out
}

// tagEnd is the length of the tag at the beginning of text.
func tagEnd(text []byte) int {
	var quote byte
	for n, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return n + 1
		}
	}
	return len(text)
}

// kept are the attributes that a form sends back.
var kept = [][]byte{[]byte(" value="), []byte(" name=")}

// appendTag appends a tag whose attributes are in quotes.
func appendTag(out, tag []byte) []byte {
	for len(tag) > 0 {
		begin := bytes.IndexAny(tag, `"'`)
		if begin < 0 {
			return append(out, tag...)
		}
		end := bytes.IndexByte(tag[begin+1:], tag[begin])
		if end < 0 {
			return append(out, tag...)
		}
		name, value := tag[:begin], tag[begin:begin+end+2]
		out = append(out, name...)
		if slices.ContainsFunc(kept, func(k []byte) bool { return bytes.HasSuffix(name, k) }) {
			out = append(out, value...)
		} else {
			out = appendVisible(out, value)
		}
		tag = tag[begin+end+2:]
	}
	return out
}

// appendVisible appends text, and each character that hides as a picture of it, escaped.
func appendVisible(out, text []byte) []byte {
	for {
		n := bytes.IndexFunc(text, terminal.Hides)
		if n < 0 {
			return append(out, text...)
		}
		r, size := utf8.DecodeRune(text[n:])
		out = append(append(out, text[:n]...), html.EscapeString(terminal.Visible(r))...)
		text = text[n+size:]
	}
}
