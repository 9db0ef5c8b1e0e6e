// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/ui/manifest"
)

// nested is maps within each other.
func nested(depth int) map[string]any {
	inner := map[string]any{"a": "b"}
	for range depth - 1 {
		inner = map[string]any{"a": inner}
	}
	return inner
}

// wide is a list of maps at some depth.
func wide(depth, items int) map[string]any {
	var list []any
	for n := range items {
		list = append(list, map[string]any{"name": fmt.Sprint("n", n), "text": "one\ntwo\n"})
	}
	outer := map[string]any{"list": list}
	for range depth {
		outer = map[string]any{"a": outer}
	}
	return outer
}

func TestText(t *testing.T) {
	for name, test := range map[string]struct {
		object map[string]any
		want   error
	}{
		"nothing":           {nil, nil},
		"as deep as it may": {nested(manifest.Deepest), nil},
		"deeper":            {nested(manifest.Deepest + 1), manifest.ErrDeep},
		"much deeper":       {nested(4500), manifest.ErrDeep},
		"large":             {wide(1, 10_000), nil},
		"larger":            {wide(1, 20_000), manifest.ErrLarge},
		"by indentation":    {wide(90, 5_000), manifest.ErrLarge},
		"a long text":       {map[string]any{"a": strings.Repeat("a", manifest.Largest)}, manifest.ErrLarge},
		"by its escapes":    {map[string]any{"a": strings.Repeat("\x01", manifest.Largest/2)}, manifest.ErrLarge},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := manifest.Text(test.object)
			if !errors.Is(err, test.want) || len(text) > manifest.Largest {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
			if want, _ := yaml.Marshal(test.object); err == nil && text != string(want) {
				t.Errorf("got\n%s", text)
			}
		})
	}
}

// What is refused before it is written would be too large: what fits is never refused.
func TestBoundedIsNoMore(t *testing.T) {
	for depth := 0; depth < 80; depth += 26 {
		for items := 1500; items < 24_000; items *= 2 {
			object := wide(depth, items)
			if text, _ := yaml.Marshal(object); len(text) <= manifest.Largest && manifest.Bounded(object) != nil {
				t.Fatalf("%d items %d deep are %d bytes, and are refused", items, depth, len(text))
			}
		}
	}
}

func TestDiff(t *testing.T) {
	if text, err := manifest.Diff("x", nested(2), nested(2)); text != "" || err != nil {
		t.Error(text, err)
	}
	if text, err := manifest.Diff("x", nested(1), map[string]any{"a": "c"}); !strings.Contains(text, "-a: b\n+a: c\n") || err != nil {
		t.Error(text, err)
	}
	if _, err := manifest.Diff("x", nested(2), nested(200)); !errors.Is(err, manifest.ErrDeep) {
		t.Error(err)
	}
	if _, err := manifest.Diff("x", nested(2), wide(0, 4000)); !errors.Is(err, manifest.ErrLong) {
		t.Error(err)
	}
}

func TestJSON(t *testing.T) {
	bomb := "x: &x " + strings.Repeat("a", 50_000) + "\nlist: [" + strings.Repeat("*x, ", 5000) + "]\n"
	for name, test := range map[string]struct {
		text, want, fault string
	}{
		"a map":               {"a: {b: 1}", `{"a":{"b":1}}`, ""},
		"an alias":            {"a: &x [1]\nb: *x", `{"a":[1],"b":[1]}`, ""},
		"as deep as it may":   {strings.Repeat("{a: ", 100) + "1" + strings.Repeat("}", 100), strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), ""},
		"deeper":              {strings.Repeat("{a: ", 101) + "1" + strings.Repeat("}", 101), "", "100 levels"},
		"much deeper":         {strings.Repeat("{a: ", 9000) + "1" + strings.Repeat("}", 9000), "", "100 levels"},
		"large by aliases":    {bomb, "", "512 KiB"},
		"too long":            {strings.Repeat("# remark\n", 100_000), "", "512 are the most"},
		"a key that is twice": {"a: 1\na: 2", "", "already set in map"},
		"no YAML":             {"a: [", "", "did not find"},
		"an alias to itself":  {"a: &x [*x]", "", "100 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := manifest.JSON(test.text)
			if string(got) != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("got %.200s, %v", got, err)
			}
		})
	}
}
