// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/plan/description"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// screen collects the lines of a description for people.
type screen struct {
	width int
	// tables is how wide tables may be, 0 for any width: no terminal shows them.
	tables       int
	color, ascii bool
	// zone is that of --zone as it was written, "" for that of whoever asks.
	zone string
	// remembered: a journal alone tells, while nobody can be asked how things are now.
	remembered bool
	lines      []string
}

// screenIndent is what begins the lines below a title, factWidth how wide the names of facts are.
const (
	screenIndent = "  "
	factWidth    = 11
)

func (s *screen) write(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(s.lines, "\n")+"\n")
	return err
}

// line adds a line that is safe for a terminal.
func (s *screen) line(text string) { s.lines = append(s.lines, strings.TrimRight(text, " ")) }

// blank parts two sections.
func (s *screen) blank() {
	if n := len(s.lines); n > 0 && s.lines[n-1] != "" {
		s.lines = append(s.lines, "")
	}
}

func (s *screen) title(text string) {
	s.blank()
	s.paragraph("", screenIndent, text, table.Bold)
}

// paragraph adds text of whatever characters, broken between words.
func (s *screen) paragraph(first, rest, text string, color table.Color) {
	for _, line := range paragraph.Lines(first, rest, console.EscapeControls(text), s.width) {
		s.line(color.Paint(table.Shorten(line, s.width), s.color))
	}
}

// fact adds a fact with its name before it.
func (s *screen) fact(name, text string) {
	rest := strings.Repeat(" ", factWidth)
	for i, line := range paragraph.Lines(rest, rest, console.EscapeControls(text), s.width) {
		line = table.Shorten(line, s.width)
		if i == 0 {
			line = table.Dim.Paint(name, s.color) + line[min(len(name), factWidth, len(line)):]
		}
		s.line(line)
	}
}

func (s *screen) describe(d *description.Description, there *time.Location) {
	name := strings.ToLower(d.Object.Kind) + "/" + d.Object.Name + " in namespace " + d.Object.Namespace
	if d.CreationTime != nil {
		name += ", created " + duration.FromNow(*d.CreationTime, d.Now)
	}
	s.title(name)
	for _, text := range d.First {
		s.paragraph("! ", "  ", text, table.Yellow)
	}
	s.blank()
	s.state(d)
	if d.Schedule != nil {
		s.schedule(d.Schedule, d.Now)
		s.next(d, there)
	}
	s.timeline(d)
	s.latest(d)
	s.failure(d)
	s.surprises(d.Schedule)
	s.conditions(d)
	s.events(d)
	s.more(d)
}

// state says what it does now.
func (s *screen) state(d *description.Description) {
	s.fact("State", stateText(d))
	if tells := d.State.Verdict != diagnosis.NotDue && d.State.Verdict != diagnosis.Completed; tells {
		rest := strings.Repeat(" ", factWidth)
		for _, sentence := range d.State.Sentences[:min(len(d.State.Sentences), mostSentences)] {
			s.paragraph(rest, rest, sentence.Text, table.Plain)
		}
	}
	for i := range d.Active {
		a := &d.Active[i]
		if s.remembered {
			s.fact("Not ended", strings.ToLower(a.Kind)+"/"+a.Name+", when the journal was written last")
			continue
		}
		text := strings.ToLower(a.Kind) + "/" + a.Name + " for " + duration.Short(seconds(a.AgeSeconds))
		switch {
		case a.Suspended:
			text += ", suspended"
		case d.Usual != nil && a.Overdue:
			text += fmt.Sprintf(": longer than usual (%s, at most %s)", took(seconds(d.Usual.MedianSeconds)), took(seconds(d.Usual.MostSeconds)))
		case d.Usual != nil:
			text += " (usually " + took(seconds(d.Usual.MedianSeconds)) + ")"
		}
		if d.Object.Kind != "Job" {
			s.fact("Runs now", text)
		}
	}
	if u := d.Usual; u != nil {
		s.fact("Takes", fmt.Sprintf("usually %s, at most %s (%s)", took(seconds(u.MedianSeconds)), took(seconds(u.MostSeconds)),
			"of "+quantity.Count(u.Runs, "run")+" that succeeded"))
	}
}

