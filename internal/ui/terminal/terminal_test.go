// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/ui/terminal"
)

// told writes segments as text, each with a class as [class|text].
func told(segments []terminal.Segment) string {
	var b strings.Builder
	for _, s := range segments {
		if s.Class == "" {
			b.WriteString(s.Text)
		} else {
			b.WriteString("[" + s.Class + "|" + s.Text + "]")
		}
	}
	return b.String()
}

func TestLine(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":                          {"", ""},
		"plain text with a tab":            {"a\tb", "a\tb"},
		"markup is text":                   {"<script>alert(1)</script>&amp;", "<script>alert(1)</script>&amp;"},
		"other languages":                  {"Grüße, 世界 👍", "Grüße, 世界 👍"},
		"a colour and its end":             {"a \x1b[31mred\x1b[0m b", "a [t-f1|red] b"},
		"an empty parameter is a reset":    {"\x1b[1mb\x1b[mn", "[t-b|b]n"},
		"bright, on a ground":              {"\x1b[93;104mx", "[t-f11 t-g12|x]"},
		"bold, dim, italic, lines":         {"\x1b[1;2;3;4;9mx\x1b[22;23;24;29my", "[t-b t-d t-i t-u t-s|x]y"},
		"inverse":                          {"\x1b[7mx\x1b[27my", "[t-v|x]y"},
		"inverse of a colour":              {"\x1b[31;7mx", "[t-g1|x]"},
		"inverse of both":                  {"\x1b[31;44;7mx", "[t-f4 t-g1|x]"},
		"hidden is shown":                  {"\x1b[8mx", "x"},
		"256 colours: one of 16":           {"\x1b[38;5;9mx", "[t-f9|x]"},
		"256 colours: of the cube":         {"\x1b[38;5;196mx\x1b[48;5;21my", "[t-f9|x][t-f9 t-g4|y]"},
		"256 colours: grey":                {"\x1b[38;5;244mx", "[t-f8|x]"},
		"24 bits":                          {"\x1b[38;2;250;10;10mx", "[t-f9|x]"},
		"24 bits with colons":              {"\x1b[38:2::0:205:0mx\x1b[38:2:0:205:0my\x1b[38:5:1mz", "[t-f2|xy][t-f1|z]"},
		"what follows a colour counts":     {"\x1b[38;5;9;1mx", "[t-f9 t-b|x]"},
		"no colour":                        {"\x1b[38;5;300mx\x1b[38;9mx\x1b[38mx", "xxx"},
		"the colour of an underline":       {"\x1b[58;5;3;4mx", "[t-u|x]"},
		"a progress bar":                   {"10%\r50%\r100%", "100%"},
		"what is shorter leaves the rest":  {"downloading\rdone", "doneloading"},
		"erased to its end":                {"downloading\rdone\x1b[K", "done"},
		"erased, all of it":                {"abc\x1b[2K\rx", "x"},
		"erased to its beginning":          {"abcd\x1b[3D\x1b[1Kx", " xcd"},
		"a return at the end":              {"done\r", "done"},
		"back":                             {"ab\bc", "ac"},
		"back of the beginning":            {"\b\bc", "c"},
		"moves":                            {"abc\x1b[2Dx\x1b[5Gy\x1b[1Cz", "axc y z"},
		"a move far away":                  {"\x1b[99999999999999999999Cx\x1b[400000Cy", "xy"},
		"a title":                          {"\x1b]0;evil\ax", "x"},
		"a link":                           {"\x1b]8;;http://x/\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a device control":                 {"a\x1bPq#0\x1b\\b", "ab"},
		"a title without an end":           {"\x1b]0;evil", "[t-c|^[]]0;evil"},
		"other sequences":                  {"\x1b(B\x1b[?25l\x1b[2J\x1b[Hx\x1b7\x1b=", "x"},
		"a sequence that breaks off":       {"x\x1b[3", "x[t-c|^[][3"},
		"a lone escape":                    {"x\x1b", "x[t-c|^[]"},
		"an escape before another":         {"\x1b\x1b[31mx", "[t-c|^[][t-f1|x]"},
		"no parameters":                    {"\x1b[?1mx\x1b[1:2:zmy", "xmy"},
		"control characters":               {"a\x00\x07\x7fb", "a[t-c|^@^G^?]b"},
		"controls of eight bits":           {"\u009b31m", "[t-c|<U+009B>]31m"},
		"no UTF-8":                         {"a\xff\xc3b", `a[t-c|\xff\xc3]b`},
		"the direction of text":            {"a\u202eb\u2066c\u200f", "a[t-c|<U+202E>]b[t-c|<U+2066>]c[t-c|<U+200F>]"},
		"other text that hides":            {"a\u200b\ufeff\U000e0041b", "a[t-c|<U+200B><U+FEFF><U+E0041>]b"},
		"separators of lines":              {"a\u2028b", "a[t-c|<U+2028>]b"},
		"accents combine":                  {"e\u0301", "e\u0301"},
		"one that has nothing to combine":  {"\u0301x", "[t-c|<U+0301>]x"},
		"too many pile up":                 {"e" + strings.Repeat("\u0301", 7), "e" + strings.Repeat("\u0301", 6) + "[t-c|<U+0301>]"},
		"a family is joined":               {"👩\u200d👧", "👩\u200d👧"},
		"made visible in colour":           {"\x1b[31m\x01", "[t-f1 t-c|^A]"},
		"colours of what was written over": {"\x1b[31maaa\x1b[0m\rb", "b[t-f1|aa]"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, told(new(terminal.Program).Line([]byte(test.text)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Colours that are left on go on in the next line.
func TestLinesShareColours(t *testing.T) {
	var p terminal.Program
	got := []string{told(p.Line([]byte("\x1b[32ma"))), told(p.Line([]byte("b"))), told(p.Line([]byte("c\x1b[0m"))), told(p.Line([]byte("d")))}
	if diff := cmp.Diff([]string{"[t-f2|a]", "[t-f2|b]", "[t-f2|c]", "d"}, got); diff != "" {
		t.Error(diff)
	}
}

// classes are all that there are.
var classes = regexp.MustCompile(`^(t-(f|g)(1[0-5]|[0-9])|t-[bdiusvc])( (t-(f|g)(1[0-5]|[0-9])|t-[bdiusvc]))*$`)

// Whatever a program writes, what is shown is text that can be seen, with classes of ours, and not longer than what was
// written allows.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{"", "\x1b[31;1mx\x1b[0m", "10%\r20%\x1b[K", "\x1b]0;t\a", "\x1b[38;2;1;2;3m\u202e", "e\u0301\xff\x00", "\x1b[500C\b\x1b[1K"} {
		f.Add([]byte(seed), []byte("x"))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var p terminal.Program
		for _, text := range [][]byte{first, second} {
			segments := p.Line(text)
			for _, s := range segments {
				if s.Class != "" && !classes.MatchString(s.Class) {
					t.Errorf("class %q", s.Class)
				}
				if !utf8.ValidString(s.Text) || s.Text == "" {
					t.Errorf("text %q", s.Text)
				}
				for _, r := range s.Text {
					if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
						t.Errorf("%U is shown", r)
					}
				}
			}
			if all := terminal.Text(segments); len(all) > 16*len(text)+1024 {
				t.Errorf("%d bytes for %d", len(all), len(text))
			}
		}
	})
}

func BenchmarkLine(b *testing.B) {
	text := []byte("\x1b[32m2026-11-20T02:00:00Z\x1b[0m INFO a line of an ordinary program with \x1b[1mone\x1b[0m word in bold, of some length")
	var p terminal.Program
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p.Line(text)
	}
}

// The quick way and the other one give the same.
func FuzzStraight(f *testing.F) {
	f.Add("a\x1b[31mb\x1b[0mc")
	f.Fuzz(func(t *testing.T, text string) {
		if bytes.ContainsAny([]byte(text), "\r\b") {
			return
		}
		var quick, slow terminal.Program
		want := slow.Line([]byte("\b" + text)) // that goes back from the beginning, and is not quick
		if diff := cmp.Diff(told(want), told(quick.Line([]byte(text)))); diff != "" {
			t.Error(diff)
		}
	})
}
