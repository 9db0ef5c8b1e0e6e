// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// What a terminal would obey is shown, and what it would show is left alone.
func TestEscapeControls(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain\ttext, ünïcödé, 日本語": "plain\ttext, ünïcödé, 日本語",
		"\x1b[2K\x1b[1A":            "^[[2K^[[1A",
		"\x1b]0;title\a":            "^[]0;title^G",
		"10%\r20%":                  "10%^M20%",
		"a\x00b\x7fc":               "a^@b^?c",
		"8-bit CSI \u009b2K":        "8-bit CSI <U+009B>2K",
		"no UTF-8 \xff\x9b":         "no UTF-8 <FF><9B>",
		"\u202egnol\u202c":          "<U+202E>gnol<U+202C>",
		"\u2066x\u2069\u061c":       "<U+2066>x<U+2069><U+061C>",
		"a\u2028b\u2029c\nd":        "a<U+2028>b<U+2029>c^Jd",
		"\ufeffBOM":                 "<U+FEFF>BOM",
		"a replacement \ufffd":      "a replacement \ufffd",
		"family 👩\u200d👩\u200d👧":    "family 👩\u200d👩\u200d👧",
		"cut off \xe2\x82":          "cut off <E2><82>",
		"tag \U000e0041.":           "tag <U+E0041>.",
	} {
		if got := EscapeControls(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// hostile are texts that move the cursor, clear lines, set titles, or look like a line of ours.
var hostile = []string{
	"\x1b[1A\x1b[2K12:10:00 ✓ job/backup complete in 1.5s",
	"\r12:10:00 ✓ job/backup complete in 1.5s",
	"x\n12:10:00 ✓ job/backup complete in 1.5s",
	"x\r\n12:10:00 ✓ job/backup complete in 1.5s\r\n",
	"\x1b]0;owned\x07", "\x1bP1$r\x1b\\", "\u009b2J", "\x9b2J", "\x0e\x0f\x08\x08\x08\x08", "\u2028x", "\u202eevil", "\xff\xfe",
}

// say returns what the console writes of the lines.
func say(t *testing.T, opts Options, lines ...Line) string {
	t.Helper()
	at := time.Date(2026, 5, 4, 12, 10, 0, 0, time.Local)
	opts.Now = func() time.Time { return at }
	var b bytes.Buffer
	c := New(&b, opts)
	for _, l := range lines {
		c.Print(l)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	return b.String()
}

// Nothing that a container, an event or an object says can write a line of ours: each is one line, under its own
// prefix, without a byte that a terminal obeys. A program that reads JSON gets the text as it was.
func TestNobodySpeaksForUs(t *testing.T) {
	for _, text := range hostile {
		checkHostile(t, text)
	}
}

func FuzzNobodySpeaksForUs(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkHostile(t, text) })
}

func checkHostile(t *testing.T, text string) {
	t.Helper()
	lines := map[string]Line{
		"output":   {Type: Output, Source: "pod", Message: text},
		"source":   {Type: Output, Source: text, Message: "x"},
		"warning":  {Type: Warning, Object: "pod/default/" + text, Reason: text, Message: text},
		"finished": {Type: Finished, Object: "job/default/" + text, Outcome: Failed, Reason: text, Message: text},
		"started":  {Type: Started, Object: text, Message: text},
		"due":      {Type: Due, Object: text, Message: text},
		"applied":  {Type: Applied, Object: text, Message: text},
		"info":     {Type: Info, Message: text},
		"step":     {Type: Step, Message: text},
	}
	for name, line := range lines {
		got := say(t, Options{}, line)
		if strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "12:10:00 ") {
			t.Errorf("%s: %q is not one line of ours", name, got)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(strings.TrimSuffix(got, "\n"), func(r rune) bool { return isControl(r) && r != utf8.RuneError }) {
			t.Errorf("%s: %q has what a terminal obeys", name, got)
		}
		got = say(t, Options{Format: JSON}, line)
		if strings.Count(got, "\n") != 1 || strings.ContainsFunc(strings.TrimSuffix(got, "\n"), func(r rune) bool { return isControl(r) && r != utf8.RuneError }) {
			t.Errorf("%s: %q has what a terminal obeys", name, got)
		}
		var back Line
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Fatalf("%s: %q: %v", name, got, err)
		}
		if utf8.ValidString(text) && (back.Message != line.Message || back.Object != line.Object) {
			t.Errorf("%s: a program reads %q of %q", name, back.Message, line.Message)
		}
	}
	if got := say(t, Options{}, lines["output"]); !strings.HasPrefix(got, "12:10:00   pod │ ") {
		t.Errorf("%q has lost its prefix", got)
	}
}

// Of a progress bar the last state is shown, as a terminal would; in JSON and raw it is all there.
func TestProgressBar(t *testing.T) {
	bar := Line{Type: Output, Source: "p", Message: "10%\r55%\r100%\r", End: "\r\n"}
	if got := say(t, Options{}, bar); got != "12:10:00   p │ 100%\n" {
		t.Errorf("shown as %q", got)
	}
	var raw bytes.Buffer
	say(t, Options{OutputTo: &raw, Raw: true}, bar)
	if raw.String() != "10%\r55%\r100%\r\r\n" {
		t.Errorf("raw is %q", raw.String())
	}
}
