// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"pgregory.net/rapid"
)

// drawExpression is any expression over the object of TestEvaluationIsCEL, most of which make sense.
func drawExpression(depth int) *rapid.Generator[string] {
	leaves := rapid.SampledFrom([]string{"object.i", "object.f", "object.s", "object.t", "object.l", "object.n", "object.m", "object.m.a", "object.missing", "object.l[0]", "object.l[9]",
		"has(object.m.a)", "has(object.m.x.y)", "1", "2.5", "'a'", "'a,b'", "''", "true", "false", "null", "[]", "[1, 2]", "{'a': 1}", "object.m['a']", "object.m[object.s]"})
	if depth == 0 {
		return leaves
	}
	forms := rapid.SampledFrom([]string{"(@ == @)", "(@ != @)", "(@ < @)", "(@ + @)", "(@ - @)", "(@ / @)", "(@ % @)", "(@ && @)", "(@ || @)", "!@", "-@", "(@ ? @ : @)", "(@ in @)", "[@, @]", "{'k': @}",
		"@.size()", "size(@)", "@.contains(@)", "@.startsWith(@)", "@.matches('^a+')", "@.matches(@)", "string(@)", "int(@)", "double(@)", "type(@)", "dyn(@)", "timestamp(@)", "duration(@)",
		"@.split(',')", "@.join('-')", "@.replace(@, @)", "@.upperAscii()", "@.substring(1)", "@.indexOf(@)", "@.lastIndexOf(@)", "@.trim()", "@.reverse()", "@.charAt(0)", "'%s-%d'.format([@, @])",
		"@.sort()", "@.distinct()", "@.flatten()", "@.slice(0, 1)", "lists.range(@)", "@.sortBy(x, x)", "@.map(x, @)", "@.filter(x, x == @)", "@.all(x, x == @)", "@.exists(x, x > @)", "@.exists_one(x, x == @)",
		"@.map(x, x + @)", "@[@]", "@.a", "has(@.a)", "strings.quote(@)"})
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
			return leaves.Draw(t, "leaf is")
		}
		parts := strings.Split(forms.Draw(t, "form"), "@")
		expression := parts[0]
		for _, part := range parts[1:] {
			expression += drawExpression(depth-1).Draw(t, "part") + part
		}
		return expression
	})
}

// An evaluation gives what CEL's own does, but for what it costs.
func TestEvaluationIsCEL(t *testing.T) {
	object := map[string]any{"i": int64(3), "f": 1.5, "s": "a", "t": "2026-05-04T12:10:00Z", "l": []any{int64(3), int64(1), int64(2), int64(3)}, "n": nil,
		"m": map[string]any{"a": "aa", "b": []any{"x", "y"}}}
	read, gave := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		expression := drawExpression(3).Draw(t, "expression")
		compiled, issues := environment().Compile(expression)
		if issues.Err() != nil {
			return
		}
		read++
		ours, oursErr := plan()(compiled.NativeRep())
		theirs, err := environment().Program(compiled, cel.EvalOptions(cel.OptOptimize))
		if oursErr != nil || err != nil { // such as int('a'), which is computed at once
			if oursErr == nil || err == nil {
				t.Fatalf("%s: %v, want %v", expression, oursErr, err)
			}
			return
		}
		got := evaluate(ours, object)
		want, _, err := theirs.Eval(map[string]any{"object": object})
		problem, isErr := got.(*types.Err)
		switch {
		case isErr && errors.Is(problem, ErrTooExpensive):
			return
		case isErr != (err != nil):
			t.Fatalf("%s: %v, want %v, %v", expression, got, want, err)
		case isErr && strings.HasPrefix(problem.Error(), "no such key: ") != strings.HasPrefix(err.Error(), "no such key: "):
			t.Fatalf("%s: %v, want %v", expression, problem, err)
		case !isErr && (types.Equal(got, want) != types.True && fmt.Sprint(got) != fmt.Sprint(want) || got.Type() != want.Type()):
			t.Fatalf("%s: %v, want %v", expression, got, want)
		case !isErr:
			gave++
		}
	})
	if read < 20 || gave < 10 {
		t.Errorf("only %d expressions were read, and %d gave something", read, gave)
	}
}

// A step costs something wherever it stands, so that no expression goes on for ever.
func TestEverythingCosts(t *testing.T) {
	for _, expression := range []string{"object", "object.a", "has(object.a)", "[object]", "{'a': object}", "object == 1", "size(object)", "object ? 1 : 2", "[1].all(x, true)", "object || true", "-object.a"} {
		compiled, issues := environment().Compile(expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := plan()(compiled.NativeRep())
		if err != nil {
			t.Fatal(err)
		}
		e := &evaluation{object: map[string]any{"a": int64(1)}, left: costLimit}
		program.Eval(e)
		if spent := costLimit - e.left; spent < 1 || spent > 50 {
			t.Errorf("%s costs %v", expression, spent)
		}
	}
}
