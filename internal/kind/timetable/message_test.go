// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A message has no control characters and fits, as it is encoded.
func TestBounded(t *testing.T) {
	for sentence, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"short":                   {"it waits", 128, "it waits"},
		"empty":                   {"", 128, ""},
		"lines and tabs":          {"\tadmission webhook denied:\r\n\tno  owner\x00\x7f\n", 128, "admission webhook denied: no owner"},
		"separators of lines":     {"a\u2028b\u2029c\u0085d", 128, "a b c d"},
		"just fits":               {"abcdef", 8, "abcdef"},
		"one too many":            {"abcdefg", 8, "abc…"},
		"cut at a blank":          {"ab cdefg", 8, "ab…"},
		"escapes count":           {`<<<<`, 20, "<<…"},
		"quotes count twice":      {`""""`, 8, `"…`},
		"cut between characters":  {"éééé", 9, "éé…"},
		"no valid text":           {"a\xffb", 128, "a\ufffdb"},
		"a limit below its marks": {"abcdef", 5, "…"},
	} {
		if got := bounded(c.text, c.limit); got != c.want {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a <>&\"\\\n\u2028\x01é🔔"))), rapid.StringN(0, 300, -1)).Draw(t, "text")
		limit := rapid.SampledFrom([]int{5, 20, entryMessageBytes, conditionMessageBytes}).Draw(t, "limit")
		got := bounded(text, limit)
		data, err := json.Marshal(got)
		if err != nil || len(data) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || strings.TrimSpace(got) != got && !strings.ContainsFunc(text, unicode.IsSpace) {
			t.Fatalf("%q: %d bytes, %v", got, len(data), err)
		}
		whole := bounded(text, 1<<30)
		if encoded, _ := json.Marshal(whole); len(encoded) <= limit && got != whole {
			t.Fatalf("%q was cut to %q", whole, got)
		}
		if cut, isCut := strings.CutSuffix(got, ellipsis); got != whole && (!isCut || !strings.HasPrefix(whole, cut)) {
			t.Fatalf("%q is no beginning of %q", got, whole)
		}
		if again := bounded(got, limit); again != got {
			t.Fatalf("%q becomes %q", got, again)
		}
	})
}
