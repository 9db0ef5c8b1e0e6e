// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Map makes a mapping of names and values, which alternate, in this order. A value is a string, a number, a bool, a
// []string or a *yaml.Node; a field whose value is nil is left out.
func Map(pairs ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for n := 0; n+1 < len(pairs); n += 2 {
		if value := Value(pairs[n+1]); value != nil {
			node.Content = append(node.Content, Value(pairs[n]), value)
		}
	}
	return node
}

// List makes a sequence, a line for each value.
func List(values ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, value := range values {
		node.Content = append(node.Content, Value(value))
	}
	return node
}

// Flow writes a mapping or a list on one line.
func Flow(node *yaml.Node) *yaml.Node {
	node.Style |= yaml.FlowStyle
	return node
}

// Quoted is a text that is written in quotes although it need not be.
func Quoted(text string) *yaml.Node {
	node := Value(text)
	if !strings.Contains(text, "\n") {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// Value makes a node of a value, as in [Map]; nil for nil.
func Value(value any) *yaml.Node {
	switch value := value.(type) {
	case nil:
		return nil
	case *yaml.Node:
		return value
	case []string:
		if value == nil {
			return nil
		}
		list := List()
		for _, text := range value {
			list.Content = append(list.Content, Value(text))
		}
		return list
	case string:
		return textNode(value)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
}

func textNode(text string) *yaml.Node {
	node := &yaml.Node{}
	if err := node.Encode(text); err != nil { // which no text makes happen
		node = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
	}
	if strings.Contains(text, "\n") && !blockFit(text) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// blockFit tells whether a text of several lines survives as a literal block with any reader: one that begins with
// white space, or has a line that ends with some, is written in quotes.
func blockFit(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line != strings.TrimRight(line, " \t\r") || strings.Trim(line, "\t") == "" && line != "" {
			return false
		}
	}
	return strings.TrimLeft(text, " \t\r\n") == text
}
