// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/plan/description"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

func (s *screen) table(t *table.Table) {
	t.Indent = len(screenIndent)
	s.lines = append(s.lines, t.Lines(s.tables, s.color)...)
}

// next is the table of the next times.
func (s *screen) next(d *description.Description, there *time.Location) {
	schedule := d.Schedule
	if len(schedule.Next) == 0 {
		if schedule.Obstacle == "" {
			s.fact("Next", "no time will come again")
		}
		return
	}
	title := "Next times"
	if schedule.Held {
		title += ", which will pass without a run as it is"
	}
	s.title(title)
	t := table.Table{Columns: []table.Column{{Header: strings.ToUpper(zoneName(d.Zone()))}, {Header: "DISTANCE"}}}
	if there != nil {
		header := "WHERE YOU ARE"
		if s.zone != "" {
			header = strings.ToUpper(s.zone)
		}
		t.Columns = append(t.Columns, table.Column{Header: header})
	}
	t.Columns = append(t.Columns, table.Column{Header: "STARTS", Priority: 1})
	for _, n := range schedule.Next {
		row := []table.Cell{table.Text(fullTime(n.Time)), table.Text(duration.FromNow(n.Time, d.Now))}
		if there != nil {
			row = append(row, table.Text(fullTime(n.There.In(there))))
		}
		if n.StartTime != nil {
			row = append(row, table.Text(n.StartTime.Format("15:04:05")+" (jitter)"))
		}
		t.Rows = append(t.Rows, row)
	}
	s.table(&t)
}

// zoneName is how people call a zone: that of this machine has no name of its own.
func zoneName(zone *time.Location) string {
	if zone == time.Local {
		return "your time zone"
	}
	return zone.String()
}

func fullTime(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("Mon 2006-01-02 15:04:05 -07:00")
	}
	return t.Format("Mon 2006-01-02 15:04 -07:00")
}

func shortTime(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("Mon 01-02 15:04:05")
	}
	return t.Format("Mon 01-02 15:04")
}

// latest is the table of what became of the latest times.
func (s *screen) latest(d *description.Description) {
	if d.Object.Kind == "Job" {
		return
	}
	s.title("Latest runs, times in " + zoneName(d.Zone()))
	t := table.Table{
		Columns: []table.Column{{Header: "TIME"}, {Header: "DISTANCE", Priority: 2}, {Header: "OUTCOME"}, {Header: "TOOK", Right: true}, {Header: "REASON", Min: 12}, {Header: "RUN", Priority: 1}},
		Empty:   "none is known",
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		at := e.Time()
		row := []table.Cell{table.Text(shortTime(at.In(d.Zone()))), table.Text(duration.FromNow(at, d.Now))}
		if e.Run != nil {
			row = append(row, s.runCells(e.Run)...)
		} else {
			row = append(row, s.omissionCells(e.Omission, d)...)
		}
		t.Rows = append(t.Rows, row)
	}
	s.table(&t)
}

func (s *screen) runCells(r *run.RunDocument) []table.Cell {
	mark, word := description.MarkOf(r.Outcome), strings.ToLower(string(r.Outcome))
	if r.Retrying {
		mark, word = description.Active, "retrying"
	}
	lasted, reason := "", reasonOf(r)
	switch {
	case s.remembered && r.Outcome == run.Active:
		word, reason = "not ended", strings.TrimSuffix("when the journal was written last, "+reason, ", ")
	case r.DurationSeconds != nil:
		lasted = took(seconds(*r.DurationSeconds))
	}
	return []table.Cell{
		{Text: s.glyph(mark) + " " + word, Color: markColors[mark]}, table.Text(lasted),
		table.Text(reason), {Text: strings.ToLower(r.Kind) + "/" + r.Name, Color: table.Dim},
	}
}

// reasonOf says why a run ended as it did, and how it came to be, where there is something to say.
func reasonOf(r *run.RunDocument) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if r.Outcome != run.Succeeded && r.Outcome != run.Active {
		add(r.Reason)
		if r.ExitCode != nil && *r.ExitCode != 0 {
			add(fmt.Sprintf("exit code %d", *r.ExitCode))
		}
	}
	switch {
	case r.Suspended:
		add("suspended")
	case r.Trigger == run.Manual:
		add("by hand")
	case r.Trigger == run.CatchUp:
		add("made up for")
	case r.LatenessSeconds != nil && *r.LatenessSeconds > late.Seconds() && r.Retry <= 1:
		add(duration.Short(seconds(*r.LatenessSeconds)) + " late")
	}
	if r.Retry > 1 {
		add(fmt.Sprintf("try %d", r.Retry))
	}
	return strings.Join(parts, ", ")
}

// late is from when on a start is called late: a create takes its time.
const late = 10 * time.Second

