// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// Text writes the list for people, in lines of at most width columns where words allow it. Distances are from now. What
// users wrote is in it as they wrote it.
func (l *List) Text(now time.Time, width int) string {
	t := text{width: width}
	l.head(&t, now)
	if l.End == NothingReads {
		return t.String()
	}
	t.line("")
	l.table(&t, now)
	return t.String()
}

func (l *List) head(t *text, now time.Time) {
	s := l.Source
	title := s.Title
	switch {
	case s.Written != "":
		title += " (" + s.Written + ")"
	case s.Namespace != "":
		title += " (namespace " + s.Namespace + ")"
	}
	t.wrapped("", "  ", title)
	for _, schedule := range s.Schedules {
		if !s.expression {
			t.fact("schedule", schedule)
		}
	}
	if s.ZoneName != "" && s.Every == 0 {
		zone := s.ZoneName
		switch {
		case s.ZoneAssumed && s.Language == CronJob && s.Namespace != "":
			zone += ", assumed: without spec.timeZone it is the zone of the controller (--zone tells which)"
		case s.ZoneAssumed && s.Language == CronJob:
			zone += ", assumed: choose one with --zone"
		}
		t.fact("time zone", zone)
	}
	l.window(t)
	if s.Jitter > 0 {
		t.fact("jitter", fmt.Sprintf("up to %s: that of this Timetable is %s", shortDuration(s.Jitter), shortDuration(s.offset)))
	}
	switch {
	case s.Suspended:
		t.fact("suspended", "nothing starts at these times until spec.suspend is false")
	case s.SuspendedUntil.After(now):
		t.fact("suspended", "until "+l.instant(s.SuspendedUntil)+": nothing starts before")
	}
	if s.Paused {
		t.fact("paused", "too many runs in a row have failed: nothing starts at these times until the annotation "+
			v1alpha1.AnnotationResume+" gets another value, or the spec is edited")
	}
	for _, remark := range s.remarks(now) {
		t.fact("note", remark)
	}
	if s.Obstacle != "" {
		t.fact("obstacle", s.Obstacle)
	}
}

// remarks are the Remarks, and what follows from a suspension that has not ended.
func (s *Source) remarks(now time.Time) []string {
	if s.catchesUp && (s.Suspended || s.Paused || s.SuspendedUntil.After(now)) {
		return append([]string{"onResume is CatchUp: when the schedule goes on, it makes up for what passed, as catchUp says"}, s.Remarks...)
	}
	return s.Remarks
}

func (l *List) window(t *text) {
	s := l.Source
	if !s.NotBefore.IsZero() {
		t.fact("window", "from "+l.instant(s.NotBefore))
	}
	if !s.NotAfter.IsZero() {
		t.fact("window", "to "+l.instant(s.NotAfter))
	}
}

// table writes times and omissions in their order.
func (l *List) table(t *text, now time.Time) {
	f := l.format(t.width)
	if len(l.Times) > 0 {
		t.line(f.row("  ", "LOCAL TIME", l.Heading, "UTC", "FROM NOW", l.schedulesTitle()))
	}
	omissions := l.Omissions
	for _, at := range l.Times {
		// A shift stands at the instant of its gap.
		for len(omissions) > 0 && !omissions[0].At.After(at.At) {
			t.wrapped("  - ", "    ", l.omission(omissions[0], f))
			omissions = omissions[1:]
		}
		names := oneLine(strings.Join(at.Names, ", "))
		row := func(names string) string {
			beside := ""
			if f.beside {
				beside = at.At.In(l.Beside).Format(f.local)
			}
			return f.row("  ", at.At.Format(f.local), beside, at.At.UTC().Format(f.utc), duration.FromNow(at.At, now), names)
		}
		if utf8.RuneCountInString(row(names)) <= t.width {
			t.line(row(names))
		} else {
			t.line(row(""))
			t.wrapped("      ", "      ", "schedules: "+names)
		}
		for _, note := range l.notes(at, f) {
			t.wrapped("      ", "      ", note)
		}
	}
	for _, o := range omissions {
		t.wrapped("  - ", "    ", l.omission(o, f))
	}
	t.wrapped("  ", "  ", l.end())
}

