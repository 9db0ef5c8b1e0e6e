// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"regexp"
	"strings"
	"testing"
)

// Colours get through and end with their line; what else a terminal would obey is visible.
func TestProgramOutput(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"plain":                             {[]string{"a\tb ü 日本", ""}, "a\tb ü 日本\n\n"},
		"a colour":                          {[]string{"\x1b[31mred\x1b[0m"}, "\x1b[31mred\x1b[0m\n"},
		"a colour over two lines":           {[]string{"\x1b[1;31mred", "more\x1b[m", "plain"}, "\x1b[1;31mred\x1b[0m\n\x1b[1;31mmore\x1b[m\nplain\n"},
		"a colour that replaces others":     {[]string{"\x1b[31m\x1b[0;32mgreen", "more"}, "\x1b[31m\x1b[0;32mgreen\x1b[0m\n\x1b[0;32mmore\x1b[0m\n"},
		"of 256 colours number 8":           {[]string{"\x1b[38;5;8mgrey\x1b[0m"}, "\x1b[38;5;8mgrey\x1b[0m\n"},
		"a colour of three values":          {[]string{"\x1b[48;2;8;8;8mx\x1b[0m\x1b[38:2::8:8:8mx\x1b[0m"}, "\x1b[48;2;8;8;8mx\x1b[0m\x1b[38:2::8:8:8mx\x1b[0m\n"},
		"hidden text":                       {[]string{"\x1b[8mx\x1b[1;08mx"}, "^[[8mx^[[1;08mx\n"},
		"hidden behind a colour":            {[]string{"\x1b[38;5;1;8mx"}, "^[[38;5;1;8mx\n"},
		"the cursor":                        {[]string{"\x1b[2K\x1b[1Ax"}, "^[[2K^[[1Ax\n"},
		"a title, and the clipboard":        {[]string{"\x1b]0;t\a\x1b]52;c;eA==\x1b\\"}, "^[]0;t^G^[]52;c;eA==^[\\\n"},
		"a private sequence that ends in m": {[]string{"\x1b[>4;2m\x1b[?1m"}, "^[[>4;2m^[[?1m\n"},
		"too long":                          {[]string{"\x1b[" + strings.Repeat("1;", 40) + "1m"}, "^[[" + strings.Repeat("1;", 40) + "1m\n"},
		"cut off":                           {[]string{"x\x1b[3", "1m"}, "x^[[3\n1m\n"},
		"ESC alone":                         {[]string{"\x1b", "\x1b\x1b[1m"}, "^[\n^[\x1b[1m\x1b[0m\n"},
		"8-bit":                             {[]string{"\u009b31m \x9b31m"}, "<U+009B>31m <9B>31m\n"},
		"a progress bar":                    {[]string{"10%\r50%\r100%\r", "done"}, "100%\ndone\n"},
		"lines of another system":           {[]string{"a\r", "\r"}, "a\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			o := ProgramOutput{Colors: true}
			var got []byte
			for _, line := range test.lines {
				got = append(o.Append(got, []byte(line), true), '\n')
			}
			if string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	o := ProgramOutput{}
	if got := string(o.Append(nil, []byte("\x1b[31mred\x1b[2K"), true)); got != "red^[[2K" {
		t.Errorf("without colours: %q", got)
	}
}

// A program that never turns colours off does not fill the memory.
func TestProgramOutputForgetsColors(t *testing.T) {
	o := ProgramOutput{Colors: true}
	o.Append(nil, []byte(strings.Repeat("\x1b[31m\x1b[39m", 10000)+"\x1b[4m"), true)
	got := string(o.Append(nil, []byte("x"), true))
	if len(got) > longestColors+len("x"+reset) || !strings.HasPrefix(got, "\x1b[") || !strings.HasSuffix(got, "\x1b[4mx"+reset) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

var colorsOnly = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// Whatever is written, and however it is cut into pieces, nothing but colours, tabs and text gets to the terminal.
func FuzzProgramOutput(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;t\a", 3, true)
	f.Add("10%\r\r20%\xe2\x82\xac", 5, false)
	f.Add("\x1b[8m\x1b[38;5;8m\r\x1b", 1, true)
	f.Fuzz(func(t *testing.T, text string, cut int, colors bool) {
		text = strings.ReplaceAll(text, "\n", "")
		cut = max(0, min(cut, len(text)))
		whole := ProgramOutput{Colors: colors}
		want := string(whole.Append(nil, []byte(text), true))
		o := ProgramOutput{Colors: colors}
		got := string(o.Append(o.Append(nil, []byte(text[:cut]), false), []byte(text[cut:]), true))
		if !strings.Contains(text, "\r") && got != want {
			t.Errorf("in pieces %q, as a whole %q", got, want)
		}
		for _, shown := range []string{got, want, string(o.Append(nil, nil, true))} {
			for _, sequence := range colorsOnly.FindAllString(shown, -1) {
				if !colors || conceals(sequence[2:len(sequence)-1]) {
					t.Errorf("%q got through: %q", sequence, shown)
				}
			}
			if plain := colorsOnly.ReplaceAllString(shown, ""); EscapeControls(plain) != plain {
				t.Errorf("got through: %q", plain)
			}
		}
	})
}
