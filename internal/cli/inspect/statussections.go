// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/client/overview"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// section is one part of the screen: a table whose header is its title.
type section struct {
	columns []table.Column
	rows    [][]table.Cell
	// beneath are lines under a row, by its index.
	beneath map[int][]string
	shown   int
	// lead is the command that leads on.
	lead string
}

// cost is how many lines an item takes.
func (s *section) cost(item int) int { return 1 + len(s.beneath[item]) }

func (s *section) lines(t *statusText) []string {
	if s.shown == 0 {
		line := fmt.Sprintf("%s: %s (--all shows more)", s.columns[0].Header, quantity.Grouped(len(s.rows)))
		return []string{table.Dim.Paint(table.Shorten(line, max(t.columns, 1)), t.color)}
	}
	whole := table.Table{Columns: s.columns, Rows: s.rows[:s.shown]}
	lines := whole.Lines(t.columns, t.color)
	out := lines[:1:1]
	for i, line := range lines[1:] {
		out = append(out, line)
		for _, text := range s.beneath[i] {
			text = "  │ " + console.EscapeControls(text)
			if t.columns > 0 {
				text = table.Shorten(text, t.columns)
			}
			out = append(out, table.Dim.Paint(text, t.color))
		}
	}
	end := "→ " + s.lead
	if more := len(s.rows) - s.shown; more > 0 {
		end = fmt.Sprintf("… and %s more (--all); %s", quantity.Grouped(more), s.lead)
	}
	if t.columns > 0 {
		end = table.Shorten(end, t.columns)
	}
	return append(out, table.Dim.Paint(end, t.color))
}

// sections are those that have something.
func (t *statusText) sections() []section {
	s := t.known.status
	var all []section
	for _, made := range []section{t.failed(s.Failed), t.late(s.Late), t.blocked(s.Blocked), t.running(s.Running), t.missed(s.Missed), t.due(s.Due), t.paused(s.Paused)} {
		if len(made.rows) > 0 {
			all = append(all, made)
		}
	}
	return all
}

// begin is the first columns of a section, and object the cells in them.
func begin(title string, others ...table.Column) []table.Column {
	return append([]table.Column{{Header: title, Min: 20}, {Header: "NAMESPACE", Min: 8, Priority: 3}}, others...)
}

func (t *statusText) object(o status.Object, color table.Color, others ...table.Cell) []table.Cell {
	namespace := o.Namespace
	if namespace == t.known.usual || namespace == t.known.only {
		namespace = ""
	}
	return append([]table.Cell{{Text: o.Reference, Color: color}, table.Text(namespace)}, others...)
}

// command is one that asks about an object.
func (t *statusText) command(verb string, o status.Object, rest string) string {
	text := "carillon " + verb + " " + diagnosis.Quoted(o.Reference)
	if o.Namespace != "" && o.Namespace != t.known.usual {
		flag := " -n "
		if verb == "next" { // whose -n is how many times
			flag = " --namespace "
		}
		text += flag + diagnosis.Quoted(o.Namespace)
	}
	flags := t.known.flags
	if verb == "next" { // which asks the API server
		flags = t.known.server
	}
	return console.EscapeControls(text + rest + flags)
}

func (t *statusText) blocked(all []status.Blocked) section {
	s := section{columns: begin("CANNOT RUN", table.Column{Header: "WHY", Min: 20})}
	for _, b := range all {
		s.rows = append(s.rows, t.object(b.Object, table.Red, table.Text(b.Message)))
	}
	if len(all) > 0 {
		s.lead = t.command("why", all[0].Object, "")
	}
	return s
}

func (t *statusText) failed(all []status.Failure) section {
	now := t.known.status.Now
	title := "FAILED, LAST " + strings.ToUpper(duration.Short(now.Sub(t.known.status.Since)))
	s := section{beneath: map[int][]string{}, columns: begin(title, table.Column{Header: "ENDED"},
		table.Column{Header: "IN A ROW", Right: true, Priority: 2}, table.Column{Header: "REASON", Min: 12})}
	for i := range all {
		f := &all[i]
		color, row := table.Red, quantity.Grouped(f.InARow)
		if f.More {
			row += "+"
		}
		reason := table.Text(failure(f))
		switch {
		case f.Retrying:
			color, row, reason = table.Yellow, "", table.Cell{Text: "tries again; " + reason.Text, Color: table.Yellow}
		case f.Deleted:
			color, reason = table.Dim, table.Cell{Text: "deleted since; " + reason.Text, Color: table.Dim}
		case !f.Recovered.IsZero():
			color, reason = table.Dim, table.Cell{Text: "succeeded " + duration.FromNow(f.Recovered, now) + "; " + reason.Text, Color: table.Green}
		}
		s.rows = append(s.rows, t.object(f.Object, color, table.Text(duration.FromNow(f.Run.Ended, now)), table.Text(row), reason))
		s.beneath[i] = t.tail(i, f)
	}
	if len(all) > 0 {
		s.lead = t.command("logs --failed", all[0].Object, "")
	}
	return s
}

// failure says in a few words why a run failed.
func failure(f *status.Failure) string {
	text := f.Run.Reason
	if text == "" {
		text = "failed"
	}
	if code := f.Run.ExitCode; code != nil && *code != 0 {
		text += fmt.Sprintf(", exit code %d", *code)
	}
	return text
}

// tail is the end of what a failed run wrote: of the first one more than of others, of what is well again nothing.
func (t *statusText) tail(index int, f *status.Failure) []string {
	count := 1
	switch {
	case t.spaced() && (t.all || index == 0):
		count = overview.OutputLines
	case index == 0:
		count = overview.OutputLines - 1
	case !f.Persists():
		return nil
	}
	return f.Output[max(0, len(f.Output)-count):]
}

