// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand_test

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/expand"
)

// mentioned is a variable, hidden by a dollar or not.
var mentioned = regexp.MustCompile(`\$?\$\(carillon\.([^)]*)\)`)

// naive expands a decoded JSON value string by string. known tells the value of a name.
func naive(value any, known map[string]string) (result any, ok bool) {
	switch v := value.(type) {
	case string:
		ok = true
		return mentioned.ReplaceAllStringFunc(v, func(text string) string {
			if strings.HasPrefix(text, "$$") {
				return text[1:]
			}
			value, is := known[strings.TrimSuffix(strings.TrimPrefix(text, "$(carillon."), ")")]
			ok = ok && is
			return value
		}), ok
	case []any:
		items := make([]any, len(v))
		for i := range v {
			if items[i], ok = naive(v[i], known); !ok {
				return nil, false
			}
		}
		return items, true
	case map[string]any:
		members := make(map[string]any, len(v))
		for key := range v {
			if members[key], ok = naive(v[key], known); !ok {
				return nil, false
			}
		}
		return members, true
	}
	return value, true
}

// names are all names that there are, with what they stand for in values.
func allNames(values *expand.Values) map[string]string {
	all := map[string]string{
		"schedules": strings.Join(values.Schedules, ","), "schedule": append(values.Schedules, "")[0],
		"run": values.Run, "trigger": values.Trigger, "timetable": values.Timetable, "namespace": values.Namespace, "attempt": "2",
		"scheduledTime": "2026-05-04T14:10:00+02:00", "scheduledTime.unix": "1777896600", "nextTime.date": "",
		"parameters.mode": values.Parameters["mode"], "parameters.empty": values.Parameters["empty"],
	}
	return all
}

// drawText is made of what variables are made of, and of what JSON writes in more than one way.
func drawText() *rapid.Generator[string] {
	pieces := []string{"$", "$$", "(", ")", "carillon.", "$(carillon.", "$$(carillon.", "\"", "\\", "\n", "\u00e9", "\U0001F514", "\u2028", "<", "x", " ", "\x00",
		"run)", "$(carillon.run)", "$(carillon.scheduledTime)", "$(carillon.scheduledTime.unix)", "$(carillon.nextTime.date)", "$(carillon.schedules)",
		"$(carillon.parameters.mode)", "$(carillon.parameters.empty)", "$(carillon.attempt)", "$(carillon.nope)", "$(HOME)", "$$(carillon.run)"}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "pieces"), "")
	})
}

func drawJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		choices := 4
		if depth > 0 {
			choices = 6
		}
		switch rapid.IntRange(0, choices-1).Draw(t, "type") {
		case 0, 1:
			return drawText().Draw(t, "text")
		case 2:
			return float64(rapid.IntRange(-5, 5).Draw(t, "number"))
		case 3:
			return rapid.SampledFrom([]any{true, false, nil}).Draw(t, "word")
		case 4:
			return append([]any{}, rapid.SliceOfN(drawJSON(depth-1), 0, 4).Draw(t, "items")...)
		}
		return rapid.MapOfN(drawText(), drawJSON(depth-1), 0, 4).Draw(t, "members")
	})
}

// escaped writes JSON with some characters of its strings in the form \u0024.
func escaped(t *rapid.T, text []byte) []byte {
	var out strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
			out.WriteByte(c)
		case c == '\\':
			length := 2
			if text[i+1] == 'u' {
				length = 6
			}
			out.Write(text[i : i+length])
			i += length - 1
		case inString && c < 0x80 && rapid.IntRange(0, 3).Draw(t, "escape") == 0:
			out.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		default:
			out.WriteByte(c)
		}
	}
	return []byte(out.String())
}

// Whatever the JSON and however it is written, the result is what replacing string by string gives.
func TestAgainstNaive(t *testing.T) {
	known := allNames(&tick)
	rapid.Check(t, func(t *rapid.T) {
		value := drawJSON(3).Draw(t, "value")
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped") {
			text = escaped(t, text)
		}
		before := string(text)
		want, ok := naive(value, known)
		template, err := expand.Compile("spec", text, parameters)
		if ok != (err == nil) {
			t.Fatalf("%s: %v", text, err)
		}
		if err != nil {
			return
		}
		out, size, fits := template.Expand(&tick, math.MaxInt)
		if !fits || size != len(out) {
			t.Fatalf("size %d, %t", size, fits)
		}
		var got any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s gives %s: %v", text, out, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s gives %s, want %v", text, out, want)
		}
		if string(text) != before {
			t.Fatalf("the template was changed: %s", text)
		}
	})
}

// FuzzExpand: any JSON in, JSON of the same structure out.
func FuzzExpand(f *testing.F) {
	for _, text := range []string{`{"a":["$(carillon.run)",1,null]}`, `"$$(carillon.x)"`, `"\u0024(carillon.run)"`, `"\ud83d$(carillon.nextTime)\ude00"`,
		` [ "\\" , { } ] `, `"$(carillon."`, "\"\xff$(carillon.attempt)\"", `{"$(carillon.x)":1e9}`} {
		f.Add(text, "v")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		template, err := expand.Compile("spec", []byte(text), []string{"mode"})
		if err != nil {
			return
		}
		values := tick
		values.Parameters = map[string]string{"mode": value}
		out, _, _ := template.Expand(&values, math.MaxInt)
		var before, after any
		if err := json.Unmarshal([]byte(text), &before); err != nil {
			t.Fatalf("%s was taken: %v", text, err)
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q gives %q: %v", text, out, err)
		}
		if !sameShape(before, after) {
			t.Fatalf("%q gives %q", text, out)
		}
	})
}

// sameShape tells whether two JSON values differ in nothing but the text of strings that hold a variable.
func sameShape(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && (a == b || strings.Contains(a, "$(carillon."))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameShape(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			if _, there := b[key]; !there || !sameShape(a[key], b[key]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}
