// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/term"
)

// eraseLine takes the line of the cursor off a terminal.
const eraseLine = "\r\x1b[K"

// TerminalWidth returns what tells how many columns the terminal w has now, or nil if w is no terminal that can take a
// line back.
func TerminalWidth(w io.Writer) func() int {
	if !IsTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	fd := int(w.(*os.File).Fd())
	return func() int {
		width, _, err := term.GetSize(fd)
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
}

// fit makes one line of text that is not wide enough to go on in the next one: that could not be taken back.
func fit(text string, width int) string {
	text = EscapeControls(oneLine(text))
	if width < 2 {
		return ""
	}
	if utf8.RuneCountInString(text) < width {
		return text
	}
	return string([]rune(text)[:width-2]) + "…"
}

// StatusLine is a line on a terminal that is replaced again and again. Nothing else may be written there meanwhile.
type StatusLine struct {
	w     io.Writer
	width func() int // nil: nobody looks
	shown bool
}

// NewStatusLine returns the status line of w. Where w is no terminal it shows nothing.
func NewStatusLine(w io.Writer) *StatusLine { return &StatusLine{w: w, width: TerminalWidth(w)} }

// Visible tells whether somebody can see it.
func (s *StatusLine) Visible() bool { return s.width != nil }

// Show replaces what the line says.
func (s *StatusLine) Show(text string) {
	if !s.Visible() {
		return
	}
	s.shown = true
	_, _ = io.WriteString(s.w, eraseLine+fit(text, s.width())) // what cannot be shown is not missed
}

// Clear takes the line away.
func (s *StatusLine) Clear() {
	if s.shown {
		s.shown = false
		_, _ = io.WriteString(s.w, eraseLine) // as above
	}
}

// Status shows a line below all others until it is replaced; nothing takes it away. It is for a terminal that a person
// looks at (Options.Width) and is left out elsewhere. It is never waited for.
func (c *Console) Status(text string) {
	if c.opts.Width == nil || c.opts.Quiet || c.opts.Format == JSON {
		return
	}
	if text != "" {
		text = fit(text, c.opts.Width())
	}
	c.queue.setStatus(text)
}

// setStatus chooses what the last line on the terminal says.
func (q *queue) setStatus(text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.readerErr == nil {
		q.status = text
		q.wake()
	}
}

// statusChange is what has to be written before lines can be, or when there are none: the status line is on the screen
// only while nothing else waits. With nothing to do it is empty.
func (q *queue) statusChange() chunk {
	want := q.status
	if len(q.waiting) > 0 || q.closed {
		want = ""
	}
	if want == q.shown {
		return chunk{}
	}
	q.shown = want
	return chunk{q.statusTo, []byte(eraseLine + want)}
}
