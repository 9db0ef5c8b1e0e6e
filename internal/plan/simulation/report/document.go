// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// Document is the report for programs: the fields of the JSON document of kind Simulation.
type Document struct {
	From        time.Time   `json:"from"`
	To          time.Time   `json:"to"`
	Assumptions Assumptions `json:"assumptions"`
	Outages     []Outage    `json:"outages"`
	Objects     []Object    `json:"objects"`
}

// Assumptions are the model of runs. Two quantiles tell the distribution of durations: those that are the same are a
// constant.
type Assumptions struct {
	DurationP50Seconds float64 `json:"durationP50Seconds"`
	DurationP99Seconds float64 `json:"durationP99Seconds"`
	OverheadSeconds    float64 `json:"overheadSeconds"`
	FailProbability    float64 `json:"failProbability"`
	StoppingSeconds    float64 `json:"stoppingSeconds"`
	Seed               uint64  `json:"seed"`
	FromStatus         bool    `json:"fromStatus"`
}

// Outage is when no controller runs.
type Outage struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Object is what becomes of one object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	TimeZone   string `json:"timeZone"`
	Obstacle   string `json:"obstacle,omitempty"`
	// ObstacleAtEnd is what keeps the last version from being served.
	ObstacleAtEnd string       `json:"obstacleAtEnd,omitempty"`
	Summary       Summary      `json:"summary"`
	Runs          []Run        `json:"runs"`
	NotStarted    []NotStarted `json:"notStarted"`
	Waiting       []Waiting    `json:"waiting"`
	Held          *Held        `json:"held,omitempty"`
	Retries       []Retry      `json:"retries"`
	Changes       []Change     `json:"changes"`
}

// Summary is the object's runs in numbers.
type Summary struct {
	Started            int            `json:"started"`
	Succeeded          int            `json:"succeeded"`
	Failed             int            `json:"failed"`
	Replaced           int            `json:"replaced"`
	Running            int            `json:"running"`
	Late               int            `json:"late"`
	CatchUps           int            `json:"catchUps"`
	Retries            int            `json:"retries"`
	Skipped            int            `json:"skipped"`
	Missed             int            `json:"missed"`
	Waiting            int            `json:"waiting"`
	Held               int            `json:"held"`
	NotStartedByReason map[string]int `json:"notStartedByReason"`
	LongestWaitSeconds float64        `json:"longestWaitSeconds"`
	LongestRunSeconds  float64        `json:"longestRunSeconds"`
	MostAtOnce         int            `json:"mostAtOnce"`
	BusySeconds        float64        `json:"busySeconds"`
}

// Run is one run. Ended is absent for one that runs at the end.
type Run struct {
	ScheduledTime time.Time  `json:"scheduledTime"`
	Started       time.Time  `json:"started"`
	Ended         *time.Time `json:"ended,omitempty"`
	Outcome       string     `json:"outcome"`
	Reason        string     `json:"reason,omitempty"`
	Attempts      int32      `json:"attempts"`
	WaitSeconds   float64    `json:"waitSeconds"`
	WaitedFor     string     `json:"waitedFor,omitempty"`
	CatchUp       bool       `json:"catchUp"`
}

