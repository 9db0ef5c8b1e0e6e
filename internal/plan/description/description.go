// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package description is everything about one CronJob, Timetable or Job, as far as an API server and a journal tell of
// it.
//
//   - description.go  Of: what is put together of what is known
//   - schedule.go     what a schedule is: words, next times, policy, what may surprise
//   - state.go        what it does now, and what there is to know first
//   - entries.go      what became of its latest times
//   - remembered.go   what is known of one whose object is gone
//   - timeline.go     what was and what is to come, on a line; axis.go its round times
//   - steps.go        the commands that lead on
//
// Nothing here reads a file, a clock or an API server.
package description

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Input is what is known.
type Input struct {
	// Now is the present.
	Now time.Time
	// Object names what is described: Kind is CronJob, Timetable or Job.
	Object Object
	// Evidence is what an API server has of it; nil if the object is not there, or no API server told.
	Evidence *diagnosis.Evidence
	// NoServer says why no API server told, in words; "" if one did.
	NoServer string
	// Runs and Omissions are what is known of what it started and did not start, newest first. Of a Job Runs is itself.
	Runs      []run.Run
	Omissions []run.Omission
	// RunsCut: there are earlier runs, which were not read.
	RunsCut bool
	// Usual is how long runs that succeed take.
	Usual Usual
	// Failure is the last run that failed, or the Job itself, with its attempts and the end of its output; nil if there
	// is none.
	Failure *Output
	// Origin says where the runs come from.
	Origin string
	// Zone is that of whoever asks; nil if it does not matter.
	Zone *time.Location
	// Next is how many of the next times are told, Entries how many of the latest runs, Places how long the timeline
	// is.
	Next, Entries, Places int
	// Flags are what commands need to name the same API server and namespace, with a blank before it; "" for nothing.
	Flags string
	// ServerFlags are those of Flags that commands take which ask an API server alone.
	ServerFlags string
}

// Usual is how long runs take that succeed. Zero if that is not known.
type Usual struct {
	Runs         int
	Median, Most time.Duration
}

// Object names an object. UID and APIVersion are "" if they are not known.
type Object struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// Output is a run with its attempts, newest last, and the end of what one of them wrote.
type Output struct {
	Run      run.Run
	Attempts []run.Attempt
	// Pod and Container are whose output it is; "" if there is none.
	Pod, Container string
	// Lines are the last ones. Missing says why there are none.
	Lines   []string
	Missing string
}

// Description is what there is to say. Lists are never nil.
type Description struct {
	Object Object    `json:"object"`
	Now    time.Time `json:"now"`
	// Gone: the object is not there any more, or was not asked for: all that follows is remembered.
	Gone bool `json:"gone"`
	// First is what to know before everything else, a sentence each: that it is being deleted, that it cannot be read.
	First []string `json:"first"`
	// CreationTime is when the object was made; nil if it is not known.
	CreationTime *time.Time `json:"creationTime,omitempty"`
	// State is what it does now.
	State State `json:"state"`
	// Schedule is nil for a Job.
	Schedule *Schedule `json:"schedule,omitempty"`
	// Active are the runs that have not ended, the oldest first.
	Active []ActiveRun `json:"active"`
	// Usual is nil if no run is known that has succeeded.
	Usual *UsualDuration `json:"usual,omitempty"`
	// Timeline is nil for a Job, and where nothing is known that could be on it.
	Timeline *Timeline `json:"timeline,omitempty"`
	// Entries are what became of the latest times, newest first.
	Entries []Entry `json:"latest"`
	// Failure is the last run that failed; of a Job its own end. Nil if there is none.
	Failure *Failure `json:"output,omitempty"`
	// Conditions are those of a Timetable or Job.
	Conditions []Condition `json:"conditions"`
	// Events are the latest Warnings about it and what it started.
	Events []Event `json:"events"`
	// Origin says where the runs come from, Missing what could not be looked at.
	Origin  string   `json:"origin"`
	Missing []string `json:"missing"`
	// Steps are commands that lead on.
	Steps []diagnosis.Step `json:"next"`

	zone *time.Location
}

