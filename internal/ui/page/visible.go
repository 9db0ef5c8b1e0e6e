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
// What a form sends back stays as it is: the texts of textareas, and the attributes value and name. What is no UTF-8
// is replaced everywhere, and of a text that is too long the beginning is shown. The page is one that templates have
// escaped, so that each < begins a tag.
func visible(rendered []byte) []byte {
	rendered = bytes.ToValidUTF8(rendered, []byte("\uFFFD"))
	if !hasLong(rendered) && !bytes.ContainsFunc(rendered, terminal.Hides) {
		return rendered
	}
	out, written := make([]byte, 0, len(rendered)+1024), false
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
			switch {
			case bytes.HasPrefix(rendered, []byte("<pre")):
				written = true
			case bytes.HasPrefix(rendered, []byte("</pre")):
				written = false
			}
			out, rendered = appendTag(out, rendered[:n]), rendered[n:]
			continue
		}
		n := bytes.IndexByte(rendered, '<')
		if n < 0 {
			n = len(rendered)
		}
		if written { // an output, or an object, which has bounds of its own
			out, rendered = appendVisible(out, rendered[:n]), rendered[n:]
			continue
		}
		out, rendered = appendShort(out, rendered[:n]), rendered[n:]
	}
	return out
}

// longestText is how much of one text is shown, in bytes: a message may be as long as its writer likes, and a page that
// names it many times must not be.
const longestText = 8 << 10

// hasLong tells whether there may be a text of more than that: it lies between two tags, or in one.
func hasLong(rendered []byte) bool {
	for len(rendered) > longestText {
		n := bytes.IndexByte(rendered[1:], '<')
		if n < 0 || n > longestText {
			return true
		}
		rendered = rendered[n+1:]
	}
	return false
}

// appendShort is appendVisible, of the beginning of what is too long.
func appendShort(out, text []byte) []byte {
	if len(text) <= longestText {
		return appendVisible(out, text)
	}
	const longestEntity = 8
	end := longestText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	if begun := bytes.LastIndexByte(text[end-longestEntity:end], '&'); begun >= 0 && bytes.IndexByte(text[end-longestEntity+begun:end], ';') < 0 {
		end -= longestEntity - begun
	}
	return append(appendVisible(out, text[:end]), "… (it goes on; the whole is too long to be shown here)"...)
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

// told are the attributes that a viewer reads.
var told = [][]byte{[]byte(" title="), []byte(" aria-label=")}

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
		is := func(k []byte) bool { return bytes.HasSuffix(name, k) }
		switch {
		case slices.ContainsFunc(kept, is):
			out = append(out, value...)
		case slices.ContainsFunc(told, is):
			quote := value[:1]
			out = append(appendShort(append(out, quote...), value[1:len(value)-1]), quote...)
		default:
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