// mostSentences is how many explain a state.
const mostSentences = 4

func stateText(d *description.Description) string {
	text := d.State.Summary
	if d.State.Reason != "" && !strings.Contains(strings.ToLower(text), strings.ToLower(d.State.Reason)) && d.State.Verdict != diagnosis.Deleting && !d.Gone {
		text += " (" + d.State.Reason + ")"
	}
	return text
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// schedule says what it means, and what becomes of runs.
func (s *screen) schedule(schedule *description.Schedule, now time.Time) {
	for i, of := range schedule.Schedules {
		text := strings.Join(strings.Fields(of.Text), " ")
		if of.Name != "" && len(schedule.Schedules) > 1 {
			text = of.Name + ": " + text
		}
		if of.Words != "" {
			text += " · runs " + of.Words
		}
		name := "Schedule"
		if i > 0 {
			name = ""
		}
		if i == len(schedule.Schedules)-1 && schedule.TimeZone.Matters {
			text += "; time zone " + schedule.TimeZone.Name
			if schedule.TimeZone.Assumed {
				text += " (assumed: it names none)"
			}
		}
		s.fact(name, text)
	}
	rest := strings.Repeat(" ", factWidth)
	for _, limit := range schedule.Limits {
		first, _, _ := strings.Cut(limit, ". ") // carillon explain tells the rest
		s.paragraph(rest, rest, strings.TrimSuffix(first, ".")+".", table.Plain)
	}
	var settings []string
	for _, policy := range schedule.Policies {
		if policy.Topic != "edit" && policy.Topic != "suspend" {
			settings = append(settings, policy.Setting)
		}
	}
	if len(settings) > 0 {
		s.fact("Policy", strings.Join(slices.Compact(settings), "; "))
	}
}

// surprises are what may turn out otherwise than people expect.
func (s *screen) surprises(schedule *description.Schedule) {
	if schedule == nil || len(schedule.Surprises)+len(schedule.ClockChanges) == 0 {
		return
	}
	s.title("What may surprise you")
	for _, change := range schedule.ClockChanges {
		s.paragraph("  ", "    ", change.Date+": "+change.Words, table.Plain)
	}
	for i, surprise := range schedule.Surprises {
		if i == mostSurprises {
			s.line(fmt.Sprintf("  and %d more: carillon explain tells them", len(schedule.Surprises)-i))
			return
		}
		s.paragraph("  ", "    ", surprise.Message, table.Plain)
	}
}

// mostSurprises is how many are told.
const mostSurprises = 3

func (s *screen) events(d *description.Description) {
	if len(d.Events) > 0 {
		s.title("Warnings")
	}
	for i := range d.Events {
		e := &d.Events[i]
		text := e.Reason
		if e.Time != nil {
			text = duration.FromNow(*e.Time, d.Now) + ", " + text
		}
		if e.Count > 1 {
			text += fmt.Sprintf(", %d times", e.Count)
		}
		s.paragraph("  ", "    ", text+": "+e.Message, table.Plain)
	}
}

// more says where the runs come from, what is missing, and what leads on.
func (s *screen) more(d *description.Description) {
	s.title("More")
	widest := 0
	for _, step := range d.Steps {
		if n := table.Width(console.EscapeControls(step.Command)); n <= s.width/2+s.width/8 {
			widest = max(widest, n)
		}
	}
	for _, step := range d.Steps {
		command, why := console.EscapeControls(step.Command), console.EscapeControls(step.Why)
		gap := max(2, widest-table.Width(command)+2)
		if len(screenIndent)+table.Width(command)+gap+table.Width(why) > s.width {
			s.line(screenIndent + command)
			if step.Destructive { // whoever pastes it is to know what it does
				s.paragraph(screenIndent+screenIndent, screenIndent+screenIndent, step.Why, table.Dim)
			}
			continue
		}
		s.line(screenIndent + command + strings.Repeat(" ", gap) + table.Dim.Paint(why, s.color))
	}
	s.blank()
	for _, missing := range d.Missing {
		s.paragraph("Not known: ", "  ", missing, table.Dim)
	}
	if d.Origin != "" {
		s.paragraph("Runs are from ", "  ", d.Origin+".", table.Dim)
	}
}