// NotStarted is one or more scheduled times that did not start.
type NotStarted struct {
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Count     int       `json:"count"`
	Decided   time.Time `json:"decided"`
	Result    string    `json:"result"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	WaitedFor string    `json:"waitedFor,omitempty"`
}

// Waiting is a scheduled time that waits at the end.
type Waiting struct {
	ScheduledTime time.Time `json:"scheduledTime"`
	Reason        string    `json:"reason"`
}

// Held are scheduled times of which nothing is decided at the end.
type Held struct {
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Count   int       `json:"count"`
	Message string    `json:"message"`
}

// Retry is a further attempt of a run.
type Retry struct {
	ScheduledTime time.Time `json:"scheduledTime"`
	Started       time.Time `json:"started"`
	Attempt       int       `json:"attempt"`
}

// Change is an edit, or the begin or end of a pause.
type Change struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Message string    `json:"message"`
}

// Document is the report for programs. Times are in UTC.
func (r *Report) Document() Document {
	m := r.Model
	doc := Document{Outages: []Outage{}, Objects: []Object{}, Assumptions: Assumptions{
		DurationP50Seconds: m.Durations.At(50).Seconds(), DurationP99Seconds: m.Durations.At(99).Seconds(),
		OverheadSeconds: m.Overhead.Seconds(), FailProbability: m.Fail, StoppingSeconds: m.Stopping.Seconds(), Seed: m.Seed, FromStatus: r.FromStatus,
	}}
	for i, result := range r.Results {
		if i == 0 {
			doc.From, doc.To = result.Span.From.UTC(), result.Span.To.UTC()
			for _, o := range result.Outages {
				doc.Outages = append(doc.Outages, Outage{o.From.UTC(), o.To.UTC()})
			}
		}
		doc.Objects = append(doc.Objects, document(result))
	}
	return doc
}

func document(result *simulation.Result) Object {
	object := result.Object
	gvk := object.Kind.Info().Owner
	o := Object{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: object.Owner.Namespace, Name: object.Owner.Name,
		TimeZone: zoneOf(result).String(), Obstacle: object.Hindrance(), ObstacleAtEnd: result.Hindrance, Summary: summary(result),
		Runs: make([]Run, 0, len(result.Runs)), NotStarted: []NotStarted{}, Waiting: []Waiting{}, Retries: []Retry{}, Changes: []Change{},
	}
	for _, run := range result.Runs {
		r := Run{ScheduledTime: run.Scheduled, Started: run.Started, Outcome: run.Outcome.String(), Reason: wordOf(run.Reason), Attempts: run.Attempts,
			WaitSeconds: run.Wait.Seconds(), WaitedFor: wordOf(run.WaitedFor), CatchUp: run.CatchUp}
		if !run.Ended.IsZero() {
			r.Ended = &run.Ended
		}
		o.Runs = append(o.Runs, r)
	}
	for _, n := range result.NotStarted {
		if n.Count == 0 {
			continue
		}
		what := "skipped"
		if n.Missed {
			what = "missed"
		}
		o.NotStarted = append(o.NotStarted, NotStarted{First: n.First, Last: n.Last, Count: n.Count, Decided: n.At, Result: what,
			Reason: wordOf(n.Reason), Message: simulation.ReasonText(n.Reason), WaitedFor: wordOf(n.WaitedFor)})
	}
	for _, w := range result.Waiting {
		o.Waiting = append(o.Waiting, Waiting{w.Scheduled, wordOf(w.Reason)})
	}
	if h := result.Held; h != nil {
		o.Held = &Held{h.First, h.Last, h.Count, h.Why}
	}
	for _, r := range result.Retries {
		o.Retries = append(o.Retries, Retry{r.Scheduled, r.At, r.Attempt})
	}
	for _, c := range result.Changes {
		o.Changes = append(o.Changes, Change{c.At, string(c.Kind), c.Text})
	}
	return o
}

func wordOf(reason cron.Reason) string {
	if reason == "" {
		return ""
	}
	return simulation.ReasonWord(reason)
}

func summary(result *simulation.Result) Summary {
	s := result.Summarize()
	d := Summary{
		Started: s.Started, Succeeded: s.Succeeded, Failed: s.Failed, Replaced: s.Replaced, Running: s.Running, Late: s.Late, CatchUps: s.CatchUps,
		Retries: s.Retries, Skipped: s.Skipped, Missed: s.Missed, Waiting: s.Waiting, NotStartedByReason: map[string]int{},
		LongestWaitSeconds: s.LongestWait.Seconds(), LongestRunSeconds: s.LongestRun.Seconds(), MostAtOnce: s.MostAtOnce, BusySeconds: s.Busy.Seconds(),
	}
	if result.Held != nil {
		d.Held = result.Held.Count
	}
	for _, reason := range s.Reasons {
		if reason.Count > 0 {
			d.NotStartedByReason[simulation.ReasonWord(reason.Reason)] += reason.Count
		}
	}
	return d
}
