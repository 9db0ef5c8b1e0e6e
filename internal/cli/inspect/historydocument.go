// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// historyDocument is one object's history for programs. docs/history.md has its fields.
type historyDocument struct {
	document
	Object historyObject `json:"object"`
	periodDocument
	Runs      []run.RunDocument       `json:"runs"`
	Omissions []run.OmissionDocument  `json:"omissions"`
	Attempts  []run.AttemptDocument   `json:"attempts"`
	Summary   history.SummaryDocument `json:"summary"`
}

// historyObject is the object that was asked about.
type historyObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Deleted: the API server has it no more. It is false where no API server could be asked.
	Deleted bool `json:"deleted"`
}

// periodDocument says what was asked for, and where the answer comes from.
type periodDocument struct {
	Now    time.Time  `json:"now"`
	Zone   string     `json:"zone"`
	Since  *time.Time `json:"since,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	Origin string     `json:"origin"`
}

func newPeriodDocument(p history.Period, zone *time.Location, now time.Time, origin string) periodDocument {
	d := periodDocument{Now: now.UTC(), Zone: zone.String(), Origin: origin}
	if !p.From.IsZero() {
		d.Since = new(p.From.UTC())
	}
	if !p.Until.IsZero() {
		d.Until = new(p.Until.UTC())
	}
	return d
}

// overviewDocument is the history of many objects for programs.
type overviewDocument struct {
	document
	periodDocument
	Objects []history.LineDocument `json:"objects"`
}

// writeDocument writes all runs, whatever the text would list.
func (h *historyCommand) writeDocument(a *historyAnswer) error {
	kinds := map[string]string{"cronjob": "CronJob", "timetable": "Timetable", "job": "Job"}
	d := historyDocument{
		document:       newDocument("History"),
		Object:         historyObject{Kind: kinds[a.of.ref.Kind], Namespace: a.of.namespace, Name: a.of.ref.Name, Deleted: a.deleted},
		periodDocument: newPeriodDocument(a.period, a.zone, a.now, a.origin),
		Runs:           make([]run.RunDocument, 0, len(a.runs)),
		Omissions:      make([]run.OmissionDocument, 0, len(a.omissions)),
		Attempts:       make([]run.AttemptDocument, 0, len(a.attempts)),
		Summary:        a.history.Summary.Document(),
	}
	for i := range a.runs {
		d.Runs = append(d.Runs, run.Document(a.runs[i], a.now))
	}
	for i := range a.omissions {
		d.Omissions = append(d.Omissions, run.DocumentOmission(a.omissions[i]))
	}
	for i := range a.attempts {
		d.Attempts = append(d.Attempts, run.DocumentAttempt(a.attempts[i], a.now))
	}
	return output.WriteJSON(h.streams.Out, d)
}

func (h *historyCommand) writeOverviewDocument(o *overviewAnswer) error {
	d := overviewDocument{
		document:       newDocument("HistoryOverview"),
		periodDocument: newPeriodDocument(o.period, o.zone, o.now, o.origin),
		Objects:        make([]history.LineDocument, 0, len(o.lines)),
	}
	for i := range o.lines {
		d.Objects = append(d.Objects, o.lines[i].Document(o.now))
	}
	return output.WriteJSON(h.streams.Out, d)
}
