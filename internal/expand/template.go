// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// A Template is a JSON value whose variables have been found and checked. It is immutable: use it from as many
// goroutines as you like.
type Template struct {
	// text is the JSON as it came; uses are what of it is replaced, in order.
	text []byte
	uses []use
}

// use is a place of a template that is replaced: text[from:to].
type use struct {
	from, to int32
	variable variable
}

// Compile reads a JSON value. Errors call it path ("spec.template.spec"), and its parts accordingly. The names of the
// declared parameters say which $(carillon.parameters.NAME) there are. An error is a user's: what is no JSON, or an
// [UnknownVariable], the first one.
//
// The template may keep text: it must not be modified any more.
func Compile(path string, text []byte, parameters []string) (*Template, error) {
	if !json.Valid(text) {
		return nil, fmt.Errorf("%s is no valid JSON", path)
	}
	if len(text) > math.MaxInt32 {
		return nil, fmt.Errorf("%s is larger than 2 GiB", path)
	}
	if !bytes.Contains(text, []byte("carillon.")) && !bytes.Contains(text, []byte(`\u00`)) {
		return &Template{text: text}, nil // no variable, however it may be spelled
	}
	t := &Template{text: text}
	var problem error
	s := &scanner{text: text}
	s.found = func(from, to int) {
		if problem == nil {
			problem = t.find(s, path, from, to, parameters)
		}
	}
	s.value()
	if problem != nil {
		return nil, problem
	}
	return t, nil
}

// find adds the variables of the string content text[from:to], and the dollars that hide others.
func (t *Template) find(s *scanner, path string, from, to int, parameters []string) error {
	if to-from < len(opening)+1 {
		return nil
	}
	for at := from; at < to; {
		hidden, name, end := t.match(at, to)
		switch {
		case end == 0:
			_, length := character(t.text[at:to])
			at += length
			continue
		case hidden:
			_, dollar := character(t.text[at:to])
			t.uses = append(t.uses, use{int32(at), int32(at + dollar), variable{}})
		default:
			v, known := lookUp(name, parameters)
			if !known {
				return &UnknownVariable{Field: s.pathFrom(path), Name: name, Hint: hint(name, parameters)}
			}
			t.uses = append(t.uses, use{int32(at), int32(end), v})
		}
		at = end
	}
	return nil
}

// match tells whether a variable begins at text[at], or the second dollar of one that is to stay, and where it ends;
// end is 0 if none begins there.
func (t *Template) match(at, to int) (hidden bool, name string, end int) {
	if first, length := character(t.text[at:to]); first != '$' {
		return false, "", 0
	} else if at+length < to {
		if second, _ := character(t.text[at+length : to]); second == '$' {
			hidden, at = true, at+length
		}
	}
	for i := range len(opening) {
		if at == to {
			return false, "", 0
		}
		c, length := character(t.text[at:to])
		if c != opening[i] {
			return false, "", 0
		}
		at += length
	}
	begin := at
	for at < to {
		c, length := character(t.text[at:to])
		if c == ')' {
			return hidden, decode(t.text[begin:at]), at + length
		}
		at += length
	}
	return false, "", 0
}

// decode gives what the content of a JSON string stands for.
func decode(content []byte) string {
	if bytes.IndexByte(content, '\\') < 0 {
		return string(content)
	}
	quoted := make([]byte, 0, len(content)+2)
	quoted = append(append(append(quoted, '"'), content...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return string(content)
	}
	return text
}

// Variables tells whether anything is replaced. If not, all runs have the same text.
func (t *Template) Variables() bool { return len(t.uses) > 0 }

// Len is the length of the template in bytes, as it was compiled.
func (t *Template) Len() int { return len(t.text) }

// Expand returns the JSON with the values of one run. Without variables it is the template's own text. It must not be
// modified. With more than limit bytes it is not made: ok is false then, and size what it would have.
func (t *Template) Expand(values *Values, limit int) (text []byte, size int, ok bool) {
	size = len(t.text)
	if len(t.uses) == 0 {
		return t.text, size, size <= limit
	}
	inserted := make([][]byte, len(t.uses))
	for i, u := range t.uses {
		inserted[i] = content(values.of(u.variable))
		size += len(inserted[i]) - int(u.to-u.from)
	}
	if size > limit {
		return nil, size, false
	}
	text = make([]byte, 0, size)
	last := int32(0)
	for i, u := range t.uses {
		text = append(append(text, t.text[last:u.from]...), inserted[i]...)
		last = u.to
	}
	return append(text, t.text[last:]...), size, true
}

// content writes a string as it stands between the quotes of a JSON string.
func content(text string) []byte {
	if text == "" {
		return nil
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be written
	}
	return quoted[1 : len(quoted)-1]
}
