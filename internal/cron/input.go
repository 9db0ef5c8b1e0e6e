// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Input is everything a decision may know. Decide does not modify it; between two calls of the same sync the shell
// adds to it through the Add…Result methods only. The zero Input is legal and decides nothing.
//
// An Input serves one sync of one CronJob, and one goroutine.
type Input struct {
	// Now is the one clock reading of the sync.
	Now time.Time
	// Traits say how the kind behaves. Nil behaves like a kind without events that rests on every error.
	Traits *KindTraits

	// Owner, Policy and Stored describe the CronJob as the cache shows it, or, after AddReadOwnerResult, as the server
	// does.
	Owner  Owner
	Policy Policy
	Stored Memory

	// Children are the objects that claim to be made by this CronJob, in any order; by name costs least. Those that another
	// object controls are ignored, so the shell may hand over more than it must.
	Children []Child

	// ChildObstacle is why no child can be started, as the shell has found out; nil if nothing keeps it.
	ChildObstacle *Obstacle

	// RecordPending: the status write of an earlier sync of this process is still to be made, or has no answer yet.
	RecordPending bool

	// Carried is what the last sync over this UID in this process handed on (Plan.Carried); zero when there was none.
	Carried Memory

	read readResults
	done done
}

// Owner identifies the CronJob.
type Owner struct {
	Namespace string
	Name      string
	UID       types.UID
	// Generation is metadata.generation: 1 until the spec is changed for the first time, 0 when unknown.
	Generation int64
	// Created is metadata.creationTimestamp.
	Created time.Time
	// Deleting is whether metadata.deletionTimestamp is set.
	Deleting bool
	// ScheduleUnchangedSince: the timing was not changed later than this, which is when a field manager that owns a part
	// of it last changed anything (metadata.managedFields). Zero when unknown.
	ScheduleUnchangedSince time.Time
}

// Child is one object made for a scheduled time, or one that claims to be.
type Child struct {
	APIVersion      string
	Kind            string
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	// Controller is the controller owner reference, nil when it has none.
	Controller *metav1.OwnerReference
	Created    time.Time
	// Deleting is whether metadata.deletionTimestamp is set. Stopped: to end what it does, and not to disrupt it as an
	// eviction does. FailedByStop: it failed after that, by it. Kinds without PartResults need not tell these two.
	Deleting, Stopped, FailedByStop bool
	// Gone: it was deleted before a sync could look at how it ended (cronjob.md B13). It takes no place in the history,
	// and no name.
	Gone bool
	// Started is the object's status.startTime, nil when absent or when the kind has none.
	Started *time.Time
	// Stamp is the raw value of the annotation that holds the scheduled time, "" when absent.
	Stamp string
	// Attempt is the number of the child in its run; 0 counts as 1.
	Attempt int
	// Trigger is what made its run, "" when it does not tell.
	Trigger Trigger
	// Phase says whether it is finished and, if so, in which class it counts.
	Phase ChildPhase
	// Succeeded: it counts for lastSuccessfulTime. Usually Phase is Complete too, but a Job with both terminal
	// conditions may be in the failed class and still have succeeded (cronjob.md 1.6).
	Succeeded bool
	// TimedOut: it failed because it had not ended in the time that it may take.
	TimedOut bool
	// OwnDeadline: it ends by itself when it has run for too long, so that Policy.Timeout is not about it.
	OwnDeadline bool
	// Suspended: it runs nothing until somebody resumes it.
	Suspended bool
	// Finished is the completion instant, nil when the object does not tell.
	Finished *time.Time
	// Remark is what people should know of how it was read; nil if there is nothing.
	Remark *Remark
	// Obstacle is what it shows to be wrong with the object that made it, although nothing is kept from starting by that
	// (Check is 0); nil if nothing is.
	Obstacle *Obstacle
	// Status is the object's own word for its state ("Aborted"), "" when it has none. Only for messages.
	Status string
}

// ChildPhase is what a child's state means for its CronJob.
type ChildPhase int8

const (
	// Unfinished is everything that is not in a final state: also suspended, aborted, or being deleted.
	Unfinished ChildPhase = iota
	// Complete is finished, and counted in the history of successes.
	Complete
	// Failed is finished, and counted in the history of failures.
	Failed
)

// finished tells whether the phase is final. A phase that is none of ours is not: better to wait than to overlap.
func (p ChildPhase) finished() bool { return p == Complete || p == Failed }

// String gives the name of the phase as events write it.
func (p ChildPhase) String() string {
	switch p {
	case Complete:
		return "Complete"
	case Failed:
		return "Failed"
	default:
		return "Unfinished"
	}
}

