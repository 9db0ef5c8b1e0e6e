// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// The metric facts of one sync: JOB-296, Q-01 and 8.1 of the contract.
func TestFactsOfOneSync(t *testing.T) {
	t.Parallel()
	one := func(j *batchv1.Job, m mishaps, pods ...string) StatusPlan {
		p := Decide(Snapshot{Job: j, Pods: somePods(pods...), Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
		return p.PlanStatus(m.carryOut(p))
	}
	r := one(aJob("p5 c5"), mishaps{creates: CreateFailed, createUpTo: 2})
	if want := (PodsCreation{Reason: "new", Succeeded: 2, Failed: 3}); r.PodsCreation != want {
		t.Errorf("Q-01: pods created %+v, want %+v", r.PodsCreation, want)
	}
	r = one(aJob("p1 c1 prp=Failed", started(time.Hour)), mishaps{}, "a failed")
	if r.PodsCreation.Reason != "recreate_failed" {
		t.Errorf("JOB-262: reason %q", r.PodsCreation.Reason)
	}
	r = one(aJob("p1 c1", started(time.Hour)), mishaps{}, "a failed")
	if r.PodsCreation.Reason != "recreate_terminating_or_failed" {
		t.Errorf("JOB-261: reason %q", r.PodsCreation.Reason)
	}
	policy := failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3), onExit(batchv1.PodFailurePolicyActionFailJob, 4))
	r = one(aJob("p2 c2", started(time.Hour), policy), mishaps{}, "a failed exit3", "b failed exit4")
	if f := r.Write.Metrics; f.PolicyActions[batchv1.PodFailurePolicyActionIgnore] != 1 || f.PolicyActions[batchv1.PodFailurePolicyActionFailJob] != 1 || f.Result != "failed" || f.Reason != "PodFailurePolicy" || f.PodsFailed != 1 {
		t.Errorf("JOB-296: %+v", f)
	}
	r = one(aJob("p2 c2 indexed blpi0", started(time.Hour)), mishaps{}, "a failed i0 fc0", "b succeeded i1")
	if f := r.Write.Metrics; f.IndexesFailed != 1 || f.IndexesSucceeded != 1 || !f.PerIndex || f.PodsSucceeded != 1 {
		t.Errorf("indexes: %+v", f)
	}
	r = one(aJob("p2 c2 indexed", started(time.Hour), counted(1, 0), indexesDone("3", "")), mishaps{})
	if f := r.Write.Metrics; f.PodsSucceeded != 0 || f.IndexesSucceeded != 0 {
		t.Errorf("JOB-217: %+v", f)
	}
}

// OPT-15: a large batch does not flood the events.
func TestEventsOfALargeBatch(t *testing.T) {
	t.Parallel()
	p := Decide(Snapshot{Job: aJob("p100 c100"), Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	events := p.PlanStatus(mishaps{}.carryOut(p)).Events
	if len(events) != 26 || events[25].Message != "Created 75 more pods" {
		t.Errorf("%d events, the last is %v", len(events), events[len(events)-1])
	}
}
