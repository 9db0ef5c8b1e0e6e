// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"bytes"
	"strconv"
)

// canonicalObject reports whether text is a JSON object exactly as it would be written after it was read: keys in
// order, no blanks, strings and numbers spelled in the one way. API servers write it so, and then it need not be read
// to know what it would become. It says no also where it would be too much trouble to find out: fractions, characters
// beyond ASCII, values that are nested deeper than anybody nests them. each, if not nil, is told the members of the
// object itself, their keys without quotes; what it was told counts only if the answer is yes.
func canonicalObject(text []byte, each func(key, value []byte)) bool {
	c := &canonical{text: text, each: each}
	return len(text) > 0 && text[0] == '{' && c.value() && c.at == len(text)
}

// canonical walks a JSON value, as long as it is canonical.
type canonical struct {
	text []byte
	at   int
	// depth is how many objects and lists it is in.
	depth int
	each  func(key, value []byte)
}

const maxCanonicalDepth = 64

// value passes the value that begins at c.at.
func (c *canonical) value() bool {
	switch b := c.peek(); {
	case b == '{':
		return c.members()
	case b == '[':
		return c.items()
	case b == '"':
		return c.string()
	case b == '-', b >= '0' && b <= '9':
		return c.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(c.text[c.at:], []byte(word)) {
			c.at += len(word)
			return true
		}
	}
	return false
}

// peek is the byte at c.at, 0 at the end.
func (c *canonical) peek() byte {
	if c.at == len(c.text) {
		return 0
	}
	return c.text[c.at]
}

// take passes a byte if it comes next.
func (c *canonical) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

func (c *canonical) members() bool {
	if c.depth++; c.depth > maxCanonicalDepth {
		return false
	}
	c.at++ // {
	var last []byte
	for first := true; !c.take('}'); first = false {
		if !first && !c.take(',') {
			return false
		}
		from := c.at + 1
		if c.peek() != '"' || !c.string() {
			return false
		}
		key := c.text[from : c.at-1]
		if !first && bytes.Compare(last, key) >= 0 || bytes.IndexByte(key, '\\') >= 0 || !c.take(':') {
			return false
		}
		last = key
		from = c.at
		if !c.value() {
			return false
		}
		if c.depth == 1 && c.each != nil {
			c.each(key, c.text[from:c.at])
		}
	}
	c.depth--
	return true
}

func (c *canonical) items() bool {
	if c.depth++; c.depth > maxCanonicalDepth {
		return false
	}
	c.at++ // [
	for first := true; !c.take(']'); first = false {
		if !first && !c.take(',') || !c.value() {
			return false
		}
	}
	c.depth--
	return true
}

// escapes are those that are written, without the backslash.
var escapes = []string{`"`, `\`, `n`, `r`, `t`, `b`, `f`, `u003c`, `u003e`, `u0026`}

func (c *canonical) string() bool {
	c.at++ // "
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; {
		case b == '"':
			c.at++
			return true
		case b == '\\':
			if !c.escape() {
				return false
			}
		case b < ' ', b > '~', b == '<', b == '>', b == '&':
			return false
		}
	}
	return false
}

// escape passes all of an escape but its last byte.
func (c *canonical) escape() bool {
	for _, e := range escapes {
		if bytes.HasPrefix(c.text[c.at+1:], []byte(e)) {
			c.at += len(e)
			return true
		}
	}
	return false
}

// number passes a whole number.
func (c *canonical) number() bool {
	from := c.at
	c.take('-')
	for c.at < len(c.text) && c.text[c.at] >= '0' && c.text[c.at] <= '9' {
		c.at++
	}
	digits := string(c.text[from:c.at])
	if b := c.peek(); b == '.' || b == 'e' || b == 'E' {
		return false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == digits
}
