// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ttl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/ttl"
)

var now = time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC)

const failure = batchv1.JobReasonBackoffLimitExceeded

// A finished Job is deleted when its time to live has passed since it finished, and not before; every other Job is
// kept.
func TestDecide(t *testing.T) {
	job := make.Job("batch", "j")
	after := func(d time.Duration) time.Time { return now.Add(d) }
	wait := func(until time.Time) ttl.Decision { return ttl.Decision{Action: ttl.Wait, ExpireAt: until} }
	gone := func(since time.Time) ttl.Decision { return ttl.Decision{Action: ttl.Delete, ExpireAt: since} }

	cases := map[string]struct {
		job  make.JobBuilder
		want ttl.Decision
	}{
		"TTL-001 finished, held by a finalizer, TTL not over": {
			job.TTL(10).Finalizer("example.com/hold").Complete(after(-9 * time.Second)), wait(after(time.Second)),
		},
		"TTL-001 finished, held by a finalizer, TTL over": {
			job.TTL(10).Finalizer("example.com/hold").Complete(after(-10 * time.Second)), gone(now),
		},
		"TTL-002 not finished": {
			job.TTL(10).Started(after(-time.Hour)), ttl.Decision{},
		},
		"TTL-002 about to complete": {
			job.TTL(0).Condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, "", after(-time.Hour)), ttl.Decision{},
		},
		"TTL-002 about to fail": {
			job.TTL(0).Condition(batchv1.JobFailureTarget, corev1.ConditionTrue, "", after(-time.Hour)), ttl.Decision{},
		},
		"TTL-002 suspended": {
			job.TTL(0).Condition(batchv1.JobSuspended, corev1.ConditionTrue, "", after(-time.Hour)), ttl.Decision{},
		},
		"TTL-003 finished without a TTL": {
			job.Complete(after(-time.Hour)), ttl.Decision{},
		},
		"TTL-004 completed now, TTL 0": {
			job.TTL(0).Complete(now), gone(now),
		},
		"TTL-005 completed now, TTL 10": {
			job.TTL(10).Complete(now), wait(after(10 * time.Second)),
		},
		"TTL-006 completed 10 s ago, TTL 15": {
			job.TTL(15).Complete(after(-10 * time.Second)), wait(after(5 * time.Second)),
		},
		"TTL-007 failed now, TTL 0": {
			job.TTL(0).Failed(now, failure), gone(now),
		},
		"TTL-007 failed now, TTL 10": {
			job.TTL(10).Failed(now, failure), wait(after(10 * time.Second)),
		},
		"TTL-007 failed 10 s ago, TTL 15": {
			job.TTL(15).Failed(after(-10*time.Second), failure), wait(after(5 * time.Second)),
		},
		"TTL-009 the TTL was raised": {
			job.TTL(10).TTL(3600).Complete(after(-time.Minute)), wait(after(59 * time.Minute)),
		},
		"TTL-011 a TTL was added to a Job that finished long ago": {
			job.TTL(10).Complete(after(-24 * time.Hour)), gone(after(-24*time.Hour + 10*time.Second)),
		},
		"TTL-012 the TTL was lowered": {
			job.TTL(3600).TTL(10).Complete(after(-time.Minute)), gone(after(-50 * time.Second)),
		},
		"TTL-013 being deleted already": {
			job.TTL(0).Complete(after(-time.Hour)).Deleted(after(-time.Minute)), ttl.Decision{},
		},
		"TTL-016 finished in the future": {
			job.TTL(10).Complete(after(time.Minute)),
			ttl.Decision{Action: ttl.Wait, ExpireAt: after(70 * time.Second), FinishedInFuture: true},
		},
		"TTL-020 Failed False comes before Failed True": {
			job.TTL(10).
				Condition(batchv1.JobFailed, corev1.ConditionFalse, "", after(-time.Hour)).
				Condition(batchv1.JobFailed, corev1.ConditionTrue, failure, after(-4*time.Second)),
			wait(after(6 * time.Second)),
		},
		"TTL-020 the first of two true conditions": {
			job.TTL(10).
				Condition(batchv1.JobFailed, corev1.ConditionTrue, failure, after(-3*time.Second)).
				Condition(batchv1.JobComplete, corev1.ConditionTrue, "", after(-time.Hour)),
			wait(after(7 * time.Second)),
		},
		"TTL-020 Complete Unknown does not count": {
			job.TTL(10).Condition(batchv1.JobComplete, corev1.ConditionUnknown, "", after(-time.Hour)), ttl.Decision{},
		},
		"TTL-021 managed by another controller": {
			job.TTL(10).ManagedBy("example.com/controller").Complete(after(-10 * time.Second)), gone(now),
		},
		"the longest TTL there is": {
			job.TTL(1<<31 - 1).Complete(now), wait(after((1<<31 - 1) * time.Second)),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := tc.job.Obj()
			got := ttl.Decide(obj, now)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.job.Obj(), obj); diff != "" {
				t.Errorf("the Job was changed:\n%s", diff)
			}
		})
	}
}

// TTL-010: when the TTL is removed while a deletion is due, the fresh look keeps the Job.
func TestTTLRemoved(t *testing.T) {
	job := make.Job("batch", "j").TTL(0).Complete(now).Obj()
	if got := ttl.Decide(job, now).Action; got != ttl.Delete {
		t.Fatalf("before: %v", got)
	}
	job.Spec.TTLSecondsAfterFinished = nil
	if got := ttl.Decide(job, now).Action; got != ttl.Keep {
		t.Errorf("after: %v", got)
	}
}

// TTL-017: a Job that does not say when it finished is not deleted, and the error names it.
func TestNoFinishTime(t *testing.T) {
	got := ttl.Decide(make.Job("batch", "j").TTL(0).Complete(time.Time{}).Obj(), now)
	if got.Action != ttl.Keep || got.Err == nil || !strings.Contains(got.Err.Error(), "batch/j") {
		t.Errorf("= %+v", got)
	}
}

// Looking again at ExpireAt deletes, a moment earlier still waits, and the decision depends on nothing else: it never
// goes back.
func TestWaitingEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int32Range(0, 1<<31-1).Draw(t, "ttl")
		finish := now.Add(time.Duration(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "finish")))
		job := make.Job("batch", "j").TTL(seconds).Complete(finish).Obj()
		d := ttl.Decide(job, now)
		if got := ttl.Decide(job, d.ExpireAt); got.Action != ttl.Delete || !got.ExpireAt.Equal(d.ExpireAt) {
			t.Fatalf("at the end: %+v", got)
		}
		if got := ttl.Decide(job, d.ExpireAt.Add(-1)); got.Action != ttl.Wait || !got.ExpireAt.Equal(d.ExpireAt) {
			t.Fatalf("just before the end: %+v", got)
		}
		if d.FinishedInFuture != finish.After(now) {
			t.Fatalf("%+v for a finish at %v", d, finish)
		}
	})
}

// An action has its name in logs and test output.
func TestActionString(t *testing.T) {
	got := []string{ttl.Keep.String(), ttl.Wait.String(), ttl.Delete.String(), ttl.Action(7).String()}
	if diff := cmp.Diff([]string{"Keep", "Wait", "Delete", "Action(7)"}, got); diff != "" {
		t.Error(diff)
	}
}
