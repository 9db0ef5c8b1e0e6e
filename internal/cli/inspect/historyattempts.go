// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// attemptsTable lists the attempts of a Job.
func attemptsTable(a *historyAnswer) *table.Table {
	t := &table.Table{Indent: 2, Columns: []table.Column{
		{Header: "POD", Min: 16}, {Header: "CONTAINER", Min: 9}, {Header: "STARTED"}, {Header: "TOOK", Right: true}, {Header: "END", Min: 24},
		{Header: "MEMORY", Right: true, Priority: 2}, {Header: "CPU", Right: true, Priority: 3}, {Header: "OUTPUT", Right: true, Priority: 1},
	}}
	for i := range a.attempts {
		at := &a.attempts[i]
		row := []table.Cell{table.Text(at.Pod), table.Text(at.Container), table.Text(startOfAttempt(at, a)), {}, table.Text("runs"), {}, {}, {}}
		end := at.Ended
		if end.IsZero() {
			end = a.now
		}
		if !at.Started.IsZero() {
			row[3] = table.Text(took(max(0, end.Sub(at.Started))))
		}
		if !at.Ended.IsZero() {
			row[4] = attemptEnd(at)
		}
		copy(row[5:], usedCells(at.MemoryPeak, at.CPU, at.OutputBytes))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// startOfAttempt is when an attempt began: a time of day where that is on the day of the run.
func startOfAttempt(at *run.Attempt, a *historyAnswer) string {
	switch local := at.Started.In(a.zone); {
	case at.Started.IsZero():
		return "never"
	case local.Format(time.DateOnly) == a.runs[0].Time().In(a.zone).Format(time.DateOnly):
		return local.Format(time.TimeOnly)
	}
	return clockIn(at.Started, a.zone)
}

func attemptEnd(a *run.Attempt) table.Cell {
	if !a.Failed() {
		return table.Cell{Text: "succeeded", Color: table.Green}
	}
	text := fmt.Sprintf("exit code %d", a.ExitCode)
	if a.Signal != 0 && a.ExitCode != 128+a.Signal {
		text += fmt.Sprintf(", signal %d", a.Signal)
	}
	if a.Reason != "" && a.Reason != "Error" {
		text = a.Reason + ", " + text
	}
	return table.Cell{Text: text, Color: table.Red}
}