// Zone is the zone in which times are told.
func (d *Description) Zone() *time.Location { return d.zone }

// Of puts a description together. The input is not modified.
func Of(in Input) *Description {
	now := in.Now.Truncate(time.Second)
	d := &Description{
		Object: in.Object, Now: now.UTC(), Origin: in.Origin, zone: time.UTC, First: []string{}, Active: []ActiveRun{}, Entries: []Entry{},
		Conditions: []Condition{}, Events: []Event{}, Missing: []string{}, Steps: []diagnosis.Step{},
	}
	in.Runs = retrying(&in)
	d.active(&in)
	d.usual(&in)
	if e := in.Evidence; e == nil {
		d.remembered(&in)
	} else {
		d.zone = e.Zone()
		d.Missing = append(d.Missing, e.Unread...)
		d.first(e)
		d.state(e)
		d.conditions(e)
		d.events(e)
	}
	if in.Evidence == nil && in.Zone != nil {
		d.zone = in.Zone
	}
	if scheduled := d.scheduledOf(&in); scheduled != nil {
		d.Schedule = scheduleOf(&in, scheduled, now)
	}
	if in.Object.Kind != "Job" {
		h, every := historyOf(&in)
		if len(h.runs)+len(h.omissions) > 0 || h.times != nil || h.next != nil {
			if line := timeline(h, now, lengthOf(h, every, now), in.Places); !line.empty() {
				d.Timeline = line
			}
		}
		d.entries(&in)
	}
	d.Failure = failureOf(in.Failure, now)
	d.steps(&in)
	return d
}

// scheduledOf is the CronJob or Timetable that is described; nil if it is a Job, or not there.
func (d *Description) scheduledOf(in *Input) *workload.Scheduled {
	if in.Evidence == nil || in.Object.Kind == "Job" {
		return nil
	}
	return in.Evidence.Scheduled
}

// retrying gives the runs, of which those that failed and are to be tried again are marked.
func retrying(in *Input) []run.Run {
	if in.Evidence == nil || in.Evidence.Scheduled == nil || in.Object.Kind != "Timetable" {
		return in.Runs
	}
	return in.Evidence.Scheduled.MarkRetrying(in.Runs)
}

// historyOf is what the timeline shows, and after how long the times of an "@every" follow each other; 0 for others.
func historyOf(in *Input) (h history, every time.Duration) {
	h = history{runs: in.Runs, omissions: in.Omissions}
	if in.Evidence == nil || in.Evidence.Scheduled == nil {
		return h, 0
	}
	s := in.Evidence.Scheduled
	if s.Policy.Timing.Times == nil || s.Obstacle() != "" {
		return h, 0
	}
	every = s.Policy.Timing.Every
	if every == 0 {
		h.times = s.Policy.Timing.Times
	}
	h.since = s.Owner.Created
	if served := s.Memory.Timing.Since; served != nil && served.After(h.since) {
		h.since = *served // before that it was another schedule
	}
	if n := len(in.Runs); in.RunsCut && n > 0 && in.Runs[n-1].Time().After(h.since) {
		h.since = in.Runs[n-1].Time()
	}
	if nothingStarts(s, in.Now) {
		return h, every
	}
	h.next = s.FirstAfter
	return h, every
}

// nothingStarts tells whether times to come pass without a run, as it is.
func nothingStarts(s *workload.Scheduled, now time.Time) bool {
	until := s.Policy.SuspendUntil
	return s.Owner.Deleting || s.Policy.Suspend || s.Paused() || until != nil && until.After(now)
}

// plannedStart is when the run of a scheduled time is to start.
func plannedStart(times cron.Times, t time.Time) time.Time {
	if jittered, ok := times.(interface{ PlannedStart(time.Time) time.Time }); ok {
		return jittered.PlannedStart(t)
	}
	return t
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
