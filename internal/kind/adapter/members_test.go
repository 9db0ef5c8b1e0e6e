// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The members of an object are those that a decoder finds; what is no object has none, whatever it is.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "a" : 1 , "b":{"c":[{},"}",{"d":"\""}]} } `, `{"\u0061":null,"k:{\"name\":\"main\"}":{".":{}}}`, `{"a":-1.5e3,"b":true}`,
		`not JSON`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"`, `{"a":"\`, `[]`, ``, `{"a":}`, `{:1}`, `{"a":]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, again := map[string]any{}, false
		ok := members(data, func(key, value []byte) bool {
			var name string
			var decoded any
			if json.Unmarshal(key, &name) == nil && json.Unmarshal(value, &decoded) == nil {
				_, repeated := got[name]
				again = again || repeated
				got[name] = decoded
			}
			if !isKey(key, name) && json.Valid(key) && utf8.Valid(key) {
				t.Errorf("%s is not %q", key, name)
			}
			return true
		})
		var want map[string]any
		if json.Unmarshal(data, &want) != nil || bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
			return // the rest of garbage is garbage; it must only not fail
		}
		if diff := cmp.Diff(want, got); !ok || !again && diff != "" {
			t.Errorf("read: %v (-want +got):\n%s", ok, diff)
		}
	})
}

// No more is looked at than is asked for.
func TestMembersStops(t *testing.T) {
	seen := map[string]bool{}
	if !members([]byte(`{"a":1,"b":2,"c" and so on`), func(key, _ []byte) bool { seen[string(key)] = true; return len(seen) < 2 }) {
		t.Error("what was not asked for was read")
	}
	if !maps.Equal(seen, map[string]bool{`"a"`: true, `"b"`: true}) {
		t.Errorf("seen: %v", seen)
	}
}
