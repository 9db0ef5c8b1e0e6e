// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// rewritten is what a JSON object becomes when it is read and written; false if it is none.
func rewritten(text []byte) (string, bool) {
	var object map[string]any
	if json.Unmarshal(text, &object) != nil || object == nil {
		return "", false
	}
	again, err := stdjson.Marshal(object)
	return string(again), err == nil
}

// What counts as canonical would not be changed by reading and writing it; what API servers write mostly counts.
func TestCanonicalObject(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{"a":1,"b":[1,-2,"x",true,false,null,{"c":{}}]}`: true, `{"a":"\"\\\n\r\t\b\f\u003c\u003e\u0026$(x)/~"}`: true, `{"":0}`: true,
		`{"a":{"b":1,"a":2}}`: false, `{"a":1,"a":1}`: false, `{"b":1,"a":1}`: false, `{ }`: false, `{"a": 1}`: false, "{}\n": false, `{"a":1,}`: false, `{,"a":1}`: false,
		`{"a":[1,]}`: false, `{"a":[,1]}`: false, `{"a":"<"}`: false, `{"a":"&"}`: false, `{"a":"\u0041"}`: false, `{"a":"\/"}`: false, `{"a":"\u003C"}`: false,
		`{"a":"ä"}`: false, "{\"a\":\"\xff\"}": false, "{\"a\":\"\u007f\"}": false, "{\"a\":\"\n\"}": false, `{"a":1.5}`: false, `{"a":1e3}`: false, `{"a":-0}`: false, `{"a":01}`: false,
		`{"a":-}`: false, `{"a":9223372036854775807}`: true, `{"a":9223372036854775808}`: false, `{"\\":1}`: false, `{"a":tru}`: false, `{"a"}`: false, `{"a":`: false, `{"a":"x`: false,
		`{"a":"\`: false, `{"a":"\u00`: false, `{`: false, ``: false, `[]`: false, `"a"`: false, `null`: false, `{}{}`: false,
		`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: false,
	} {
		if got := canonicalObject([]byte(text), nil); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if again, readable := rewritten([]byte(text)); want && (!readable || again != text) {
			t.Errorf("%s becomes %s", text, again)
		}
	}
}

// FuzzCanonicalObject: whatever the text.
func FuzzCanonicalObject(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[1,-2,"x\n\u003c",true,false,null,{"c":{}}]}`))
	f.Add([]byte(`{"a":"\`))
	f.Fuzz(func(t *testing.T, text []byte) {
		members := map[string]any{}
		if !canonicalObject(text, func(key, value []byte) {
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Errorf("%s: member %s is %s", text, key, value)
			}
			members[string(key)] = v
		}) {
			return
		}
		if again, readable := rewritten(text); !readable || again != string(text) {
			t.Errorf("%s becomes %s", text, again)
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil || fmt.Sprint(object) != fmt.Sprint(members) {
			t.Errorf("%s has the members %v, %v", text, members, err)
		}
	})
}

// A template says the same, and has the same fingerprint, whether its JSON is canonical or spelled in another way.
func TestTemplatesOfOtherSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{"template": map[string]any{"metadata": rapid.MapOf(rapid.StringMatching(`[a-z]{1,3}`), rapid.String()).Draw(t, "strings")}}
		maps.Copy(object, rapid.MapOf(rapid.StringMatching(`[a-z]{1,3}`), rapid.SampledFrom([]any{int64(1), 1.5, "$(carillon.run)", true, nil, []any{}})).Draw(t, "more"))
		if rapid.Bool().Draw(t, "ttl") {
			object["ttlSecondsAfterFinished"] = rapid.SampledFrom([]any{int64(5), int64(900), "5", 5.5, nil}).Draw(t, "seconds")
		}
		text, err := stdjson.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		spec := &v1alpha1.TimetableSpec{}
		spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"a": "b"}
		spec.Template.Spec.Raw = text
		spelled := spec.DeepCopy()
		spelled.Template.Spec.Raw = append([]byte("{ "), text[1:]...)
		a, inA := ReadTemplate(spec)
		b, inB := ReadTemplate(spelled)
		if inA != nil || inB != nil {
			t.Fatal(inA, inB)
		}
		secondsA, shortA := a.ShortTTL()
		secondsB, shortB := b.ShortTTL()
		if a.Fingerprint() != b.Fingerprint() || secondsA != secondsB || shortA != shortB || a.spec.Variables() != b.spec.Variables() {
			t.Errorf("%s: %s, %s", text, a.Fingerprint(), b.Fingerprint())
		}
	})
}
