// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is a terminal's: what is on it after everything that was written.
type screen struct {
	mu    sync.Mutex
	lines []string
	last  string
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(b)
	for text != "" {
		if rest, ok := strings.CutPrefix(text, eraseLine); ok {
			s.last, text = "", rest
			continue
		}
		i := strings.IndexAny(text[1:], "\r\n") + 1
		if i == 0 {
			i = len(text)
		}
		if text[0] == '\n' {
			s.lines, s.last = append(s.lines, s.last), ""
			text = text[1:]
			continue
		}
		s.last += text[:i]
		text = text[i:]
	}
	return len(b), nil
}

func (s *screen) shows() (lines []string, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...), s.last
}

// The status line is the last one on the screen, whatever is said meanwhile, never wider than the screen, and gone in
// the end.
func TestStatus(t *testing.T) {
	s := &screen{}
	c := New(s, Options{OutputTo: s, Width: func() int { return 20 }, Now: func() time.Time { return time.Date(2026, 5, 4, 12, 10, 0, 0, time.Local) }})
	until := func(what string, lines int, last string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			got, end := s.shows()
			if len(got) == lines && end == last {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: the screen shows %q and %q", what, got, end)
			}
			<-time.After(time.Millisecond)
		}
	}
	c.Status("1 of 3")
	until("a status", 0, "1 of 3")
	c.Print(Line{Type: Info, Message: "hello"})
	c.Print(Line{Type: Output, Source: "p", Message: "out"})
	until("lines above it", 2, "1 of 3")
	c.Status("2 of 3, and much more\nthan there is room for")
	until("a long one", 2, "2 of 3, and much m…")
	c.Status("")
	until("none", 2, "")
	c.Status("3 of 3")
	closed(t, c)
	if lines, last := s.shows(); len(lines) != 2 || last != "" || lines[0] != "12:10:00   hello" || lines[1] != "12:10:00   p │ out" {
		t.Errorf("in the end the screen shows %q and %q", lines, last)
	}
}

// Where nobody looks there is none.
func TestNoStatus(t *testing.T) {
	wide := func() int { return 80 }
	for name, opts := range map[string]Options{"no terminal": {}, "quiet": {Width: wide, Quiet: true}, "json": {Width: wide, Format: JSON}} {
		var b bytes.Buffer
		c := New(&b, opts)
		c.Status("1 of 3")
		closed(t, c)
		if b.Len() > 0 {
			t.Errorf("%s: wrote %q", name, b.String())
		}
		line := NewStatusLine(&b)
		line.Show("x")
		line.Clear()
		if line.Visible() || b.Len() > 0 {
			t.Errorf("%s: a status line wrote %q", name, b.String())
		}
	}
}

// Nothing of a status reaches the terminal as an order, and it never fills the last column.
func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"abc", 80, "abc"}, {"abc", 4, "abc"}, {"abcd", 4, "ab…"}, {"äöüß", 4, "äö…"}, {"a\x1b[2J", 80, "a^[[2J"}, {"abc", 1, ""}, {"abc", 0, ""}, {"abc", 2, "…"},
	} {
		if got := fit(tt.text, tt.width); got != tt.want {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}