func (t *statusText) late(all []status.Late) section {
	now := t.known.status.Now
	s := section{columns: begin("LATE", table.Column{Header: "DUE"}, table.Column{Header: "WAITS FOR", Min: 16})}
	for _, l := range all {
		why := l.Reason
		switch {
		case l.Reason == "":
			why = "nobody started it: is its controller at work?"
		case l.Message != "":
			why += ": " + l.Message
		}
		if l.Others > 0 {
			why += fmt.Sprintf(" (and %s more)", quantity.CountGrouped(l.Others, "time"))
		}
		s.rows = append(s.rows, t.object(l.Object, table.Yellow, table.Text(duration.FromNow(l.Due, now)), table.Text(why)))
	}
	if len(all) > 0 {
		s.lead = t.command("why", all[0].Object, "")
	}
	return s
}

func (t *statusText) running(all []status.Running) section {
	title, forHeader, verb := "RUNNING", "FOR", "logs -f"
	if t.known.status.Stopped {
		title, forHeader, verb = strings.ToUpper(run.LeftWords), "BEGAN", "logs"
	}
	s := section{columns: begin(title, table.Column{Header: forHeader, Right: true}, table.Column{Header: "USUALLY", Right: true, Priority: 1},
		table.Column{Header: "NOTE", Min: 16})}
	for i := range all {
		r := &all[i]
		usual, age := "", duration.Short(r.Age)
		if t.known.status.Stopped {
			age = duration.FromNow(r.Run.Begun(), t.known.status.Now)
		}
		if r.Usual.Runs > 0 {
			usual = took(r.Usual.Median)
		}
		note := table.Cell{Text: r.Waits, Color: table.Yellow}
		switch {
		case r.Stuck:
			note.Color = table.Red
		case r.Waits == "" && r.Long:
			note.Text = "longer than usual: " + took(r.Usual.Most) + " at most so far"
		}
		s.rows = append(s.rows, t.object(r.Object, table.Plain, table.Text(age), table.Text(usual), note))
	}
	if len(all) > 0 {
		s.lead = t.command(verb, all[0].Object, "")
		if all[0].Stuck {
			s.lead = t.command("why", all[0].Object, "")
		}
	}
	return s
}

func (t *statusText) missed(all []status.Omitted) section {
	now := t.known.status.Now
	title := "MISSED OR SKIPPED, LAST " + strings.ToUpper(duration.Short(now.Sub(t.known.status.Since)))
	s := section{columns: begin(title, table.Column{Header: "TIMES", Right: true}, table.Column{Header: "LAST"}, table.Column{Header: "WHY", Min: 16})}
	for _, o := range all {
		color, why := table.Dim, "skipped: "
		if o.Missed {
			color, why = table.Yellow, "missed: "
		}
		why += o.Reason
		if o.Message != "" {
			why += ": " + o.Message
		}
		s.rows = append(s.rows, t.object(o.Object, color, table.Text(quantity.Grouped(o.Count)), table.Text(duration.FromNow(o.Last, now)), table.Text(why)))
	}
	if len(all) > 0 {
		s.lead = t.command("why", all[0].Object, " --at "+all[0].Last.UTC().Format(time.RFC3339))
		if all[0].Deleted { // on a cluster without a journal why does not know it
			s.lead = t.command("describe", all[0].Object, "")
		}
	}
	return s
}

func (t *statusText) due(all []status.Due) section {
	now := t.known.status.Now
	s := section{columns: begin("DUE IN THE NEXT HOUR", table.Column{Header: "AT"}, table.Column{Header: "IN"}, table.Column{Header: "TIMES", Right: true, Priority: 1})}
	for i := range all {
		d := &all[i]
		at, zone := d.At, d.Zone
		if t.zone != nil {
			at, zone = at.In(t.zone), t.zone.String()
		}
		if zone == "" {
			zone = at.Location().String()
		}
		clock := "15:04"
		if at.Second() != 0 {
			clock = "15:04:05"
		}
		text := at.Format(clock) + " " + zone
		if !d.StartsAt.IsZero() {
			text += ", starts " + d.StartsAt.In(at.Location()).Format("15:04:05")
		}
		s.rows = append(s.rows, t.object(d.Object, table.Plain, table.Text(text), table.Text(duration.FromNow(d.At, now)), table.Text(quantity.Grouped(d.Count))))
	}
	if len(all) > 0 {
		s.lead = t.command("next", all[0].Object, "")
	}
	return s
}

func (t *statusText) paused(all []status.Paused) section {
	now := t.known.status.Now
	s := section{columns: begin("SUSPENDED OR PAUSED", table.Column{Header: "SINCE"}, table.Column{Header: "WHY", Min: 16})}
	for _, p := range all {
		since, why, color := "", "suspended", table.Dim
		if !p.Since.IsZero() {
			since = duration.FromNow(p.Since, now)
		}
		if p.AtLatest {
			since += " or before"
		}
		if !p.Until.IsZero() {
			until := p.Until
			if t.zone != nil {
				until = until.In(t.zone)
			}
			why = fmt.Sprintf("suspended until %s (%s)", until.Format("2006-01-02 15:04 -07:00"), duration.FromNow(p.Until, now))
		}
		if p.Cause == cron.PauseFailures {
			why, color = "paused, because too many runs in a row failed", table.Yellow
			if p.Failures > 0 {
				why = fmt.Sprintf("paused, because %s in a row failed", quantity.Count(p.Failures, "run"))
			}
		}
		if p.By != "" {
			why += ", written by " + p.By
		}
		s.rows = append(s.rows, t.object(p.Object, color, table.Text(since), table.Text(why)))
	}
	if len(all) > 0 {
		s.lead = t.command("why", all[0].Object, "")
	}
	return s
}