func (l *List) schedulesTitle() string {
	if len(l.Source.items) > 1 {
		return "SCHEDULE"
	}
	return ""
}

// Ending says why there are fewer times than were asked for, in a sentence; "" if there are not.
func (l *List) Ending() string { return l.end() }

func (l *List) end() string {
	later := "no later time"
	if len(l.Times) == 0 {
		later = "no time to come"
		if !l.Last.IsZero() {
			later += ", the last was " + l.instant(l.Last)
		}
	}
	switch l.End {
	case NoMoreTimes:
		return "There is " + later + "."
	case WindowEnds:
		return "There is " + later + ": the window ends."
	case Year9999:
		return "Later times are after the year 9999."
	case AllExcluded:
		return "There is " + later + ": all are excluded."
	}
	return ""
}

// Notes are what there is to say of one of the times, a part of a sentence each: "stands for 02:30, which does not
// exist in Europe/Berlin on that day".
func (l *List) Notes(t Time) []string { return l.notes(t, l.format(0)) }

// Omitted says in words what is omitted, and why.
func (l *List) Omitted(o Omission) string { return l.omission(o, l.format(0)) }

// notes are what there is to say of a time.
func (l *List) notes(t Time, f format) []string {
	var notes []string
	if from := t.ShiftedFrom; from != nil {
		notes = append(notes, fmt.Sprintf("stands for %s, which %s not exist in %s on that day", f.walls(*from), do(from.Count), l.Source.ZoneName))
	}
	if t.Twice != "" {
		note := fmt.Sprintf("%s of two at which the clock shows %s", map[Showing]string{First: "the first", Second: "the second"}[t.Twice], f.clock(t.At))
		if t.OtherOmitted {
			note += "; nothing starts at the other"
		}
		notes = append(notes, note)
	}
	start := t.At
	if !t.PlannedStart.IsZero() {
		start = t.PlannedStart
	}
	if start.Sub(t.At) < l.Source.offset {
		notes = append(notes, fmt.Sprintf("starts at %s: its jitter is cut, because the next time follows", start.Format(secondsOfDay)))
	}
	if t.Suspended && !l.Source.Suspended && !l.Source.Paused {
		notes = append(notes, "suspended")
	}
	return notes
}

func (l *List) omission(o Omission, f format) string {
	what := f.walls(o.Span)
	if o.Count == 1 {
		what = f.day(o.First) + " " + f.clock(o.First)
	} else if f.day(o.First) != f.day(o.Last) {
		what = fmt.Sprintf("%d times, %s %s to %s %s,", o.Count, f.day(o.First), f.clock(o.First), f.day(o.Last), f.clock(o.Last))
	} else {
		what = f.day(o.First) + " " + what
	}
	if len(o.Names) > 0 {
		what += " (" + strings.Join(o.Names, ", ") + ")"
	}
	if o.Reason == Gap {
		return fmt.Sprintf("%s %s not exist in %s; skipped", what, do(o.Count), l.Source.ZoneName)
	}
	var by []string
	for _, e := range o.By {
		by = append(by, e.String())
	}
	if len(by) == 0 {
		return what + " excluded by many periods"
	}
	return what + " excluded by " + strings.Join(by, " and ")
}

// String names the exclusion as messages do.
func (e Exclusion) String() string {
	if e.Calendar == "" {
		return "period " + e.Period
	}
	text := fmt.Sprintf("Calendar %s (%s", e.Calendar, e.Period)
	if e.Name != "" {
		text += ", " + e.Name
	}
	return text + ")"
}

func do(count int) string {
	if count == 1 {
		return "does"
	}
	return "do"
}

// oneLine is text without breaks of lines.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// text is lines of limited width.
type text struct {
	strings.Builder
	width int
}

func (t *text) line(line string) { t.WriteString(strings.TrimRight(line, " ") + "\n") }

// fact writes a line of the head.
func (t *text) fact(name, value string) {
	t.wrapped(fmt.Sprintf("  %-10s ", name), strings.Repeat(" ", 13), value)
}

// wrapped breaks words into lines: first goes before the first one, rest before the others. There are none if there are
// no words.
func (t *text) wrapped(first, rest, words string) {
	if words == "" {
		return
	}
	for _, line := range paragraph.Lines(first, rest, words, t.width) {
		t.line(line)
	}
}
