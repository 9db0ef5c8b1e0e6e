// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/words"
)

// Lines are the explanation as text for people, each line at most width columns wide where words allow it. They hold
// text of the object as it stands, so whoever shows them on a terminal makes control characters visible first.
func (e *Explanation) Lines(width int) []string {
	w := &writer{width: max(width, 40)}
	w.title(e)
	w.schedules(e)
	if e.Obstacle != "" {
		text := strings.TrimSuffix(e.Obstacle, ".") + "."
		if !strings.HasPrefix(text, "Nothing") {
			text = "Nothing starts as it is written: " + text
		}
		w.para(0, text)
		w.blank()
	}
	if e.Frequency != nil {
		if e.Obstacle == "" {
			w.heading("How often")
		} else {
			w.heading("How often it would run")
		}
		w.frequency(e)
	}
	w.clockChanges(e)
	w.surprises(e)
	w.policies(e)
	for len(w.lines) > 0 && w.lines[len(w.lines)-1] == "" {
		w.lines = w.lines[:len(w.lines)-1]
	}
	return w.lines
}

// writer collects lines.
type writer struct {
	width int
	lines []string
}

func (w *writer) blank() { w.lines = append(w.lines, "") }

func (w *writer) heading(text string) { w.lines = append(w.lines, text) }

// para writes a paragraph, indented by so many blanks.
func (w *writer) para(indent int, text string) { w.hang(indent, indent, text) }

// hang writes a paragraph whose first line is indented otherwise than the others; none if there is no text.
func (w *writer) hang(first, others int, text string) {
	if text != "" {
		w.lines = append(w.lines, paragraph.Lines(strings.Repeat(" ", first), strings.Repeat(" ", others), text, w.width)...)
	}
}

func (w *writer) title(e *Explanation) {
	if e.Object == nil {
		return
	}
	title := fmt.Sprintf("%s %s/%s", e.Object.Kind, e.Object.Namespace, e.Object.Name)
	if group, _, grouped := strings.Cut(e.Object.APIVersion, "/"); grouped && group != jobGroup && e.Object.Kind == "CronJob" {
		title += " of " + group
	}
	if e.Object.Source != "" {
		title += " (" + e.Object.Source + ")"
	}
	w.para(0, title)
	w.blank()
}

func (w *writer) schedules(e *Explanation) {
	for _, s := range e.Schedules {
		name := ""
		if s.Name != "" && len(e.Schedules) > 1 {
			name = s.Name + ": "
		}
		w.lines = append(w.lines, name+strings.Join(strings.Fields(s.Text), " "))
		if s.Words != "" {
			w.para(2, s.Sentence()+e.zoneWords(len(e.Schedules))+".")
		}
		for _, note := range s.Notes {
			w.para(2, note)
		}
	}
	if len(e.Schedules) > 1 && e.TimeZone.Matters {
		w.para(2, "Local times are those of "+e.TimeZone.Name+". A time that several name is one run.")
	}
	for _, limit := range e.Limits {
		w.para(2, limit)
	}
	if e.Next != nil {
		text := "Next: " + when(*e.Next)
		if e.Next.Location() != time.UTC && e.Next.Format("-07:00") != "+00:00" {
			text += " = " + e.Next.UTC().Format("15:04 UTC")
		}
		text += ", " + duration.FromNow(*e.Next, e.Now)
		if late := e.NextStart.Sub(*e.Next); late > 0 {
			text += "; it starts " + words.Duration(late) + " later (jitter)"
		}
		switch {
		case e.Paused:
			text += ". It is paused because too many runs have failed, so what comes while it is does not start"
		case e.Suspended:
			text += ". It is suspended, so what comes while it is does not start"
		case e.FromNow:
			text += " if it were created now"
		}
		w.para(2, text+".")
	} else if e.Obstacle == "" && len(e.Schedules) > 0 {
		w.para(2, "There is no next time.")
	}
	if e.Remark != "" {
		w.para(2, e.Remark)
	}
	if len(e.Schedules) > 0 {
		w.blank()
	}
}

// Sentence is the words as a sentence, without its full stop: "It runs at 02:00 every day"; "" if there are none.
func (s *Schedule) Sentence() string {
	if s.Words == "" {
		return ""
	}
	if rest, never := strings.CutPrefix(s.Words, "never"); never {
		return "It never runs" + rest
	}
	return "It runs " + s.Words
}

// zoneWords name the zone behind the words of the only schedule.
func (e *Explanation) zoneWords(schedules int) string {
	if !e.TimeZone.Matters || schedules > 1 {
		return ""
	}
	return "; time zone " + e.TimeZone.Name
}

