// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is what is remembered of a run when its objects are gone: when it was due, when it ran, how it ended and
// what it used.
//
//   - run.go       a run, an attempt of a container in it, and a scheduled time for which nothing was started
//   - origin.go    why a schedule made an object, and for which time
//   - read.go      a run as its object in the API tells of it
//   - attempts.go  the attempts that a Pod tells of, and what they tell together
//   - numbered.go  attempts in their order, with numbers
//   - span.go      when a run began and ended, by its attempts
//   - gone.go      what becomes of a run whose object goes before it has ended
//   - times.go     which runs are tries of one scheduled time
//   - omission.go  scheduled times without a run, as controllers and a Timetable's status tell of them
//   - event.go     scheduled times for which nothing was started, as events tell of them
//   - document.go  the same for programs
package run

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Outcome is how a run ended. The words are those of a Timetable's status (v1alpha1.Result), and two more.
type Outcome string

// The outcomes.
const (
	Active    Outcome = "Active" // not ended
	Succeeded Outcome = "Succeeded"
	Failed    Outcome = "Failed"
	Cancelled Outcome = "Cancelled" // deleted, or stopped for its successor, before it ended by itself
	// Unknown: it is gone, and nobody saw how it ended.
	Unknown Outcome = "Unknown"
)

// Ended tells whether a run with this outcome is over.
func (o Outcome) Ended() bool { return o != Active && o != "" }

// LeftWords are what is said of a run that is Left.
const LeftWords = "not ended when Carillon stopped"

// Trigger is why a run was started. "" means that its objects do not tell, or that no schedule stands behind it.
type Trigger string

// The triggers, in the words of v1alpha1.Trigger.
const (
	Schedule Trigger = "Schedule"
	CatchUp  Trigger = "CatchUp"
	Manual   Trigger = "Manual"
)

// Owner is the CronJob or Timetable that a run belongs to. The zero value is that of a Job that nobody's schedule made.
type Owner struct {
	// APIVersion and Kind are those of the object: "batch/v1" and "CronJob".
	APIVersion, Kind string
	Name             string
	UID              types.UID
}

// Run is one child of a CronJob or Timetable, or a Job of its own. UID names it; of equal UIDs the later knowledge
// holds.
type Run struct {
	UID types.UID
	// APIVersion, Kind, Namespace and Name are those of the object: a Job of batch/v1, mostly.
	APIVersion, Kind, Namespace, Name string
	Owner                             Owner
	Trigger                           Trigger
	// Retry counts the runs of one scheduled time, from 1; a Timetable's retry is 2 and more. 0 is 1.
	Retry int
	// ScheduledTime is the time that it was made for; zero for one made by hand, and for a Job of its own.
	ScheduledTime time.Time
	// Created is when the object was made, Started when it began (zero: never yet, or not told), Ended when it ended
	// (zero: it has not, or nobody knows when). UTC. The object tells them in whole seconds, and Started late; where
	// attempts are known, Started and Ended are as exact as those are (Refine).
	Created, Started, Ended time.Time
	Outcome                 Outcome
	// Suspended: it is active, and waits because its object says suspend.
	Suspended bool
	// Stopping: it is active, and somebody is deleting its object to end it. No journal keeps it.
	Stopping bool
	// Retrying: it failed, and its Timetable will try its time again. Only a Timetable tells that; no journal keeps it.
	Retrying bool
	// Left: it had not ended when the Carillon stopped that ran it, and that does not run now. No journal keeps it.
	Left bool
	// Reason is the word of the condition that tells how it ended ("BackoffLimitExceeded"), Message its text.
	Reason, Message string
	// Completions is how many Pods must succeed (0: not told); Succeeded, Failed and Running count its Pods.
	Completions, PodsSucceeded, PodsFailed, PodsRunning int32

	// What follows is summed up from its attempts; zero where nobody measured.

	// Attempts counts the containers that have ended, restarts included.
	Attempts int
	// ExitCode is that of the last container that failed by itself, or else of the last that was stopped, or else of
	// the last one; nil if none ended.
	ExitCode *int32
	// CPU is the time that all its containers used together, MemoryPeak the most memory in bytes that one of them had
	// at once, OutputBytes what they wrote.
	CPU         time.Duration
	MemoryPeak  int64
	OutputBytes int64
}

