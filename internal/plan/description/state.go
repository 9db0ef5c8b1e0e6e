// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// State is what an object does now.
type State struct {
	// Verdict and Reason are those that carillon why gives, Summary the same in a line; "" if nothing is known.
	Verdict diagnosis.Verdict `json:"verdict,omitempty"`
	Reason  string            `json:"reason,omitempty"`
	Summary string            `json:"summary"`
	// Sentences explain it.
	Sentences []diagnosis.Sentence `json:"sentences"`
}

// ActiveRun is a run that has not ended.
type ActiveRun struct {
	run.RunDocument
	// AgeSeconds is how long it has run. Overdue: longer than any of the last ones that succeeded.
	AgeSeconds float64 `json:"ageSeconds"`
	Overdue    bool    `json:"overdue"`
}

// UsualDuration is how long runs take that succeed.
type UsualDuration struct {
	Runs          int     `json:"runs"`
	MedianSeconds float64 `json:"medianSeconds"`
	MostSeconds   float64 `json:"mostSeconds"`
}

// Condition is one of the object.
type Condition struct {
	Type    string     `json:"type"`
	Status  string     `json:"status"`
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
}

// Event is a Warning.
type Event struct {
	Object  string     `json:"object"`
	Reason  string     `json:"reason"`
	Message string     `json:"message"`
	Count   int32      `json:"count"`
	Time    *time.Time `json:"time,omitempty"`
}

// mostEvents is how many Warnings are told.
const mostEvents = 3

// first says what there is to know before everything else.
func (d *Description) first(e *diagnosis.Evidence) {
	tell := func(text string) { d.First = append(d.First, text) }
	deleted := func(object metav1.Object) {
		d.CreationTime = optional(object.GetCreationTimestamp().Time)
		if t := object.GetDeletionTimestamp(); t != nil {
			text := "It is being deleted, since " + duration.FromNow(t.Time, d.Now)
			if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
				text += "; it waits for " + strings.Join(finalizers, ", ")
			}
			tell(text + ".")
		}
	}
	switch s := e.Scheduled; {
	case e.Job != nil:
		deleted(e.Job)
	case s != nil:
		deleted(s.Written())
		if obstacle := s.Obstacle(); obstacle != "" {
			text := strings.TrimRight(obstacle, ".") + "."
			if !strings.HasPrefix(text, "Nothing") {
				text = "Nothing starts as it is written: " + text
			}
			tell(text)
		}
	}
	if n := e.Namespace; n != nil && n.DeletionTimestamp != nil {
		tell("Its namespace is being deleted, since " + duration.FromNow(n.DeletionTimestamp.Time, d.Now) + ": nothing can be created in it.")
	}
}

// state says what it does now, as carillon why does.
func (d *Description) state(e *diagnosis.Evidence) {
	answer := diagnosis.Explain(e, diagnosis.Question{})
	d.State = State{Verdict: answer.Verdict, Reason: answer.Reason, Summary: answer.Summary, Sentences: answer.Sentences}
	for _, step := range answer.Next {
		logs := strings.Contains(step.Command, " logs ") // which comes below
		if step.Destructive && !d.farOverdue() {
			continue
		}
		if answer.Verdict != diagnosis.NotDue && answer.Verdict != diagnosis.Succeeded && !logs {
			d.Steps = append(d.Steps, step)
		}
	}
}

// farOverdue tells whether a run has taken more than twice as long as any of the last ones that succeeded: ending it is
// no bad advice then.
func (d *Description) farOverdue() bool {
	return slices.ContainsFunc(d.Active, func(a ActiveRun) bool { return a.Overdue && d.Usual != nil && a.AgeSeconds > 2*d.Usual.MostSeconds })
}

// active are the runs that have not ended.
func (d *Description) active(in *Input) {
	for i := len(in.Runs) - 1; i >= 0; i-- {
		r := &in.Runs[i]
		if r.Outcome.Ended() {
			continue
		}
		age := r.Duration(in.Now)
		d.Active = append(d.Active, ActiveRun{
			RunDocument: run.Document(*r, in.Now), AgeSeconds: age.Seconds(), Overdue: in.Usual.Runs > 0 && age > in.Usual.Most && !r.Suspended,
		})
	}
}

func (d *Description) usual(in *Input) {
	if u := in.Usual; u.Runs > 0 {
		d.Usual = &UsualDuration{Runs: u.Runs, MedianSeconds: u.Median.Seconds(), MostSeconds: u.Most.Seconds()}
	}
}

func (d *Description) conditions(e *diagnosis.Evidence) {
	switch {
	case e.Job != nil:
		for _, c := range e.Job.Status.Conditions {
			d.Conditions = append(d.Conditions, Condition{string(c.Type), string(c.Status), c.Reason, c.Message, optional(c.LastTransitionTime.Time)})
		}
	case e.Scheduled != nil && e.Scheduled.Timetable() != nil:
		for _, c := range e.Scheduled.Timetable().Status.Conditions {
			d.Conditions = append(d.Conditions, Condition{c.Type, string(c.Status), c.Reason, c.Message, optional(c.LastTransitionTime.Time)})
		}
	}
}

// events are the latest Warnings, of those that say the same the last one.
func (d *Description) events(e *diagnosis.Evidence) {
	for i := len(e.Events) - 1; i >= 0 && len(d.Events) < mostEvents; i-- {
		event := &e.Events[i]
		if event.Type != "Warning" {
			continue
		}
		told := Event{Object: strings.ToLower(event.Kind) + "/" + event.Name, Reason: event.Reason, Message: event.Message, Count: max(1, event.Count), Time: optional(event.Last)}
		if !slices.ContainsFunc(d.Events, func(o Event) bool { return o.Reason == told.Reason && o.Message == told.Message }) {
			d.Events = append(d.Events, told)
		}
	}
}
