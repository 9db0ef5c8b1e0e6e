// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Document is a status for programs. docs/history.md has its fields.
type Document struct {
	Now           time.Time `json:"now"`
	Since         time.Time `json:"since"`
	WithinSeconds float64   `json:"withinSeconds"`
	// Well is false if Wrong has anything.
	Well    bool     `json:"well"`
	Wrong   []string `json:"wrong"`
	Summary string   `json:"summary"`
	// Served is false if no API server could be asked: then late, due, paused and blocked are empty.
	Served bool `json:"served"`
	// Stopped: the Carillon of this machine does not run; running is what had not ended when it stopped.
	Stopped   bool       `json:"stopped"`
	Schedules int        `json:"scheduleCount"`
	NextTime  *time.Time `json:"nextTime,omitempty"`

	Health  []PartDocument    `json:"health"`
	Running []RunningDocument `json:"running"`
	Failed  []FailureDocument `json:"failed"`
	Late    []LateDocument    `json:"late"`
	Missed  []OmittedDocument `json:"missed"`
	Due     []DueDocument     `json:"due"`
	Paused  []PausedDocument  `json:"paused"`
	Blocked []BlockedDocument `json:"blocked"`
}

// ObjectDocument is an Object for programs.
type ObjectDocument struct {
	Namespace string    `json:"namespace"`
	Reference string    `json:"reference"`
	UID       types.UID `json:"uid,omitempty"`
}

// PartDocument is a Part for programs.
type PartDocument struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Cure  string `json:"cure,omitempty"`
}

// RunningDocument is a Running for programs.
type RunningDocument struct {
	ObjectDocument
	Run             run.RunDocument `json:"run"`
	AgeSeconds      float64         `json:"ageSeconds"`
	Usual           *UsualDocument  `json:"usual,omitempty"`
	LongerThanUsual bool            `json:"longerThanUsual"`
	Stuck           bool            `json:"stuck"`
	WaitsFor        string          `json:"waitsFor,omitempty"`
}

// UsualDocument is a Usual for programs.
type UsualDocument struct {
	Runs          int     `json:"runs"`
	MedianSeconds float64 `json:"medianSeconds"`
	MostSeconds   float64 `json:"mostSeconds"`
}

// FailureDocument is a Failure for programs.
type FailureDocument struct {
	ObjectDocument
	Run run.RunDocument `json:"run"`
	// Count is how many runs failed lately, Tries how many tries of these.
	Count int `json:"count"`
	Tries int `json:"tries"`
	// InARow is exact if InARowExact says so, and otherwise the least.
	InARow        int        `json:"inARow"`
	InARowExact   bool       `json:"inARowExact"`
	Persists      bool       `json:"persists"`
	RecoveredTime *time.Time `json:"recoveredTime,omitempty"`
	// Retrying: the run that failed is being tried again, or will be.
	Retrying bool     `json:"retrying"`
	Deleted  bool     `json:"deleted"`
	Output   []string `json:"output"`
}

// LateDocument is a Late for programs.
type LateDocument struct {
	ObjectDocument
	ScheduledTime time.Time `json:"scheduledTime"`
	Reason        string    `json:"reason,omitempty"`
	Message       string    `json:"message,omitempty"`
	Others        int       `json:"others"`
}

// OmittedDocument is an Omitted for programs.
type OmittedDocument struct {
	ObjectDocument
	Missed    bool      `json:"missed"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message,omitempty"`
	Count     int64     `json:"count"`
	FirstTime time.Time `json:"firstTime"`
	LastTime  time.Time `json:"lastTime"`
}

// DueDocument is a Due for programs. Times are in the zone of the object.
type DueDocument struct {
	ObjectDocument
	ScheduledTime time.Time  `json:"scheduledTime"`
	StartTime     *time.Time `json:"startTime,omitempty"`
	TimeZone      string     `json:"timeZone,omitempty"`
	Count         int        `json:"count"`
	EverySeconds  float64    `json:"everySeconds,omitempty"`
}

// PausedDocument is a Paused for programs.
type PausedDocument struct {
	ObjectDocument
	Cause cron.PauseCause `json:"cause"`
	Since *time.Time      `json:"since,omitempty"`
	// SinceAtLatest: it may have been so before.
	SinceAtLatest bool       `json:"sinceAtLatest"`
	By            string     `json:"by,omitempty"`
	Until         *time.Time `json:"until,omitempty"`
	Failures      int        `json:"failures,omitempty"`
}

// BlockedDocument is a Blocked for programs.
type BlockedDocument struct {
	ObjectDocument
	Message string `json:"message"`
}

// Document is the status for programs.
func (s *Status) Document() Document {
	verdict := s.Verdict()
	d := Document{
		Now: s.Now.UTC(), Since: s.Since.UTC(), WithinSeconds: s.Within.Seconds(), Well: verdict.Well(), Wrong: append([]string{}, verdict.Wrong...),
		Summary: verdict.String(), Served: s.Served, Stopped: s.Stopped, Schedules: s.Schedules, NextTime: optional(s.Next),
	}
	d.Health = each(s.Health, func(p Part) PartDocument { return PartDocument{p.Name, p.State, p.Text, p.Cure} })
	d.Running = each(s.Running, func(r Running) RunningDocument {
		one := RunningDocument{ObjectDocument: ObjectDocument(r.Object), Run: run.Document(r.Run, s.Now), AgeSeconds: r.Age.Seconds(),
			LongerThanUsual: r.Long, Stuck: r.Stuck, WaitsFor: r.Waits}
		if r.Usual.Runs > 0 {
			one.Usual = &UsualDocument{r.Usual.Runs, r.Usual.Median.Seconds(), r.Usual.Most.Seconds()}
		}
		return one
	})
	d.Failed = each(s.Failed, func(f Failure) FailureDocument {
		return FailureDocument{ObjectDocument: ObjectDocument(f.Object), Run: run.Document(f.Run, s.Now), Count: f.Count, Tries: f.Tries, InARow: f.InARow,
			InARowExact: !f.More, Persists: f.Persists(), RecoveredTime: optional(f.Recovered), Retrying: f.Retrying, Deleted: f.Deleted, Output: append([]string{}, f.Output...)}
	})
	d.Late = each(s.Late, func(l Late) LateDocument {
		return LateDocument{ObjectDocument(l.Object), l.Due.UTC(), l.Reason, l.Message, l.Others}
	})
	d.Missed = each(s.Missed, func(o Omitted) OmittedDocument {
		return OmittedDocument{ObjectDocument(o.Object), o.Missed, o.Reason, o.Message, o.Count, o.First.UTC(), o.Last.UTC()}
	})
	d.Due = each(s.Due, func(one Due) DueDocument {
		document := DueDocument{ObjectDocument: ObjectDocument(one.Object), ScheduledTime: one.At, TimeZone: one.Zone, Count: one.Count, EverySeconds: one.Every.Seconds()}
		if !one.StartsAt.IsZero() {
			document.StartTime = &one.StartsAt
		}
		return document
	})
	d.Paused = each(s.Paused, func(p Paused) PausedDocument {
		return PausedDocument{ObjectDocument(p.Object), p.Cause, optional(p.Since), p.AtLatest, p.By, optional(p.Until), p.Failures}
	})
	d.Blocked = each(s.Blocked, func(b Blocked) BlockedDocument { return BlockedDocument{ObjectDocument(b.Object), b.Message} })
	return d
}

func each[T, D any](all []T, document func(T) D) []D {
	documents := make([]D, 0, len(all))
	for _, one := range all {
		documents = append(documents, document(one))
	}
	return documents
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
