// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/document"
)

// clone copies a node and all below it. Aliases and merges (<<) become what they stand for; ok is false if one stands
// for what it is in.
func clone(node *yaml.Node) (copied *yaml.Node, ok bool) {
	return cloneWithin(node, map[*yaml.Node]bool{})
}

func cloneWithin(node *yaml.Node, around map[*yaml.Node]bool) (*yaml.Node, bool) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if around[node] {
		return nil, false
	}
	around[node] = true
	defer delete(around, node)
	copied := *node
	copied.Anchor = ""
	copied.Content = nil
	for _, child := range node.Content {
		child, ok := cloneWithin(child, around)
		if !ok {
			return nil, false
		}
		copied.Content = append(copied.Content, child)
	}
	merge(&copied)
	return &copied, true
}

// merge puts the fields of what is merged into a mapping in the place of the merge. The mapping's own fields win, then
// those of what is merged first.
func merge(mapping *yaml.Node) {
	isMerge := func(key *yaml.Node) bool { return key.Tag == "!!merge" }
	if mapping.Kind != yaml.MappingNode || !slices.ContainsFunc(mapping.Content, isMerge) {
		return
	}
	has := map[string]bool{}
	for n := 0; n+1 < len(mapping.Content); n += 2 {
		has[mapping.Content[n].Value] = true
	}
	var all []*yaml.Node
	for n := 0; n+1 < len(mapping.Content); n += 2 {
		key, content := mapping.Content[n], mapping.Content[n+1]
		if !isMerge(key) {
			all = append(all, key, content)
			continue
		}
		sources := []*yaml.Node{content}
		if content.Kind == yaml.SequenceNode {
			sources = content.Content
		}
		for _, source := range sources {
			for m := 0; source.Kind == yaml.MappingNode && m+1 < len(source.Content); m += 2 {
				if name := source.Content[m].Value; !has[name] {
					has[name] = true
					all = append(all, source.Content[m], source.Content[m+1])
				}
			}
		}
	}
	mapping.Content = all
}

// index is where the key of a field stands in a mapping, -1 if it is not there.
func index(mapping *yaml.Node, name string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for n := 0; n+1 < len(mapping.Content); n += 2 {
		if mapping.Content[n].Value == name {
			return n
		}
	}
	return -1
}

// value is that of a field; nil if it is not there, or null.
func value(mapping *yaml.Node, name string) *yaml.Node {
	n := index(mapping, name)
	if n < 0 || mapping.Content[n+1].Tag == "!!null" {
		return nil
	}
	return mapping.Content[n+1]
}

// textOf is the text of a field, "" if it has none.
func textOf(mapping *yaml.Node, name string) string {
	if node := value(mapping, name); node != nil && node.Kind == yaml.ScalarNode {
		return node.Value
	}
	return ""
}

func nameOf(object *yaml.Node) string {
	metadata := value(object, "metadata")
	if name := textOf(metadata, "name"); name != "" {
		return name
	}
	return textOf(metadata, "generateName")
}

// fields are those of a mapping that are not used up yet.
type fields struct {
	path    string
	mapping *yaml.Node
}

// take removes a field and gives its key and value; nil if it is not there, or null.
func (f *fields) take(name string) (key, content *yaml.Node) {
	n := index(f.mapping, name)
	if n < 0 {
		return nil, nil
	}
	key, content = f.mapping.Content[n], f.mapping.Content[n+1]
	f.mapping.Content = append(f.mapping.Content[:n:n], f.mapping.Content[n+2:]...)
	if content.Tag == "!!null" {
		return nil, nil
	}
	return key, content
}

// number takes a whole number; ok is false if it is not there.
func (f *fields) number(name string) (key *yaml.Node, n int64, ok bool, err error) {
	key, content := f.take(name)
	if key == nil {
		return nil, 0, false, nil
	}
	if n, err = strconv.ParseInt(content.Value, 0, 64); err != nil || content.Kind != yaml.ScalarNode {
		return nil, 0, false, fmt.Errorf("%s.%s: %q is no whole number", f.path, name, content.Value)
	}
	return withComments(key, content), n, true, nil
}

// text takes a text; "" if it is not there.
func (f *fields) text(name string) (key *yaml.Node, text string) {
	key, content := f.take(name)
	if key == nil {
		return nil, ""
	}
	return withComments(key, content), content.Value
}

// withComments is a key that has the comments of its value, too, because that value will not be written.
func withComments(key, content *yaml.Node) *yaml.Node {
	if key.LineComment == "" {
		key.LineComment = content.LineComment
	}
	return key
}

// left names a field that nobody took; "" if there is none.
func (f *fields) left() string {
	if f.mapping == nil || len(f.mapping.Content) == 0 {
		return ""
	}
	return f.path + "." + f.mapping.Content[0].Value
}

// A builder makes a mapping.
type builder struct{ mapping *yaml.Node }

func newBuilder() builder { return builder{document.Map()} }

// put adds a field. from, which may be nil, is the key of the field that it comes from; its comments stay.
func (b builder) put(from *yaml.Node, name string, content any) {
	node := document.Value(content)
	key := document.Value(name)
	if from != nil {
		key.HeadComment, key.FootComment = from.HeadComment, from.FootComment
		switch {
		case from.LineComment == "":
		case node.Kind == yaml.ScalarNode || node.Style&yaml.FlowStyle != 0:
			node.LineComment = from.LineComment
		default:
			key.LineComment = from.LineComment
		}
	}
	b.mapping.Content = append(b.mapping.Content, key, node)
}
