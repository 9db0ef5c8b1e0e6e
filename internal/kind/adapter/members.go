// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"encoding/json"
)

// members calls each for the members of the JSON object that data is, and reports whether it is one, as far as it had
// to look: each entry of managed fields is read when a cache fills, and most of it is about a template, of which a
// decoder would look at every letter twice and make maps. What comes after each has returned false is not looked at.
// key and value are parts of data; the key has its quotes.
func members(data []byte, each func(key, value []byte) bool) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	data = bytes.TrimLeft(data[1:], " \t\r\n")
	for len(data) > 0 && data[0] != '}' {
		key, rest := value(data)
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(key) == 0 || key[0] != '"' || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		member, rest := value(bytes.TrimLeft(rest[1:], " \t\r\n"))
		if len(member) == 0 {
			return false
		}
		if !each(key, member) {
			return true
		}
		data = bytes.TrimLeft(rest, " \t\r\n")
		if len(data) > 0 && data[0] == ',' {
			data = bytes.TrimLeft(data[1:], " \t\r\n")
		} else if len(data) > 0 && data[0] != '}' {
			return false
		}
	}
	return len(data) > 0
}

// value cuts the first JSON value off data, which begins with it; it is empty when it has no end.
func value(data []byte) (first, rest []byte) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if i >= len(data) {
				return nil, data
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 {
				end := bytes.IndexAny(data[i:], ",:{}[]\" \t\r\n")
				if end < 0 {
					end = len(data) - i
				}
				return data[:i+end], data[i+end:]
			}
			continue
		}
		if depth <= 0 {
			return data[:i+1], data[i+1:]
		}
	}
	return nil, data
}

// isKey reports whether key, which has its quotes, is name.
func isKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1:len(key)-1]) == name
	}
	var text string
	return json.Unmarshal(key, &text) == nil && text == name
}
