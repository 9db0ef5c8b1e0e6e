// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/plan/description"
	"github.com/carillon-dev/carillon/internal/plan/duration"
)

// glyphs are the characters of marks, asciiGlyphs those for terminals that have no others, and markWords what they
// mean.
var (
	glyphs = map[description.Mark]string{
		description.Succeeded: "✓", description.Failed: "✗", description.Active: "▶", description.Running: "─", description.Missed: "!",
		description.Skipped: "○", description.Cancelled: "□", description.Unseen: "?", description.NotKnown: "·", description.ToCome: "◷",
	}
	asciiGlyphs = map[description.Mark]string{
		description.Succeeded: "+", description.Failed: "x", description.Active: ">", description.Running: "-", description.Missed: "!",
		description.Skipped: "o", description.Cancelled: "#", description.Unseen: "?", description.NotKnown: ".", description.ToCome: "*",
	}
	markWords = map[description.Mark]string{
		description.Succeeded: "succeeded", description.Failed: "failed", description.Active: "active", description.Running: "running",
		description.Missed: "missed", description.Skipped: "skipped", description.Cancelled: "cancelled", description.Unseen: "ended unseen",
		description.NotKnown: "nothing known of it", description.ToCome: "to come",
	}
	markColors = map[description.Mark]table.Color{
		description.Succeeded: table.Green, description.Failed: table.Red, description.Missed: table.Yellow, description.Skipped: table.Dim,
		description.Cancelled: table.Yellow, description.Unseen: table.Yellow, description.Running: table.Dim, description.NotKnown: table.Dim,
		description.ToCome: table.Dim, description.Active: table.Bold,
	}
)

func (s *screen) glyph(mark description.Mark) string {
	if s.ascii {
		return asciiGlyphs[mark]
	}
	return glyphs[mark]
}

// timeline draws what was and what is to come on a line, with its round times below it and a legend.
func (s *screen) timeline(d *description.Description) {
	t := d.Timeline
	if t == nil {
		return
	}
	s.title(spanWords(t.Now.Sub(t.From)) + ", and " + duration.Short(t.Until.Sub(t.Now).Round(time.Minute)) + " to come")
	var marks, axis strings.Builder
	seen := map[description.Mark]bool{}
	for _, mark := range t.Places {
		seen[mark] = true
		if mark == description.Nothing {
			marks.WriteByte(' ')
			continue
		}
		marks.WriteString(markColors[mark].Paint(s.glyph(mark), s.color))
	}
	ticks := t.Ticks(d.Zone())
	line, tick, now := "─", "┬", "▲"
	if s.ascii {
		line, tick, now = "-", "+", "^"
	}
	at := map[int]string{t.Past: now}
	labels := []rune(strings.Repeat(" ", len(t.Places)))
	copy(labels[min(t.Past, len(labels)-len("now")):], []rune("now"))
	for _, one := range ticks {
		if one.Place != t.Past {
			at[one.Place] = tick
		}
		if end := one.Place + utf8.RuneCountInString(one.Label); strings.TrimSpace(string(labels[max(0, one.Place-1):min(end+1, len(labels))])) == "" {
			copy(labels[one.Place:], []rune(one.Label))
		}
	}
	for i := range t.Places {
		if text, ok := at[i]; ok {
			axis.WriteString(text)
		} else {
			axis.WriteString(line)
		}
	}
	s.line(screenIndent + marks.String())
	s.line(screenIndent + table.Dim.Paint(axis.String(), s.color))
	s.line(screenIndent + table.Dim.Paint(strings.TrimRight(string(labels), " "), s.color))
	s.legend(seen, "(one mark: "+duration.Short(seconds(t.PlaceSeconds))+")")
}

// legend says what the marks mean that were seen.
func (s *screen) legend(seen map[description.Mark]bool, last string) {
	parts := []string{}
	for _, mark := range description.Marks {
		if seen[mark] {
			parts = append(parts, s.glyph(mark)+" "+markWords[mark])
		}
	}
	line := screenIndent
	for _, part := range append(parts, last) {
		if line != screenIndent && table.Width(line)+2+table.Width(part) > s.width {
			s.line(table.Dim.Paint(line, s.color))
			line = screenIndent
		}
		if line != screenIndent {
			line += "  "
		}
		line += part
	}
	s.line(table.Dim.Paint(line, s.color))
}

// spanWords say how much of the past a timeline shows.
func spanWords(length time.Duration) string {
	const day = 24 * time.Hour
	switch hours := length.Round(time.Hour); {
	case hours <= time.Hour:
		return "The last hour"
	case hours <= 6*time.Hour:
		return "The last 6 hours"
	case hours <= day:
		return "The last day"
	case hours <= 7*day:
		return "The last week"
	case hours <= 35*day:
		return "The last 5 weeks"
	}
	return "The last year"
}
