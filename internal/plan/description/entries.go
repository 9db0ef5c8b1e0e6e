// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Entry is what became of a time: a run, or an omission. One of them is nil.
type Entry struct {
	Run      *run.RunDocument      `json:"run,omitempty"`
	Omission *run.OmissionDocument `json:"omission,omitempty"`
}

// Time is the time that it is about.
func (e *Entry) Time() time.Time {
	for _, t := range e.times() {
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

func (e *Entry) times() []*time.Time {
	if e.Run != nil {
		return []*time.Time{e.Run.ScheduledTime, e.Run.CreationTime}
	}
	return []*time.Time{e.Omission.Until, e.Omission.ScheduledTime}
}

// entries are the latest runs and omissions, newest first.
func (d *Description) entries(in *Input) {
	for i := range in.Runs[:min(len(in.Runs), in.Entries)] {
		d.Entries = append(d.Entries, Entry{Run: new(run.Document(in.Runs[i], in.Now))})
	}
	for i := range in.Omissions[:min(len(in.Omissions), in.Entries)] {
		d.Entries = append(d.Entries, Entry{Omission: new(run.DocumentOmission(in.Omissions[i]))})
	}
	slices.SortStableFunc(d.Entries, func(a, b Entry) int { return cmp.Compare(b.Time().UnixNano(), a.Time().UnixNano()) })
	d.Entries = d.Entries[:min(len(d.Entries), in.Entries)]
}

// Failure is a run with its attempts and the end of its output.
type Failure struct {
	Run      run.RunDocument       `json:"run"`
	Attempts []run.AttemptDocument `json:"attempts"`
	// Pod and Container are whose output Lines are the end of; "" if there is none, and Missing says why.
	Pod       string   `json:"pod,omitempty"`
	Container string   `json:"container,omitempty"`
	Lines     []string `json:"lines"`
	Missing   string   `json:"missing,omitempty"`
}

func failureOf(o *Output, now time.Time) *Failure {
	if o == nil {
		return nil
	}
	f := &Failure{Run: run.Document(o.Run, now), Attempts: []run.AttemptDocument{}, Pod: o.Pod, Container: o.Container, Missing: o.Missing, Lines: append([]string{}, o.Lines...)}
	for _, a := range o.Attempts {
		f.Attempts = append(f.Attempts, run.DocumentAttempt(a, now))
	}
	return f
}
