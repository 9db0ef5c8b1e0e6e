// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/document"
)

func TestWrite(t *testing.T) {
	one := document.Document{Comments: []string{"a", "", "b\x1b[2J\u2028c"}, Content: document.Map(
		"name", "yes", "left", nil, "number", 5, "on", true, "list", []string{"a", "1e3"}, "flow", document.Flow(document.Map("a", document.Quoted("b"))),
		"block", "x\ny\n", "blanks", "x \ny")}
	got, err := document.Write([]string{"head"}, []document.Document{one, {Content: document.Map("z", document.List(1, "2"))}}, []string{"tail"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# head
---
# a
#
# b\u001b[2J\u2028c
name: "yes"
number: 5
"on": true
list:
  - a
  - "1e3"
flow: {a: "b"}
block: |
  x
  y
blanks: "x \ny"
---
z:
  - 1
  - "2"
# tail
`
	if string(got) != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if text, err := one.JSON(); err != nil || !strings.Contains(string(text), `"name":"yes"`) {
		t.Errorf("%v %s", err, text)
	}
}

// Any text comes back as it was, with the reader of Kubernetes, too, and no comment gets out of its line.
func TestTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \ta-c#:%'"\n\\|>~-]{0,12}`), rapid.SampledFrom([]string{"~", "null", "0x1f", "1:20", "y", "=", "<<", "\u0085", "\ufeffa"})).Draw(t, "text")
		if strings.ContainsRune(text, 0) || strings.ContainsRune(text, '\r') && strings.Contains(text, "\n") {
			return
		}
		written, err := document.Write([]string{text}, []document.Document{{Comments: []string{text}, Content: document.Map("a", text, "b", document.Quoted(text))}}, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		var one, other map[string]any
		if err := yaml.Unmarshal(written, &one); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if err := sigsyaml.Unmarshal(written, &other); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		for _, got := range []any{one["a"], one["b"], other["a"], other["b"]} {
			if got != text {
				t.Fatalf("%q became %q\n%s", text, got, written)
			}
		}
		if len(one) != 2 || len(other) != 2 {
			t.Fatalf("a comment became a field:\n%s", written)
		}
	})
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]int{"": 1, "short": 1, strings.Repeat("word ", 40): 3, strings.Repeat("x", 200) + " y": 2} {
		lines := document.Wrap(text, "  ")
		if len(lines) != want {
			t.Errorf("%q has %d lines, want %d", text, len(lines), want)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > document.Width && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%q is too wide", line)
			}
		}
	}
}

func TestGroup(t *testing.T) {
	notes := []document.Note{
		{File: "f", Line: 1, Object: "a", Text: "x"}, {File: "f", Line: 2, Object: "b", Text: "y"}, {File: "f", Line: 3, Object: "c", Text: "x"},
		{File: "g", Object: "d", Text: "x"}, {File: "f", Line: 4, Object: "e", Text: "x"}, {File: "f", Line: 5, Object: "f", Text: "x"}, {Text: "z\n"},
	}
	var got []string
	for _, note := range document.Group(notes) {
		got = append(got, note.String())
	}
	if want := []string{"f:1: a, c, e and 1 more: x", "f:2: b: y", "g: d: x", `z\u000a`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
