// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"encoding/json"
	"strconv"
	"strings"
)

// scanner walks a JSON value that is known to be valid, and knows the path of where it is.
type scanner struct {
	text []byte
	at   int
	path []step
	// found is told of each string value: where its content begins and ends, without the quotes.
	found func(from, to int)
}

// step is one step of a path: a key as it stands in the JSON, or an index if that is nil.
type step struct {
	key   []byte
	index int
}

// value walks the value that begins at s.at or after blanks.
func (s *scanner) value() {
	s.blanks()
	switch s.text[s.at] {
	case '{':
		s.members()
	case '[':
		s.items()
	case '"':
		s.found(s.stringContent())
	default: // a number, true, false or null
		for s.at < len(s.text) && !strings.ContainsRune(",]} \t\r\n", rune(s.text[s.at])) {
			s.at++
		}
	}
}

func (s *scanner) members() {
	s.at++ // {
	s.path = append(s.path, step{})
	for s.blanks(); s.text[s.at] != '}'; s.blanks() {
		from, to := s.stringContent()
		s.path[len(s.path)-1].key = s.text[from:to]
		s.blanks()
		s.at++ // :
		s.value()
		s.blanks()
		if s.text[s.at] == ',' {
			s.at++
		}
	}
	s.at++
	s.path = s.path[:len(s.path)-1]
}

func (s *scanner) items() {
	s.at++ // [
	s.path = append(s.path, step{})
	for s.blanks(); s.text[s.at] != ']'; s.blanks() {
		s.value()
		s.path[len(s.path)-1].index++
		s.blanks()
		if s.text[s.at] == ',' {
			s.at++
		}
	}
	s.at++
	s.path = s.path[:len(s.path)-1]
}

// stringContent passes a string and says where its content is.
func (s *scanner) stringContent() (from, to int) {
	s.at++ // the opening quote
	from = s.at
	for s.text[s.at] != '"' {
		if s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	to = s.at
	s.at++
	return from, to
}

func (s *scanner) blanks() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// pathFrom writes where the scanner is, beginning with root: spec.containers[0].env[1].value, and
// metadata.labels["team/name"] for keys that are no plain words.
func (s *scanner) pathFrom(root string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, p := range s.path {
		switch {
		case p.key == nil:
			b.WriteString("[" + strconv.Itoa(p.index) + "]")
		case plain(p.key):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.Write(p.key)
		default:
			var key string
			if json.Unmarshal([]byte(`"`+string(p.key)+`"`), &key) != nil {
				key = string(p.key)
			}
			const longest = 64
			if len(key) > longest {
				key = key[:longest] + "…"
			}
			b.WriteString("[" + strconv.Quote(key) + "]")
		}
	}
	return b.String()
}

// plain tells whether a key is a word that needs no quotes in a path.
func plain(key []byte) bool {
	const longest = 64
	for _, c := range key {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(key) > 0 && len(key) <= longest
}

// character reads what stands at the beginning of a JSON string's content: its length there, and the character if it
// is one of ASCII, else 0.
func character(content []byte) (ascii byte, length int) {
	switch {
	case content[0] != '\\':
		if content[0] >= 0x80 {
			return 0, 1 // a byte of a longer character
		}
		return content[0], 1
	case content[1] != 'u':
		return 0, 2 // none of them is part of a variable but the slash, which no name has
	}
	code, err := strconv.ParseUint(string(content[2:6]), 16, 16)
	if err != nil || code >= 0x80 {
		return 0, 6
	}
	return byte(code), 6
}
