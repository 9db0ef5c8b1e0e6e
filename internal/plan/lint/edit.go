// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// edit replaces text[begin:end].
type edit struct {
	begin, end int
	text       string
}

// page is the text of one document with its nodes.
type page struct {
	text string
	file *file
}

// editOf gives the edit that makes a change; false if it takes a person.
func editOf(text string, c Change) (edit, bool) {
	node := &yaml.Node{}
	if yaml.Unmarshal([]byte(text), node) != nil || len(node.Content) != 1 {
		return edit{}, false
	}
	p := page{text, newFile(text)}
	parent := node.Content[0]
	for _, step := range c.Path[:len(c.Path)-1] {
		if parent = step1(parent, step); parent == nil {
			return edit{}, false
		}
	}
	name, _ := c.Path[len(c.Path)-1].(string)
	key, value := entry(parent, name)
	if parent.Kind != yaml.MappingNode {
		return edit{}, false
	}
	switch {
	case key == nil && c.Rename == "":
		return p.add(parent, name, c)
	case key == nil:
		return edit{}, false
	case c.Rename == "":
		return p.replace(value, c.Value)
	case c.Value == nil:
		return p.replace(key, c.Rename)
	}
	first, ok := p.replace(key, c.Rename)
	second, also := p.replace(value, c.Value)
	if !ok || !also || first.end > second.begin {
		return edit{}, false
	}
	return edit{first.begin, second.end, first.text + text[first.end:second.begin] + second.text}, true
}

// step1 goes one step down; nil through an alias, which stands for other places, too.
func step1(n *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case string:
		n = child(n, step)
	case int:
		if n.Kind != yaml.SequenceNode || step >= len(n.Content) {
			return nil
		}
		n = n.Content[step]
	}
	if n == nil || n.Kind == yaml.AliasNode {
		return nil
	}
	return n
}

// span is where a scalar of one line stands.
func (p page) span(n *yaml.Node) (begin, end int, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || n.Value == "" && n.Style == 0 {
		return 0, 0, false
	}
	begin, ok = p.offset(n)
	if !ok || begin >= len(p.text) {
		return 0, 0, false
	}
	rest, _, _ := strings.Cut(p.text[begin:], "\n")
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0 && rest[0] == '"':
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return begin, begin + i + 1, true
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0 && rest[0] == '\'':
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			return begin, begin + i + 1, true
		}
	case n.Style == 0 && strings.HasPrefix(rest, n.Value):
		return begin, begin + len(n.Value), true
	}
	return 0, 0, false
}

// offset is where a node begins in the text; false if that cannot be told.
func (p page) offset(n *yaml.Node) (int, bool) {
	if n.Line < 1 || n.Column < 1 || n.Line > len(p.file.lines) {
		return 0, false
	}
	offset := p.file.lines[n.Line-1]
	for range n.Column - 1 { // columns count characters
		if offset >= len(p.text) || p.text[offset] == '\n' {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(p.text[offset:])
		offset += size
	}
	return offset, true
}

// replace writes another value in place of a scalar, in its style.
func (p page) replace(n *yaml.Node, value any) (edit, bool) {
	begin, end, ok := p.span(n)
	if !ok {
		return edit{}, false
	}
	text, ok := written(value, n.Style)
	return edit{begin, end, text}, ok
}

// add writes a new field into a mapping.
func (p page) add(parent *yaml.Node, name string, c Change) (edit, bool) {
	if len(parent.Content) == 0 {
		return edit{}, false
	}
	first := parent.Content[0]
	keyStyle := first.Style & yaml.DoubleQuotedStyle // as in JSON
	key, ok := written(name, keyStyle)
	if !ok {
		return edit{}, false
	}
	value, ok := written(c.Value, keyStyle)
	if !ok {
		return edit{}, false
	}
	field := key + ": " + value
	flow := parent.Style&yaml.FlowStyle != 0
	sibling := p.sibling(parent, c.After)
	if sibling == nil {
		begin, ok := p.offset(first)
		if flow {
			return edit{begin, begin, field + ", "}, ok
		}
		return edit{begin, begin, field + p.newline() + strings.Repeat(" ", first.Column-1)}, ok
	}
	_, end, ok := p.span(sibling)
	if !ok {
		return edit{}, false
	}
	if flow {
		return edit{end, end, ", " + field}, true
	}
	if i := strings.IndexAny(p.text[end:], "\r\n"); i >= 0 { // a comment on its line stays there
		end += i
	} else {
		end = len(p.text)
	}
	return edit{end, end, p.newline() + strings.Repeat(" ", first.Column-1) + field}, true
}

// sibling is the value after which a new field is written: that of after if it is on one line, or else the last one of
// all that are; nil if there is none.
func (p page) sibling(parent *yaml.Node, after string) *yaml.Node {
	var last *yaml.Node
	for i := 0; i+1 < len(parent.Content); i += 2 {
		key, value := parent.Content[i], parent.Content[i+1]
		if _, _, ok := p.span(value); !ok || key.Line != value.Line {
			continue
		}
		last = value
		if key.Value == after {
			return value
		}
	}
	return last
}

func (p page) newline() string {
	if strings.Contains(p.text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// written is a value in YAML, in a style if it can be written so.
func written(value any, style yaml.Style) (string, bool) {
	if text, ok := value.(string); ok {
		switch {
		case style&yaml.DoubleQuotedStyle != 0:
			quoted, err := json.Marshal(text)
			return string(quoted), err == nil
		case style&yaml.SingleQuotedStyle != 0 && !strings.ContainsAny(text, "'\n"):
			return "'" + text + "'", true
		}
	}
	out, err := yaml.Marshal(value)
	text := strings.TrimSuffix(string(out), "\n")
	return text, err == nil && !strings.Contains(text, "\n")
}