// readResults is what live reads of this sync answered.
type readResults struct {
	owner bool
	// edited: the CronJob's timing was another one than the cache had shown.
	edited   bool
	ownerErr error
	children map[string]readResult // by name; all are in the CronJob's namespace
}

// readResult is the answer to one live read: the object, or none (child and err nil: it does not exist), or an error.
type readResult struct {
	child *Child
	err   error
}

// done is how the steps of this sync that were carried out went. A key that is present was tried.
type done struct {
	stopped map[types.UID]error
	creates []createdStart
	record  *recorded
	pruned  map[types.UID]error
	held    map[types.UID]struct{}

	templateCheck *TemplateCheckResult
}

type createdStart struct {
	start  Start
	result CreateResult
}

type recorded struct{ err error }

// attempted is this sync's create of the child of that name, nil if there was none.
func (in *Input) attempted(name string) *createdStart {
	for i := range in.done.creates {
		if c := &in.done.creates[i]; c.start.Name == name {
			return c
		}
	}
	return nil
}

// created is the result of this sync's create of the child of that name if it had that outcome, nil otherwise.
func (in *Input) created(name string, outcome CreateOutcome) *CreateResult {
	if c := in.attempted(name); c != nil && c.result.Outcome == outcome {
		return &c.result
	}
	return nil
}

// stopped tells whether this sync tried to delete the child, and what hindered it.
func (in *Input) stopped(c Child) (tried bool, err error) {
	err, tried = in.done.stopped[c.UID]
	if in.Traits.GoneIsStopped && apierrors.IsNotFound(err) {
		err = nil
	}
	return tried, err
}

// deletion asks for the delete of a child.
func (in *Input) deletion(c Child, reason Reason, why string) Deletion {
	return Deletion{Namespace: in.Owner.Namespace, Name: c.Name, UID: c.UID, Reason: reason, Why: why}
}

// AddReadOwnerResult enters the answer to a live read of the CronJob itself. With a nil error, owner, policy and status
// replace those of the cache for the rest of the sync (cronjob.md 2.1.2 note 1), and the shell must write
// Plan.StatusWrite on top of that live object. An object of that name with another UID is an error (NotFound).
func (in *Input) AddReadOwnerResult(owner Owner, policy Policy, status Memory, err error) {
	in.read.owner, in.read.ownerErr = true, err
	if err == nil {
		in.read.edited = in.read.edited || policy.Timing.Fingerprint != in.Policy.Timing.Fingerprint
		in.Owner, in.Policy, in.Stored = owner, policy, status
	}
}

// AddReadChildResult enters the answer to a live read of the object that read names: the child, or a nil child and a
// nil error when there is none of that name, or the error.
func (in *Input) AddReadChildResult(read ReadRequest, child *Child, err error) {
	if in.read.children == nil {
		in.read.children = map[string]readResult{}
	}
	if err != nil {
		child = nil
	}
	in.read.children[read.Name] = readResult{child: child, err: err}
}

// AddStopResult enters that the delete which d asks for was accepted, or why not.
func (in *Input) AddStopResult(d Deletion, err error) {
	if in.done.stopped == nil {
		in.done.stopped = map[types.UID]error{}
	}
	in.done.stopped[d.UID] = err
}

// AddStartResult enters the server's answer to the create that start asks for. Each name is entered once in a sync.
func (in *Input) AddStartResult(start Start, result CreateResult) {
	switch {
	case result.Outcome != CreateSucceeded: // what a read said of the name before the create says nothing about it now
		delete(in.read.children, start.Name)
	case result.Child == nil:
		result.Child = &Child{Namespace: in.Owner.Namespace, Name: start.Name}
	}
	in.done.creates = append(slices.Clip(in.done.creates), createdStart{start: start, result: result})
}

// AddTemplateCheckResult enters what the dry run that Plan.CheckTemplate asks for has shown.
func (in *Input) AddTemplateCheckResult(result TemplateCheckResult) { in.done.templateCheck = &result }

// AddStatusWriteResult enters whether Plan.StatusWrite was written.
func (in *Input) AddStatusWriteResult(err error) { in.done.record = &recorded{err: err} }

// HoldPrune enters that the delete which d asks for is not made in this sync, because something that outlives the child has
// not taken in yet how it ended. The shell asks for another sync.
func (in *Input) HoldPrune(d Deletion) {
	if in.done.held == nil {
		in.done.held = map[types.UID]struct{}{}
	}
	in.done.held[d.UID] = struct{}{}
}

// AddPruneResult enters that the delete which d asks for was accepted, or why not.
func (in *Input) AddPruneResult(d Deletion, err error) {
	if in.done.pruned == nil {
		in.done.pruned = map[types.UID]error{}
	}
	in.done.pruned[d.UID] = err
}
