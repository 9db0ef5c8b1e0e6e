// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"
)

// goesOn is what stands at the end of what was cut.
const goesOn = "… (it goes on; the whole is too long to be shown here)"

func long(part string) string { return strings.Repeat(part, 2*longestText/len(part)) }

func TestVisible(t *testing.T) {
	for name, test := range map[string][2]string{
		"nothing hides":        {"<p title=\"ä\">a &lt; b\n\tc</p>", "<p title=\"ä\">a &lt; b\n\tc</p>"},
		"direction in text":    {"<p>a\u202eb</p>", "<p>a&lt;U+202E&gt;b</p>"},
		"a control":            {"<p>a\x07b</p>", "<p>a^Gb</p>"},
		"in a title":           {"<p title=\"a > \u2066b\" class='x'>\u200f</p>", "<p title=\"a > &lt;U+2066&gt;b\" class='x'>&lt;U+200F&gt;</p>"},
		"what a form sends":    {"<input name=\"a\u202e\" value=\"\u202eb\" title=\"\u202e\">", "<input name=\"a\u202e\" value=\"\u202eb\" title=\"&lt;U+202E&gt;\">"},
		"a textarea":           {"<textarea name=\"x\">\n\u202ea</textarea>\u202e", "<textarea name=\"x\">\n\u202ea</textarea>&lt;U+202E&gt;"},
		"another value":        {"<p data-value=\"\u202e\">", "<p data-value=\"&lt;U+202E&gt;\">"},
		"no UTF-8":             {"<p title=\"\xff\">a\xc0\x80b</p><textarea>\xed\xa0</textarea>", "<p title=\"\ufffd\">a\ufffdb</p><textarea>\ufffd</textarea>"},
		"a tag without an end": {"\u202e<p title=\"\u202e", "&lt;U+202E&gt;<p title=\"\u202e"},
		"long texts": {"<p title=\"" + long("a&lt;") + "\">" + long("ä") + "</p><pre>" + long("b") + "</pre><a href=\"/" + long("c") + "\">d</a><textarea>" + long("e") + "</textarea>",
			"<p title=\"" + strings.Repeat("a&lt;", longestText/5) + "a" + goesOn + "\">" + strings.Repeat("ä", longestText/2) + goesOn + "</p><pre>" + long("b") + "</pre><a href=\"/" + long("c") + "\">d</a><textarea>" + long("e") + "</textarea>"},
		"as long as may be": {"<p>" + strings.Repeat("a", longestText) + "</p>", "<p>" + strings.Repeat("a", longestText) + "</p>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(visible([]byte(test[0]))); got != test[1] {
				t.Errorf("got  %q\nwant %q", got, test[1])
			}
		})
	}
}
