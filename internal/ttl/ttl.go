// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ttl decides when a finished Job is deleted for its spec.ttlSecondsAfterFinished.
//
// There is one decision, [Decide], a pure function of the Job and a reading of the clock. The controller takes it
// twice: on the Job as its cache has it, and, before it deletes, on the Job as the API server has it.
//
// Behaviour is that of job.md section 7. Upstream source:
// pkg/controller/ttlafterfinished/ttlafterfinished_controller.go and staging/src/k8s.io/api/batch/v1/types.go; KEP-592.
package ttl

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/job"
)

// An Action is what a Job's time to live asks for now.
type Action int

const (
	// Keep: nothing, now or later, until the Job changes. It has no time to live, has not finished, or is being deleted
	// already.
	Keep Action = iota
	// Wait: decide again at ExpireAt.
	Wait
	// Delete: the time to live is over.
	Delete
)

func (a Action) String() string {
	switch a {
	case Keep:
		return "Keep"
	case Wait:
		return "Wait"
	case Delete:
		return "Delete"
	}
	return fmt.Sprintf("Action(%d)", int(a))
}

// A Decision is what to do with a Job.
type Decision struct {
	Action Action
	// ExpireAt is when the time to live ends: finish time plus TTL. It is later than now for Wait, and not later for
	// Delete; now minus ExpireAt is then how late the deletion is. Zero for Keep.
	ExpireAt time.Time
	// FinishedInFuture says that the Job's finish time is later than now, so the clocks of this process and of the one
	// that finished the Job differ. The decision stands (Wait, from that finish time, or Delete with a negative TTL);
	// it is worth a warning in the log.
	FinishedInFuture bool
	// Err says that the Job has finished, but not when, so that it is not known when it expires. Action is then Keep.
	// Retry with back-off: the condition may yet be mended.
	Err error
}

// Decide gives what a Job's time to live asks for at the instant now.
//
// The finish time is lastTransitionTime of the first condition in the list that is Complete or Failed with status True.
// spec.managedBy plays no part. The Job is only read.
func Decide(j *batchv1.Job, now time.Time) Decision {
	if j.DeletionTimestamp != nil || j.Spec.TTLSecondsAfterFinished == nil {
		return Decision{}
	}
	condition := job.FinishedCondition(j.Status.Conditions)
	if condition == nil {
		return Decision{}
	}
	if condition.LastTransitionTime.IsZero() {
		return Decision{Err: fmt.Errorf("job %s/%s: condition %s has no lastTransitionTime, so its time to live has no start",
			j.Namespace, j.Name, condition.Type)}
	}
	finish := condition.LastTransitionTime.Time
	d := Decision{
		Action:           Delete,
		ExpireAt:         finish.Add(time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second),
		FinishedInFuture: finish.After(now),
	}
	if d.ExpireAt.After(now) {
		d.Action = Wait
	}
	return d
}
