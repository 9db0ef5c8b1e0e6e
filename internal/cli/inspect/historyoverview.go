// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// overviewAnswer is what the history of all objects is written from.
type overviewAnswer struct {
	lines      []history.Line
	period     history.Period
	namespace  string // "" for all
	namespaces bool
	stopped    bool // as of historyAnswer
	origin     string
	zone       *time.Location
	now        time.Time
}

// A screen shows so many lines beside those of objects, and at least a few of these.
const (
	besideOverview = 8
	fewestListed   = 5
)

// mostJobsListed is how many Jobs that no schedule made are listed: each is one run.
const mostJobsListed = 20

// writeOverview writes a line for each object.
func (h *historyCommand) writeOverview(o *overviewAnswer) error {
	p := &textPrinter{w: h.streams.Out, width: min(h.width, widestText), color: h.color}
	where := "namespace " + o.namespace
	if o.namespaces {
		where = "all namespaces"
	}
	p.title("Runs in " + where + periodText(o.period, o.zone))
	if len(o.lines) == 0 {
		p.line("")
		text := "No run is known"
		if h.period.named() {
			text += " in that time"
		}
		if !o.namespaces {
			text += " (-A looks in all namespaces, -n in another one)"
		}
		p.paragraph(text + ".")
	} else {
		p.line("")
		t, hidden := overviewTable(o, h.format == "wide")
		below := 0
		if room := max(h.rows-besideOverview, fewestListed); h.rows > 0 && h.format != "wide" && len(t.Rows) > room {
			below, t.Rows = len(t.Rows)-room, t.Rows[:room]
		}
		p.table(t, h.tableWidth())
		switch {
		case below > 0:
			p.paragraph(fmt.Sprintf("… and %s more (-o wide lists all).", quantity.Grouped(below+hidden)))
		case hidden > 0:
			p.paragraph(fmt.Sprintf("… and %s that no schedule has made, before these (-o wide lists all).", quantity.CountGrouped(hidden, "Job")))
		}
	}
	p.line("")
	p.paragraph("From " + o.origin + ".")
	return p.err
}

// overviewTable is the table of all objects; hidden is how many Jobs are not in it.
func overviewTable(o *overviewAnswer, all bool) (t *table.Table, hidden int) {
	t = &table.Table{Columns: []table.Column{
		{Header: "NAMESPACE"}, {Header: "NAME"}, {Header: "RUNS", Right: true}, {Header: "OK", Right: true}, {Header: "MEDIAN", Right: true},
		{Header: "LONGEST", Right: true, Priority: 2}, {Header: "TREND", Right: true, Priority: 3}, {Header: "NOT RUN", Right: true, Priority: 1}, {Header: "LAST", Min: 9}, {Header: "", Priority: 4},
	}}
	jobs := 0
	for i := range o.lines {
		line := &o.lines[i]
		if line.Newest != nil && line.Newest.Owner.Name == "" {
			if jobs++; jobs > mostJobsListed && !all {
				hidden++
				continue
			}
		}
		t.Rows = append(t.Rows, overviewRow(line, o))
	}
	return t, hidden
}

func overviewRow(line *history.Line, o *overviewAnswer) []table.Cell {
	s := &line.Summary
	var row [10]table.Cell
	if o.namespaces {
		row[0] = table.Text(line.Namespace)
	}
	row[1] = table.Text(strings.ToLower(line.Kind) + "/" + line.Name)
	row[2] = table.Text(quantity.Grouped(s.Runs))
	if rate, ok := s.SuccessRate(); ok {
		row[3] = table.Cell{Text: percent(rate), Color: table.Green}
		if s.Failed > 0 {
			row[3].Color = table.Red
		}
	}
	if s.Took.Runs > 0 {
		row[4], row[5] = table.Text(took(s.Took.Median)), table.Text(took(s.Took.Longest))
	}
	if s.Trend != nil {
		row[6] = table.Text(fmt.Sprintf("%+.0f %%", s.Trend.Change()*100))
	}
	if n := s.Missed + s.Skipped; n > 0 {
		row[7] = table.Cell{Text: quantity.Grouped(n)}
		if s.Missed > 0 {
			row[7].Color = table.Yellow
		}
	}
	if r := line.Newest; r != nil {
		row[8] = outcomeCell(r)
		row[9] = table.Cell{Text: lastText(r, o.now), Color: table.Dim}
		if o.stopped && !r.Outcome.Ended() {
			row[8], row[9].Text = notEnded, "begun "+duration.FromNow(r.Begun(), o.now)
		}
	}
	return row[:]
}

// lastText is when a run ended, or began.
func lastText(r *run.Run, now time.Time) string {
	if !r.Ended.IsZero() {
		return duration.FromNow(r.Ended, now)
	}
	return "since " + strings.TrimSuffix(duration.FromNow(r.Begun(), now), " ago")
}