func when(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("Mon 2006-01-02 15:04:05 -07:00")
	}
	return t.Format("Mon 2006-01-02 15:04 -07:00")
}

func (w *writer) frequency(e *Explanation) {
	f := e.Frequency
	switch {
	case f.Runs == 0:
		w.para(2, "Not at all in the next two years.")
		w.blank()
		return
	case f.Runs < 12*years:
		w.para(2, quantity.Count(f.Runs, "run")+" in the next two years.")
	case f.LeastInMonth.Runs == f.MostInMonth.Runs:
		w.para(2, fmt.Sprintf("%s in each month", count(float64(f.MostInMonth.Runs), "run"))+perDay(f)+".")
	default:
		w.para(2, fmt.Sprintf("%s a month%s. The month with the fewest (%s) has %d, the one with the most (%s) %d.",
			count(f.PerMonth, "run"), perDay(f), f.LeastInMonth.Month, f.LeastInMonth.Runs, f.MostInMonth.Month, f.MostInMonth.Runs))
	}
	if f.SmallestDistanceSeconds > 0 && f.Runs > 1 {
		least, most := time.Duration(f.SmallestDistanceSeconds)*time.Second, time.Duration(f.LargestDistanceSeconds)*time.Second
		if least == most {
			w.para(2, "Each is "+words.Duration(least)+" after the one before.")
		} else {
			w.para(2, "From one to the next it is "+words.Duration(least)+" at least and "+words.Duration(most)+" at most.")
		}
	}
	w.blank()
}

func perDay(f *Frequency) string {
	if f.PerDay < 1 {
		return ""
	}
	return ", " + count(f.PerDay, "run") + " a day"
}

// count says a mean: whole ones as they are, small ones with a digit.
func count(n float64, noun string) string {
	rounded := fmt.Sprintf("%.0f", n)
	if n < 100 {
		rounded = strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	if rounded == "1" {
		return "1 " + noun
	}
	return rounded + " " + noun + "s"
}

func (w *writer) clockChanges(e *Explanation) {
	if e.Obstacle != "" && len(e.ClockChanges) == 0 {
		return
	}
	w.heading("When the clocks change, until " + e.Until.Format("January 2006"))
	switch {
	case !e.TimeZone.Matters:
		w.para(2, "None: its times do not hang on a wall clock.")
	case len(e.ClockChanges) == 0 && e.TimeZone.Name == "UTC":
		w.para(2, "None: the clocks of UTC never change.")
	case len(e.ClockChanges) == 0:
		w.para(2, "None: in "+e.TimeZone.Name+" the clocks do not change.")
	}
	if quiet := e.quietDays(); quiet != "" {
		w.para(2, quiet)
		w.blank()
		return
	}
	for _, c := range e.ClockChanges {
		direction := "forward"
		if c.ShiftSeconds < 0 {
			direction = "back"
		}
		date, _ := time.Parse(time.DateOnly, c.Date)
		w.hang(2, 4, fmt.Sprintf("%s: %s from %s to %s. %s", date.Format("Mon 2006-01-02"), direction, c.From, c.To, c.Words))
	}
	w.blank()
}

// quietDays says that nothing changes on any of the days; "" if something does.
func (e *Explanation) quietDays() string {
	var dates []string
	for _, c := range e.ClockChanges {
		if c.Effect != effectNone || c.leftOut {
			return ""
		}
		dates = append(dates, c.Date)
	}
	if len(dates) == 0 {
		return ""
	}
	return strings.Join(dates, ", ") + ": nothing changes for it, because the clock neither skips nor repeats any of its times."
}

func (w *writer) surprises(e *Explanation) {
	if len(e.Surprises) == 0 {
		return
	}
	w.heading("What may surprise you")
	for _, s := range e.Surprises {
		w.hang(2, 4, s.ID+": "+s.Message)
		if s.Cure != "" {
			w.para(4, "→ "+s.Cure)
		}
	}
	w.blank()
}

// Heading says in a few words in which situation it matters: "When a run fails".
func (p *Policy) Heading() string { return topics[p.Topic] }

// topics are the headings of policies.
var topics = map[string]string{
	topicOverlap: "When a run is still busy", topicOutage: "After an outage", topicFailure: "When a run fails",
	topicSuspend: "When it is suspended", topicEdit: "When it is edited", topicHistory: "What is kept",
}

func (w *writer) policies(e *Explanation) {
	last := ""
	for _, p := range e.Policies {
		if p.Topic != last {
			w.heading(p.Heading())
		}
		last = p.Topic
		w.hang(2, 4, p.Setting)
		w.para(4, p.Words)
	}
	w.blank()
}
