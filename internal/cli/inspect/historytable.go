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
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// tableWidth is how wide tables may be: with -o wide, and where no terminal shows them, as wide as they are.
func (h *historyCommand) tableWidth() int {
	if h.format == "wide" || h.piped {
		return 0
	}
	return h.width
}

// entries is the table of runs and omissions.
func (h *historyCommand) entries(a *historyAnswer) *table.Table {
	wide := h.format == "wide"
	t := &table.Table{Columns: []table.Column{
		{Header: "TIME"}, {Header: "AGO", Priority: 5}, {Header: "LATE", Right: true, Priority: 2}, {Header: "TOOK", Right: true}, {Header: "", Priority: 4},
		{Header: "OUTCOME"}, {Header: "WHY", Min: 36}, {Header: "ATTEMPTS", Right: true, Priority: 1}, {Header: "MEMORY", Right: true, Priority: 3},
		{Header: "CPU", Right: true, Priority: 3}, {Header: "OUTPUT", Right: true, Priority: 3},
	}}
	if wide {
		t.Columns = append(t.Columns, table.Column{Header: "STARTED"}, table.Column{Header: "ENDED"}, table.Column{Header: "NAME"}, table.Column{Header: "MESSAGE"})
	}
	entries := a.history.Entries[:a.listed]
	longest := time.Duration(0)
	for i := range entries {
		if r := entries[i].Run; r != nil && !a.stoppedDuring(r) {
			longest = max(longest, r.Duration(a.now))
		}
	}
	for i := range entries {
		e := &entries[i]
		if e.Before {
			t.Rows = append(t.Rows, []table.Cell{6: {Text: "of an earlier object of this name:", Color: table.Dim}})
		}
		if e.Omission != nil {
			t.Rows = append(t.Rows, omissionRow(e.Omission, a))
			continue
		}
		row := runRow(e.Run, longest, a)
		if wide {
			row = append(row, timeCell(e.Run.Started, a.zone), timeCell(e.Run.Ended, a.zone), table.Text(kindWord(e.Run)+"/"+e.Run.Name), table.Text(e.Run.Message))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func timeCell(t time.Time, zone *time.Location) table.Cell {
	if t.IsZero() {
		return table.Text("")
	}
	return table.Text(clockIn(t, zone))
}

func runRow(r *run.Run, longest time.Duration, a *historyAnswer) []table.Cell {
	var row [11]table.Cell
	row[0] = timeCell(r.Time(), a.zone)
	row[1] = table.Cell{Text: duration.FromNow(r.Time(), a.now), Color: table.Dim}
	if late := r.Lateness(); late > history.Late && r.Retry <= 1 {
		row[2] = table.Cell{Text: "+" + duration.Short(late), Color: table.Yellow}
	}
	if begun := r.Begun(); !begun.IsZero() && !a.stoppedDuring(r) && (!r.Ended.IsZero() || !r.Outcome.Ended()) {
		d := r.Duration(a.now)
		row[3] = table.Text(took(d))
		row[4] = table.Cell{Text: bar(d, longest), Color: table.Dim}
	}
	row[5], row[6] = outcomeCell(r), table.Text(whyText(r))
	if a.stoppedDuring(r) {
		row[5], row[6] = notEnded, table.Text(strings.TrimSuffix("when Carillon stopped, "+whyText(r), ", "))
	}
	if r.Attempts > 1 {
		row[7] = table.Text(quantity.Grouped(r.Attempts))
	}
	copy(row[8:], usedCells(r.MemoryPeak, r.CPU, r.OutputBytes))
	return row[:]
}

// usedCells are those of what a run or an attempt used, empty where that is not known: memory and output in bytes.
func usedCells(memory int64, cpu time.Duration, output int64) []table.Cell {
	cells := make([]table.Cell, 3)
	if memory > 0 {
		cells[0] = table.Text(quantity.Bytes(memory))
	}
	if cpu > 0 {
		cells[1] = table.Text(console.FormatDuration(cpu))
	}
	if output > 0 {
		cells[2] = table.Text(quantity.Bytes(output))
	}
	return cells
}

// notEnded is the outcome of a run that was active when the Carillon stopped that remembers it.
var notEnded = table.Cell{Text: "not ended", Color: table.Yellow}

// stoppedDuring tells whether Carillon stopped while a run was active: how long that took nobody knows.
func (a *historyAnswer) stoppedDuring(r *run.Run) bool { return a.stopped && !r.Outcome.Ended() }

// bar shows how long a run took beside the longest one.
func bar(d, longest time.Duration) string {
	const full = 10
	if longest <= 0 || d <= 0 {
		return ""
	}
	n := int(float64(d)/float64(longest)*full + 0.5)
	return strings.Repeat("#", min(max(n, 1), full))
}

// outcomeCell is the outcome in a word, with its colour.
func outcomeCell(r *run.Run) table.Cell {
	switch r.Outcome {
	case run.Succeeded:
		return table.Cell{Text: "succeeded", Color: table.Green}
	case run.Failed:
		if r.Retrying {
			return table.Cell{Text: "retrying", Color: table.Yellow}
		}
		return table.Cell{Text: "failed", Color: table.Red}
	case run.Cancelled:
		return table.Cell{Text: "cancelled", Color: table.Yellow}
	case run.Unknown:
		return table.Cell{Text: "unknown", Color: table.Yellow}
	}
	switch {
	case r.Suspended:
		return table.Cell{Text: "suspended", Color: table.Yellow}
	case r.Started.IsZero() && r.PodsRunning == 0:
		return table.Cell{Text: "waits", Color: table.Yellow}
	}
	return table.Cell{Text: "runs"}
}

// whyText says why a run ended so, and why it was started if no scheduled time did that.
func whyText(r *run.Run) string {
	var parts []string
	if reason := cmp.Or(r.Reason, r.Message); reason != "" && r.Outcome != run.Succeeded {
		parts = append(parts, reason)
	}
	if r.ExitCode != nil && *r.ExitCode != 0 {
		parts = append(parts, fmt.Sprintf("exit code %d", *r.ExitCode))
	}
	switch r.Trigger {
	case run.Manual:
		parts = append(parts, "by hand")
	case run.CatchUp:
		parts = append(parts, "catch-up")
	}
	if r.Retry > 1 {
		parts = append(parts, fmt.Sprintf("try %d", r.Retry))
	}
	return strings.Join(parts, ", ")
}

func omissionRow(o *run.Omission, a *historyAnswer) []table.Cell {
	word := table.Cell{Text: "skipped", Color: table.Dim}
	if o.Missed {
		word = table.Cell{Text: "missed", Color: table.Yellow}
	}
	why := o.Reason
	if o.Count > 1 {
		why = strings.TrimPrefix(why+", "+quantity.Grouped(o.Count)+" times", ", ")
		if !o.Until.IsZero() {
			why += " until " + boundary(o.Until, a.zone)
		}
	}
	if text := cmp.Or(o.Message, run.OmissionText(o.Reason)); text != "" {
		why = strings.TrimPrefix(why+": "+text, ": ")
	}
	return []table.Cell{timeCell(o.ScheduledTime, a.zone), {Text: duration.FromNow(o.ScheduledTime, a.now), Color: table.Dim}, 5: word, 6: table.Text(why)}
}
