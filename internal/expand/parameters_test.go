// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/expand"
)

// A default must match its pattern as a whole, as the schema asks, too (V23).
func TestCompileParameters(t *testing.T) {
	for sentence, c := range map[string]struct {
		parameter expand.Parameter
		says      string // "" is accepted
	}{
		"a word":                                 {expand.Parameter{Name: "mode", Default: "full"}, ""},
		"nothing":                                {expand.Parameter{Name: "mode"}, ""},
		"what the default admits":                {expand.Parameter{Name: "mode", Default: "az09._:/@=,+-"}, ""},
		"the default written out":                {expand.Parameter{Name: "mode", Default: "a", Pattern: expand.DefaultPattern}, ""},
		"a pattern of its own":                   {expand.Parameter{Name: "table", Default: "orders", Pattern: "^[a-z_]{1,40}$"}, ""},
		"alternatives":                           {expand.Parameter{Name: "region", Default: "west", Pattern: "east|west"}, ""},
		"a blank (VV-67)":                        {expand.Parameter{Name: "mode", Default: "a b"}, `parameter mode: the default "a b" does not match the pattern ^[A-Za-z0-9._:/@=,+-]*$ as a whole`},
		"a part that matches (VV-86)":            {expand.Parameter{Name: "mode", Default: "a; b", Pattern: "[a-z]"}, `the default "a; b" does not match the pattern [a-z] as a whole`},
		"a line that matches":                    {expand.Parameter{Name: "mode", Default: "a\nb;", Pattern: "(?m)^a$"}, "does not match"},
		"a line break at the end":                {expand.Parameter{Name: "mode", Default: "a\n", Pattern: "^a$"}, "does not match"},
		"an alternative's beginning":             {expand.Parameter{Name: "mode", Default: "westwards", Pattern: "east|west"}, "does not match"},
		"no pattern (VV-68)":                     {expand.Parameter{Name: "mode", Default: "a", Pattern: "("}, "parameter mode: the pattern ( cannot be read: error parsing regexp: missing closing )"},
		"a pattern between others":               {expand.Parameter{Name: "mode", Default: "ab", Pattern: "a)(?:b"}, "cannot be read"},
		"a look-ahead":                           {expand.Parameter{Name: "mode", Default: "ab", Pattern: "(?=a)"}, "cannot be read"},
		"one that others take long for (TT-209)": {expand.Parameter{Name: "mode", Default: strings.Repeat("a", 250) + "!", Pattern: "(a+)+$"}, "does not match"},
	} {
		p, err := expand.CompileParameters([]expand.Parameter{c.parameter})
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", sentence, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v", sentence, err)
		case c.says == "" && !slices.Equal(p.Names(), []string{c.parameter.Name}):
			t.Errorf("%s: %v", sentence, p.Names())
		}
	}
	if _, err := expand.CompileParameters([]expand.Parameter{{Name: "a"}, {Name: "a"}}); err == nil || err.Error() != "parameter a is declared twice" {
		t.Error(err)
	}
}

// A run has the defaults but for the values that it gives itself, which must be declared and match.
func TestParameterValues(t *testing.T) {
	p, err := expand.CompileParameters([]expand.Parameter{{Name: "mode", Default: "part"}, {Name: "region", Default: "all", Pattern: "^(all|east|west)$"}})
	if err != nil {
		t.Fatal(err)
	}
	for sentence, c := range map[string]struct {
		given, want map[string]string
		says        string
	}{
		"none":             {nil, map[string]string{"mode": "part", "region": "all"}, ""},
		"one":              {map[string]string{"mode": "full"}, map[string]string{"mode": "full", "region": "all"}, ""},
		"both":             {map[string]string{"mode": "", "region": "west"}, map[string]string{"mode": "", "region": "west"}, ""},
		"not declared":     {map[string]string{"mod": "full"}, nil, "there is no parameter mod; spec.parameters declares mode, region"},
		"a blank":          {map[string]string{"mode": "a b"}, nil, `parameter mode: the value "a b" does not match the pattern ^[A-Za-z0-9._:/@=,+-]*$ as a whole`},
		"another command":  {map[string]string{"mode": "x; rm -rf /"}, nil, "does not match"},
		"no alternative":   {map[string]string{"region": "north"}, nil, `the value "north" does not match the pattern ^(all|east|west)$ as a whole`},
		"more than a part": {map[string]string{"region": "east|west"}, nil, "does not match"},
	} {
		got, err := p.Values(c.given)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", sentence, got, err)
		}
	}
	none, err := expand.CompileParameters(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Values(map[string]string{"a": ""}); err == nil || err.Error() != "there is no parameter a; spec.parameters declares none" {
		t.Error(err)
	}
}

// A value of the default pattern is one word of a shell, whatever it holds.
func TestDefaultPatternIsSafe(t *testing.T) {
	p, err := expand.CompileParameters([]expand.Parameter{{Name: "mode"}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.SampledFrom([]rune("aZ9._:/@=,+-"+" \t\n'\"$;`&|<>(){}*?~#!\\é"))).Draw(t, "value")
		_, err := p.Values(map[string]string{"mode": value})
		if special := strings.ContainsAny(value, " \t\n'\"$;`&|<>(){}*?~#!\\é"); special != (err != nil) {
			t.Fatalf("%q: %v", value, err)
		}
	})
}

// A pattern of a hundred characters can have a hundred thousand states, and a Timetable 32 of them: they are not kept.
func TestPatternsAreNotKept(t *testing.T) {
	heap := func() uint64 {
		var stats runtime.MemStats
		for range 3 { // what package regexp keeps in pools goes with the second one
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	p, err := expand.CompileParameters([]expand.Parameter{{Name: "mode", Default: "", Pattern: "(?:" + strings.Repeat("a", 100) + "){0,200}"}})
	if err != nil {
		t.Fatal(err)
	}
	if kept := int64(heap()) - int64(before); kept > 256<<10 {
		t.Errorf("%d bytes are kept", kept)
	}
	if _, err := p.Values(map[string]string{"mode": "a"}); err == nil {
		t.Error("a value that does not match was taken")
	}
}