// Begun is when it began as far as that is known: Started, or else Created.
func (r *Run) Begun() time.Time {
	if r.Started.IsZero() {
		return r.Created
	}
	return r.Started
}

// Duration is how long it ran, or has run at now; 0 if it never began, does not tell when it ended, or is Left: how
// long that went on nobody knows.
func (r *Run) Duration(now time.Time) time.Duration {
	begun, end := r.Begun(), r.Ended
	if end.IsZero() && !r.Outcome.Ended() && !r.Left {
		end = now
	}
	if begun.IsZero() || end.IsZero() {
		return 0
	}
	return max(0, end.Sub(begun))
}

// Lateness is how long after its scheduled time it was created; 0 if it has none.
func (r *Run) Lateness() time.Duration {
	if r.ScheduledTime.IsZero() || r.Created.IsZero() {
		return 0
	}
	return max(0, r.Created.Sub(r.ScheduledTime))
}

// Time is the scheduled time, or, without one, when it was created: that by which runs of one owner are ordered.
func (r *Run) Time() time.Time {
	if r.ScheduledTime.IsZero() {
		return r.Created
	}
	return r.ScheduledTime
}

// Attempt is one execution of a container of a run.
type Attempt struct {
	// ContainerID names it: a restarted container has another one.
	ContainerID string
	// RunUID is the UID of the run, and of the Job that its Pod belongs to. Of a Pod that is itself a run it is the
	// Pod's.
	RunUID types.UID
	Namespace,
	Pod string
	PodUID    types.UID
	Container string
	// Restart counts the executions before this one in the same Pod.
	Restart int32
	// Role is what the container is to its Pod, Mains how many main containers that has; 0 where nobody told, both at
	// once.
	Role  Role
	Mains int32
	// Started and Ended are UTC; Started is zero if it never ran, Ended if it still runs.
	Started, Ended time.Time
	ExitCode       int32
	// Signal is what ended it, 0 if it ended by itself. Reason is the kubelet's word for its end: Completed, Error,
	// OOMKilled, …; "" if nobody told.
	Signal int32
	Reason string
	// CPU, MemoryPeak (bytes) and OutputBytes are 0 where nobody measured.
	CPU         time.Duration
	MemoryPeak  int64
	OutputBytes int64
	// KeptBytes is how much of its output is kept in a journal, 0 if nothing is (any more).
	KeptBytes int64
}

// Failed tells whether it ended otherwise than well.
func (a *Attempt) Failed() bool { return !a.Ended.IsZero() && (a.ExitCode != 0 || a.Signal != 0) }

// Stopped tells whether it ended by SIGTERM or SIGKILL, as what is being deleted or has run for too long does: that
// says nothing of how it would have ended. One that had too much memory was not stopped, it failed.
func (a *Attempt) Stopped() bool {
	const killed, terminated = 9, 15
	if a.Ended.IsZero() || a.Reason == "OOMKilled" {
		return false
	}
	return a.Signal == killed || a.Signal == terminated || a.Signal == 0 && (a.ExitCode == 128+killed || a.ExitCode == 128+terminated)
}

// Weight tells which attempt of a run tells how that ended: the one of the greatest weight, and of those the last. One
// that failed by itself has more than one that was stopped, that more than one that ended well, and a sidecar the
// least.
func (a *Attempt) Weight() int64 {
	switch {
	case a.Role == Sidecar:
		return 0
	case !a.Failed():
		return 1
	case a.Stopped():
		return 2
	}
	return 3
}

// Omission is a scheduled time, or several that follow each other, for which nothing was started.
type Omission struct {
	Namespace string
	Owner     Owner
	// ScheduledTime is the time, the first one if there are several; Until is the last one (zero: there is one), Count
	// how many there are, at least 1.
	ScheduledTime, Until time.Time
	Count                int64
	// Missed: it should have been started and was not. Otherwise it was skipped, as the spec asks.
	Missed bool
	// Reason is one word ("DeadlineExceeded", "Overlap", "Suspended", …), Message says it in a sentence.
	Reason, Message string
	// Seen is when it became known. UTC.
	Seen time.Time
}
