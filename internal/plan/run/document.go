// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// RunDocument is a run for programs. docs/history.md has its fields.
type RunDocument struct {
	UID        types.UID      `json:"uid"`
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Namespace  string         `json:"namespace"`
	Name       string         `json:"name"`
	Owner      *OwnerDocument `json:"owner,omitempty"`

	Trigger Trigger `json:"trigger,omitempty"`
	// Retry is which run of its scheduled time it is, from 2 on; left out of the first one.
	Retry         int        `json:"retry,omitempty"`
	ScheduledTime *time.Time `json:"scheduledTime,omitempty"`
	CreationTime  *time.Time `json:"creationTime,omitempty"`
	StartTime     *time.Time `json:"startTime,omitempty"`
	EndTime       *time.Time `json:"endTime,omitempty"`
	// LatenessSeconds is left out without a scheduled time.
	LatenessSeconds *float64 `json:"latenessSeconds,omitempty"`
	// DurationSeconds is left out if it is not known.
	DurationSeconds *float64 `json:"durationSeconds,omitempty"`

	Outcome   Outcome `json:"outcome"`
	Suspended bool    `json:"suspended,omitempty"`
	Retrying  bool    `json:"retrying,omitempty"`
	Reason    string  `json:"reason,omitempty"`
	Message   string  `json:"message,omitempty"`

	Completions   int32 `json:"completions,omitempty"`
	PodsSucceeded int32 `json:"podsSucceeded"`
	PodsFailed    int32 `json:"podsFailed"`
	PodsRunning   int32 `json:"podsRunning"`

	Attempts        int      `json:"attempts"`
	ExitCode        *int32   `json:"exitCode,omitempty"`
	CPUSeconds      *float64 `json:"cpuSeconds,omitempty"`
	MemoryPeakBytes *int64   `json:"memoryPeakBytes,omitempty"`
	OutputBytes     *int64   `json:"outputBytes,omitempty"`
}

// OwnerDocument is an owner for programs.
type OwnerDocument struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// AttemptDocument is an attempt for programs.
type AttemptDocument struct {
	ContainerID     string     `json:"containerID"`
	Pod             string     `json:"pod"`
	Container       string     `json:"container"`
	Restart         int32      `json:"restart"`
	StartTime       *time.Time `json:"startTime,omitempty"`
	EndTime         *time.Time `json:"endTime,omitempty"`
	DurationSeconds *float64   `json:"durationSeconds,omitempty"`
	// ExitCode is left out while it runs.
	ExitCode        *int32   `json:"exitCode,omitempty"`
	Signal          int32    `json:"signal,omitempty"`
	Reason          string   `json:"reason,omitempty"`
	CPUSeconds      *float64 `json:"cpuSeconds,omitempty"`
	MemoryPeakBytes *int64   `json:"memoryPeakBytes,omitempty"`
	OutputBytes     *int64   `json:"outputBytes,omitempty"`
	// KeptBytes is how much of its output is kept in a journal.
	KeptBytes int64 `json:"keptBytes"`
}

// OmissionDocument is an omission for programs.
type OmissionDocument struct {
	Namespace     string         `json:"namespace"`
	Owner         *OwnerDocument `json:"owner,omitempty"`
	ScheduledTime *time.Time     `json:"scheduledTime,omitempty"`
	Until         *time.Time     `json:"until,omitempty"`
	Count         int64          `json:"count"`
	Missed        bool           `json:"missed"`
	Reason        string         `json:"reason,omitempty"`
	Message       string         `json:"message,omitempty"`
	SeenTime      *time.Time     `json:"seenTime,omitempty"`
}

// Document is a run for programs, at that time: one that is active lasts until then.
func Document(r Run, now time.Time) RunDocument {
	d := RunDocument{
		UID: r.UID, APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Owner: ownerDocument(r.Owner),
		Trigger: r.Trigger, Retry: laterTry(r.Retry), ScheduledTime: optional(r.ScheduledTime),
		CreationTime: optional(r.Created), StartTime: optional(r.Started), EndTime: optional(r.Ended),
		Outcome: r.Outcome, Suspended: r.Suspended, Retrying: r.Retrying, Reason: r.Reason, Message: r.Message,
		Completions: r.Completions, PodsSucceeded: r.PodsSucceeded, PodsFailed: r.PodsFailed, PodsRunning: r.PodsRunning,
		Attempts: r.Attempts, ExitCode: r.ExitCode, CPUSeconds: measured(r.CPU), MemoryPeakBytes: positive(r.MemoryPeak),
		OutputBytes: positive(r.OutputBytes),
	}
	if !r.ScheduledTime.IsZero() && !r.Created.IsZero() {
		d.LatenessSeconds = new(r.Lateness().Seconds())
	}
	if !r.Begun().IsZero() && (!r.Ended.IsZero() || !r.Outcome.Ended()) {
		d.DurationSeconds = new(r.Duration(now).Seconds())
	}
	return d
}

// laterTry leaves out the number of the first try.
func laterTry(retry int) int {
	if retry <= 1 {
		return 0
	}
	return retry
}

// DocumentAttempt is an attempt for programs, at that time.
func DocumentAttempt(a Attempt, now time.Time) AttemptDocument {
	d := AttemptDocument{
		ContainerID: a.ContainerID, Pod: a.Pod, Container: a.Container, Restart: a.Restart, StartTime: optional(a.Started),
		EndTime: optional(a.Ended), Signal: a.Signal, Reason: a.Reason, CPUSeconds: measured(a.CPU),
		MemoryPeakBytes: positive(a.MemoryPeak), OutputBytes: positive(a.OutputBytes), KeptBytes: a.KeptBytes,
	}
	end := a.Ended
	if end.IsZero() {
		end = now
	} else {
		d.ExitCode = new(a.ExitCode)
	}
	if !a.Started.IsZero() {
		d.DurationSeconds = new(max(0, end.Sub(a.Started)).Seconds())
	}
	return d
}

// DocumentOmission is an omission for programs.
func DocumentOmission(o Omission) OmissionDocument {
	return OmissionDocument{
		Namespace: o.Namespace, Owner: ownerDocument(o.Owner), ScheduledTime: optional(o.ScheduledTime), Until: optional(o.Until),
		Count: max(1, o.Count), Missed: o.Missed, Reason: o.Reason, Message: o.Message, SeenTime: optional(o.Seen),
	}
}

func ownerDocument(o Owner) *OwnerDocument {
	if o == (Owner{}) {
		return nil
	}
	return &OwnerDocument{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func measured(d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	return new(d.Seconds())
}

func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}