func (s *screen) omissionCells(o *run.OmissionDocument, d *description.Description) []table.Cell {
	mark, word := description.Skipped, "skipped"
	if o.Missed {
		mark, word = description.Missed, "missed"
	}
	text := o.Reason
	if o.Count > 1 && o.ScheduledTime != nil {
		text = fmt.Sprintf("%s; %s since %s", o.Reason, quantity.Count(int(o.Count), "time"), shortTime(o.ScheduledTime.In(d.Zone())))
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	return []table.Cell{{Text: s.glyph(mark) + " " + word, Color: markColors[mark]}, table.Text(""), table.Text(text)}
}

// failure is the last run that failed, or the Job itself, with its attempts and the end of its output.
func (s *screen) failure(d *description.Description) {
	f := d.Failure
	if f == nil {
		return
	}
	if d.Object.Kind == "Job" {
		s.title("Attempts")
		s.attempts(d)
	} else {
		title := "Last failure: " + strings.ToLower(f.Run.Kind) + "/" + f.Run.Name
		if f.Run.EndTime != nil {
			title += ", " + duration.FromNow(*f.Run.EndTime, d.Now)
		}
		s.title(title)
		if text := cmp.Or(f.Run.Message, f.Run.Reason); text != "" {
			s.paragraph(screenIndent, screenIndent, text, table.Plain)
		}
		if last := lastFailed(f); last != nil {
			s.paragraph(screenIndent, screenIndent, attemptText(last, f), table.Plain)
		}
	}
	if len(f.Lines) == 0 {
		s.paragraph(screenIndent, screenIndent, "No output: "+cmp.Or(f.Missing, "none is kept")+".", table.Dim)
		return
	}
	if d.Object.Kind == "Job" {
		s.title("The end of the output of " + f.Pod + ", container " + f.Container)
	}
	for _, line := range f.Lines {
		s.line(table.Shorten(screenIndent+s.bar()+" "+console.EscapeControls(line), s.width))
	}
}

func (s *screen) bar() string {
	if s.ascii {
		return "|"
	}
	return "│"
}

func lastFailed(f *description.Failure) *run.AttemptDocument {
	for i := len(f.Attempts) - 1; i >= 0; i-- {
		if a := &f.Attempts[i]; a.ExitCode != nil && (*a.ExitCode != 0 || a.Signal != 0) {
			return a
		}
	}
	return nil
}

func attemptText(a *run.AttemptDocument, f *description.Failure) string {
	text := fmt.Sprintf("Container %s of Pod %s ended with exit code %d", a.Container, a.Pod, *a.ExitCode)
	if a.Reason != "" && a.Reason != "Error" {
		text += " (" + a.Reason + ")"
	}
	if n := len(f.Attempts); n > 1 {
		text += fmt.Sprintf(", the last of %d attempts", n)
	}
	if len(f.Lines) > 0 {
		return text + "; the end of its output:"
	}
	return text + "."
}

// attempts is the table of the containers of a Job.
func (s *screen) attempts(d *description.Description) {
	t := table.Table{
		Columns: []table.Column{
			{Header: "POD", Min: 16}, {Header: "CONTAINER", Min: 8, Priority: 1}, {Header: "STARTED"}, {Header: "TOOK", Right: true}, {Header: "EXIT", Right: true},
			{Header: "REASON", Min: 8}, {Header: "MEMORY", Right: true, Priority: 2}, {Header: "OUTPUT", Right: true, Priority: 3},
		},
		Empty: "none is known",
	}
	from := max(0, len(d.Failure.Attempts)-mostAttempts)
	for i := range d.Failure.Attempts[from:] {
		a := &d.Failure.Attempts[from+i]
		started, lasted, exit, color := "not started", "", "running", table.Plain
		if a.StartTime != nil {
			started = duration.FromNow(*a.StartTime, d.Now)
		}
		if a.DurationSeconds != nil {
			lasted = took(seconds(*a.DurationSeconds))
		}
		if a.ExitCode != nil {
			exit, color = fmt.Sprint(*a.ExitCode), table.Green
			if *a.ExitCode != 0 || a.Signal != 0 {
				color = table.Red
			}
		}
		t.Rows = append(t.Rows, []table.Cell{
			table.Text(a.Pod), table.Text(a.Container), table.Text(started), table.Text(lasted), {Text: exit, Color: color}, {Text: a.Reason, Color: color},
			table.Text(bytesText(a.MemoryPeakBytes)), table.Text(bytesText(a.OutputBytes)),
		})
	}
	s.table(&t)
	if from > 0 {
		s.line(fmt.Sprintf("  and %s before them", quantity.Count(from, "attempt")))
	}
}

// mostAttempts is how many are shown.
const mostAttempts = 12

func bytesText(n *int64) string {
	if n == nil {
		return ""
	}
	return quantity.Bytes(*n)
}

func (s *screen) conditions(d *description.Description) {
	if len(d.Conditions) == 0 {
		return
	}
	s.title("Conditions")
	t := table.Table{Columns: []table.Column{{Header: "TYPE"}, {Header: "STATUS"}, {Header: "SINCE"}, {Header: "REASON", Min: 8}, {Header: "MESSAGE", Min: 16, Priority: 1}}}
	for _, c := range d.Conditions {
		since := ""
		if c.Since != nil {
			since = duration.FromNow(*c.Since, d.Now)
		}
		t.Rows = append(t.Rows, []table.Cell{table.Text(c.Type), table.Text(c.Status), table.Text(since), table.Text(c.Reason), table.Text(c.Message)})
	}
	s.table(&t)
}
