// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest writes objects as YAML, shows how one differs from another, and reads what a viewer has typed, each
// within bounds. YAML is indented by each level, so that what is nested n deep becomes as large as n²: nothing else
// bounds what a small object of the API server makes of a page.
package manifest

import (
	"errors"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// The bounds.
const (
	// Deepest is how many maps and lists may lie within each other, and Largest how many bytes YAML may have.
	Deepest = 100
	Largest = 512 << 10
	// mostLines bounds what is compared: that takes as many steps as both texts have lines, squared.
	mostLines = 5000
)

// The errors. Each says in words for the viewer what goes beyond a bound.
var (
	ErrDeep  = fmt.Errorf("it is nested more than %d levels deep", Deepest)
	ErrLarge = fmt.Errorf("it has more than %d KiB as YAML", Largest>>10)
	ErrLong  = errors.New("it has more lines than can be compared here")
)

// Bounded tells whether something is too deep or too large to be written: ErrDeep, ErrLarge or nil. It is made of what
// JSON has: maps, lists, texts, numbers.
func Bounded(value any) error {
	left := Largest
	return measure(value, 0, 0, &left)
}

// measure takes from left at least what a value has at this indentation without quotes and escapes.
func measure(value any, depth, indentation int, left *int) error {
	if depth > Deepest {
		return ErrDeep
	}
	switch v := value.(type) {
	case map[string]any:
		for key, inside := range v {
			*left -= indentation + len(key) + len(":\n")
			deeper := indentation
			if _, ok := inside.(map[string]any); ok {
				deeper += 2
			}
			if err := measure(inside, depth+1, deeper, left); err != nil {
				return err
			}
		}
	case []any:
		for _, inside := range v {
			if _, nested := inside.(map[string]any); !nested { // the keys of a map bring their own indentation
				*left -= len("- ")
			}
			if err := measure(inside, depth+1, indentation+2, left); err != nil {
				return err
			}
		}
	case string:
		*left -= len(v)
		if lines := strings.Count(strings.TrimRight(v, "\n"), "\n"); lines > 0 {
			*left -= lines * indentation
		}
	default:
		*left--
	}
	if *left < 0 {
		return ErrLarge
	}
	return nil
}

// Text is an object as YAML. The error is ErrDeep, ErrLarge, or says why it is none.
func Text(object map[string]any) (string, error) {
	if err := Bounded(object); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("it cannot be written as YAML: %w", err)
	}
	if len(text) > Largest {
		return "", ErrLarge
	}
	return string(text), nil
}

// Comparable tells whether an object is small enough to be compared with another one: the error is one of Text, or
// ErrLong.
func Comparable(object map[string]any) error {
	_, err := compared(object)
	return err
}

func compared(object map[string]any) (string, error) {
	text, err := Text(object)
	if err == nil && strings.Count(text, "\n") > mostLines {
		return "", ErrLong
	}
	return text, err
}

// Diff is a unified difference of two objects, "" if they are the same. The error is one of Comparable.
func Diff(name string, before, after map[string]any) (string, error) {
	was, err := compared(before)
	if err != nil {
		return "", err
	}
	is, err := compared(after)
	if err != nil {
		return "", err
	}
	return lint.Diff(name, was, is), nil
}

// JSON reads YAML that somebody has typed, and gives it as JSON. A key that is there twice is an error. Its aliases are
// followed only as far as all of it stays within the bounds.
func JSON(text string) ([]byte, error) {
	if len(text) > Largest {
		return nil, fmt.Errorf("it has %d KiB; %d are the most that can be edited here", len(text)>>10, Largest>>10)
	}
	var node yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &node); err == nil { // what is no YAML is told below
		left := Largest
		if err := expand(&node, 0, &left); err != nil {
			return nil, err
		}
	}
	return yaml.YAMLToJSONStrict([]byte(text))
}

// expand takes from left what a node has when its aliases are followed.
func expand(n *yamlv3.Node, depth int, left *int) error {
	if n.Kind == yamlv3.DocumentNode {
		depth-- // it is no level
	}
	if depth > Deepest {
		return ErrDeep
	}
	if *left -= 1 + len(n.Value); *left < 0 {
		return ErrLarge
	}
	if n.Kind == yamlv3.AliasNode {
		return expand(n.Alias, depth, left)
	}
	for _, inside := range n.Content {
		if err := expand(inside, depth+1, left); err != nil {
			return err
		}
	}
	return nil
}
