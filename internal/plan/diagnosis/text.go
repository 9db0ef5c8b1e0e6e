// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// Text is the answer for people, in lines of at most width columns where words allow it: the verdict first. What
// objects say in it still has to be made safe for a terminal.
func (a Answer) Text(width int) string {
	w := &textWriter{width: max(width, 40)}
	w.paragraph("", "", a.Headline())
	for _, s := range a.Sentences {
		text := s.Text
		if s.Inferred {
			text += " (inferred)"
		}
		w.paragraph("  ", "  ", text)
	}
	w.section("Evidence", len(a.Evidence))
	for _, p := range a.Evidence {
		w.paragraph("  - ", "    ", p.Source+": "+p.Text)
	}
	w.section("Missing", len(a.Missing))
	for _, m := range a.Missing {
		w.paragraph("  - ", "    ", m)
	}
	w.section("Next", len(a.Next))
	for _, s := range a.Next {
		w.line("  " + s.Command) // a command is copied: it stays in one line
		w.paragraph("      ", "      ", s.Why)
	}
	return w.text.String()
}

// Headline is the answer in one sentence, without its full stop: "cronjob/backup at 2026-11-20 02:00 was skipped: …".
func (a Answer) Headline() string {
	name := strings.ToLower(a.Object.Kind) + "/" + a.Object.Name
	if a.Asked != nil {
		t := *a.Asked
		if a.ScheduledTime != nil {
			t = *a.ScheduledTime
		}
		name += " at " + clockIn(t, a.zone)
	}
	head := name + " " + a.Summary
	if a.Verdict == NotScheduled || a.Verdict == NotDue || a.Verdict == CannotTell { // which are no verbs
		head = name + ": " + a.Summary
	}
	if a.Inferred {
		head += " (inferred)"
	}
	return head
}

type textWriter struct {
	width int
	text  strings.Builder
}

func (w *textWriter) line(text string) {
	w.text.WriteString(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " "))
	w.text.WriteByte('\n')
}

func (w *textWriter) section(title string, entries int) {
	if entries > 0 {
		w.text.WriteString("\n" + title + ":\n")
	}
}

// paragraph breaks text between words; first begins its first line, and rest the others.
func (w *textWriter) paragraph(first, rest, text string) {
	for _, line := range paragraph.Lines(first, rest, text, w.width) {
		w.text.WriteString(line + "\n")
	}
}
