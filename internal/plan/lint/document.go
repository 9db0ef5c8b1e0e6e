// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// documents are the texts of files, each cut into lines once.
type documents struct {
	texts map[string]string
	files map[string]*file
	roots map[place]*yaml.Node
}

type place struct {
	file string
	line int
}

// file is a text and where its lines begin.
type file struct {
	text  string
	lines []int // the offset of each line
	// suppresses: somewhere in it stands a comment that suppresses something.
	suppresses bool
}

func newDocuments(texts map[string]string) *documents {
	return &documents{texts: texts, files: map[string]*file{}, roots: map[place]*yaml.Node{}}
}

func newFile(text string) *file {
	f := &file{text: text, lines: []int{0}, suppresses: strings.Contains(text, "carillon-lint")}
	for i := range len(text) {
		if text[i] == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// line is the text of a line, which counts from 1, without its end.
func (f *file) line(number int) string {
	if number < 1 || number > len(f.lines) {
		return ""
	}
	end := len(f.text)
	if number < len(f.lines) {
		end = f.lines[number] - 1
	}
	return strings.TrimSuffix(f.text[f.lines[number-1]:end], "\r")
}

// document is where an object stands in the text of a file. Nil is a text that is not known.
type document struct {
	file *file
	// first is the line on which the document begins, and root what is in it: a mapping.
	first int
	root  *yaml.Node
	// prefix is the path of the object in the document: that of an item of a List, else empty.
	prefix Path
}

// of finds the text of an object; nil if that is not known, or is another one than what was read.
func (d *documents) of(o workload.Object) *document {
	text, known := d.texts[o.File]
	if !known || o.Line < 1 {
		return nil
	}
	f := d.files[o.File]
	if f == nil {
		f = newFile(text)
		d.files[o.File] = f
	}
	if o.Line > len(f.lines) {
		return nil
	}
	at := place{o.File, o.Line}
	root, parsed := d.roots[at]
	if !parsed {
		node := &yaml.Node{}
		if yaml.Unmarshal([]byte(text[f.lines[o.Line-1]:f.offset(f.end(o.Line))]), node) == nil && len(node.Content) == 1 {
			root = node.Content[0]
		}
		d.roots[at] = root
	}
	root, prefix := objectIn(root, o)
	if root == nil || root.Kind != yaml.MappingNode {
		return nil
	}
	return &document{file: f, first: o.Line, root: root, prefix: prefix}
}

// objectIn is the object of that kind and name, the document or an item of the List that it is, and its path.
func objectIn(root *yaml.Node, o workload.Object) (*yaml.Node, Path) {
	if root == nil {
		return nil, nil
	}
	same := func(n *yaml.Node) bool {
		return scalar(n, "kind") == o.Content.GetKind() &&
			scalar(child(n, "metadata"), "name") == o.Content.GetName() && scalar(child(n, "metadata"), "namespace") == o.Content.GetNamespace()
	}
	if same(root) {
		return root, nil
	}
	items := resolve(child(root, "items"))
	if items == nil || items.Kind != yaml.SequenceNode {
		return nil, nil
	}
	for i, item := range items.Content {
		if item = resolve(item); same(item) {
			return item, at("items", i)
		}
	}
	return nil, nil
}

func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// entry is the key and the value of a field of a mapping; nil if it has none, or gets it from another one (<<).
func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n = resolve(n); n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name && n.Content[i].Kind == yaml.ScalarNode {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

func child(n *yaml.Node, name string) *yaml.Node {
	_, value := entry(n, name)
	return value
}

func scalar(n *yaml.Node, name string) string {
	if value := resolve(child(n, name)); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// point is a line and a column of a file, from 1.
type point struct{ line, column int }

// position is where a field stands, or what is nearest above it if it is missing; false if the text is not known.
func (d *document) position(path Path) (point, bool) {
	if d == nil {
		return point{}, false
	}
	marked, in := d.root, d.root
	for _, step := range path {
		var key *yaml.Node
		switch step := step.(type) {
		case string:
			key, in = entry(in, step)
		case int:
			if in = resolve(in); in != nil && in.Kind == yaml.SequenceNode && step >= 0 && step < len(in.Content) {
				in = in.Content[step]
				key = in
			} else {
				in = nil
			}
		}
		if in == nil {
			break
		}
		marked = key
	}
	return point{d.first + marked.Line - 1, marked.Column}, true
}

// aliased tells whether a path leads through an alias, an anchor or a merge of YAML, so that an edit there would change
// other fields, too.
func (d *document) aliased(path Path) bool {
	in := d.root
	for _, step := range path {
		if in == nil {
			return false
		}
		if in.Kind == yaml.AliasNode || in.Anchor != "" {
			return true
		}
		switch step := step.(type) {
		case string:
			_, below := entry(in, step)
			if _, merged := entry(in, "<<"); below == nil && merged != nil {
				return true
			}
			in = below
		case int:
			if in.Kind != yaml.SequenceNode || step >= len(in.Content) {
				return false
			}
			in = in.Content[step]
		}
	}
	return in != nil && (in.Kind == yaml.AliasNode || in.Anchor != "")
}

// end is the line after the last one of the document that begins on a line.
func (f *file) end(first int) int {
	for number := first; number <= len(f.lines); number++ {
		if separator(f.line(number)) {
			return number
		}
	}
	return len(f.lines) + 1
}

// offset is where a line begins; the end of the text for the line after the last.
func (f *file) offset(line int) int {
	if line > len(f.lines) {
		return len(f.text)
	}
	return f.lines[line-1]
}

// end is the line after the last one of the document.
func (d *document) end() int { return d.file.end(d.first) }

// separator tells whether a line ends a document.
func separator(line string) bool {
	rest, ok := strings.CutPrefix(line, "---")
	rest = strings.TrimSpace(rest)
	return ok && (rest == "" || rest[0] == '#')
}
