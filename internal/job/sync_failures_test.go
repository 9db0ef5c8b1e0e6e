// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// 10.5: failures and backoff.
func TestOneSyncHandlesFailures(t *testing.T) {
	t.Parallel()
	runSyncs(t, map[string]syncTest{
		"JOB-120 a failure within the limit is retried": {
			job: aJob("bl1", started(time.Hour)), pods: somePods("a failed"), want: "create=1 ufail=a conds=-",
		},
		"JOB-120 one more ends the Job": {
			job: aJob("bl1", started(time.Hour)), pods: somePods("a failed", "b failed"),
			want: "write=end fail=2 conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded events=BackoffLimitExceeded completion=none",
		},
		"JOB-121 six of six": {
			job: aJob("bl6 p2 c9", started(time.Hour)), pods: append(numbered(6, "f", "failed"), aPod("r running")), want: "create=1 active=2 conds=-",
		},
		"JOB-121 seven of six": {
			job: aJob("bl6 p2 c9", started(time.Hour)), pods: numbered(7, "f", "failed"), want: "write=end fail=7",
		},
		"JOB-123 first the decision is written": {
			job: aJob("bl0 p3 c3", started(time.Hour)), pods: somePods("a ready", "b ready", "c failed"),
			want: "delete=- active=2 ready=2 ufail=c unfinalize=c conds=FailureTarget:BackoffLimitExceeded write=yes wake=10ms create=0",
		},
		"JOB-123 JOB-269 then the pods are stopped and counted": {
			job:  aJob("bl0 p3 c3", started(time.Hour), uncounted("", "c"), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded")),
			pods: somePods("a ready", "b ready", "c failed -F"),
			want: "delete=a,b active=0 ready=0 term=2 fail=1 ufail=a,b unfinalize=a,b conds=FailureTarget:BackoffLimitExceeded create=0",
		},
		"JOB-123 Failed only after they are gone": {
			job:  aJob("bl0 p3 c3", started(time.Hour), counted(0, 1), uncounted("", "a b"), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded")),
			want: "write=end fail=3 term=0 conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-124 a blocked pod delays the end": {
			job:  aJob("bl0 p2 c2", started(time.Hour), counted(0, 2), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded"), func(j *batchv1.Job) { j.Status.Terminating = ptr.To[int32](1) }),
			pods: somePods("a running deleting -F"), want: "write=no term=1 delete=-",
		},
		"JOB-128 backoff stops creation, not the truth": {
			job: aJob("p2 c2", started(time.Hour)), pods: somePods("a ready", "b failed end4"), want: "create=0 active=1 ready=1 wake=1s",
		},
		"JOB-128 lastBackoff backoff": {
			job: aJob("p2 c2", started(time.Hour), counted(0, 2)), pods: somePods("a ready"), expectations: Expectations{Backoff: Backoff{Failures: 2, LastFailure: now.Add(-5 * time.Second)}},
			want: "create=0 active=1 ready=1 wake=15s",
		},
		"a failure that a node's clock puts into the future waits no longer than others": {
			job: aJob("", started(time.Hour)), pods: func() []*corev1.Pod {
				p := aPod("a failed age30")
				p.Status.ContainerStatuses[0].State.Terminated.FinishedAt = ago(-time.Hour)
				return []*corev1.Pod{p}
			}(), want: "create=0 wake=1s ufail=a",
		},
		"JOB-131 an ignored failure delays too": {
			job: aJob("", started(time.Hour), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3))), pods: somePods("a failed exit3 end4"), want: "create=0 fail=0 unfinalize=a wake=6s",
		},
		"JOB-132 scaling up waits for the backoff": {
			job: aJob("p3 c3", started(time.Hour), counted(0, 1)), expectations: Expectations{Backoff: Backoff{Failures: 1, LastFailure: now.Add(-3 * time.Second)}}, want: "create=0 wake=7s",
		},
		"JOB-133 after a restart the record is gone": {
			job: aJob("", started(time.Hour), counted(0, 1)), pods: somePods("a failed end4 -F"), want: "create=1",
		},
		"JOB-136 OnFailure, limit 0, no restart": {
			job: aJob("bl0 onfailure", started(time.Hour)), pods: somePods("a running"), want: "conds=- active=1",
		},
		"JOB-136 OnFailure, limit 1, one restart": {
			job: aJob("bl1 onfailure", started(time.Hour)), pods: somePods("a running restarts1"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-136 OnFailure, limit 1, one restart, pending": {
			job: aJob("bl1 onfailure", started(time.Hour)), pods: somePods("a pending restarts1"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-136 OnFailure, limit 2, restarts add up": {
			job: aJob("bl2 onfailure p2 c2", started(time.Hour)), pods: somePods("a running restarts1", "b running restarts1"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-136 OnFailure, limit 3, not yet": {
			job: aJob("bl3 onfailure p2 c2", started(time.Hour)), pods: somePods("a running restarts1", "b running restarts1"), want: "conds=-",
		},
		"JOB-137 restarts of init containers count": {
			job: aJob("bl2 onfailure", started(time.Hour)), pods: somePods("a running initrestarts2"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-137 restarts of succeeded pods do not": {
			job: aJob("bl2 onfailure p2 c3", started(time.Hour)), pods: somePods("a succeeded restarts5", "b running"), want: "conds=-",
		},
		"JOB-138 OnFailure, suspended below the limit": {
			job: aJob("bl3 onfailure p2 c2 suspend", started(time.Hour)), pods: somePods("a running restarts1", "b running"), want: "evict=a,b conds=Suspended:JobSuspended fail=0",
		},
		"JOB-139 the limit was lowered": {
			job: aJob("bl1", started(time.Hour), counted(0, 2)), want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-140 no pod could be created": {
			job: aJob("p5 c5"), mishaps: mishaps{creates: CreateFailed}, want: "create=5 active=0 events=FailedCreate",
		},
		"JOB-141 the quota ended after ten": {
			job: aJob("p100 c100"), mishaps: mishaps{creates: CreateFailed, createUpTo: 10}, want: "create=100 active=10",
		},
		"JOB-142 the namespace is going away (Q-02)": {
			job: aJob("p2 c2"), mishaps: mishaps{creates: NamespaceTerminating}, want: "create=2 active=0 events=- wake=-",
		},
		"JOB-142 and is not asked again, while what ends is counted": {
			job: aJob("p2 c2", started(time.Hour)), pods: somePods("a succeeded"), expectations: Expectations{NamespaceTerminating: true}, want: "create=0 usucc=a unfinalize=a active=0 wake=1s",
		},
		"JOB-143 Q-15 a pod that could not be deleted stays active, and ready if it was": {
			job: aJob("p1 c5", started(time.Hour)), pods: somePods("a ready", "b running", "c running"), mishaps: mishaps{deletes: sets.New("b")}, want: "evict=b,c active=2 term=1 events=SuccessfulDelete,FailedDelete",
		},
		"JOB-144 batches of 500": {
			job: aJob("p1200 c1200"), want: "create=500 active=500",
		},
		"JOB-144 the next batch waits until the first is visible": {
			job: aJob("p1200 c1200", started(time.Second)), expectations: creating("job-zzzzz"), want: "create=0 wake=9s",
		},
		"a creation that never shows is given up": {
			job: aJob("", started(time.Minute)), expectations: Expectations{Creating: map[string]time.Time{"job-zzzzz": now.Add(-time.Minute)}}, want: "create=1",
		},
		"JOB-081 a creation that shows is not waited for": {
			job: aJob("p2 c5", started(time.Minute)), pods: somePods("a running", "b running"), expectations: creating("b"), want: "create=0 evict=- active=2 action=tracking",
		},
		"what we are deleting is on its way out already": {
			job: aJob("p1 c5", started(time.Minute)), pods: somePods("a running", "b running"), expectations: Expectations{Deleting: map[types.UID]time.Time{"b": now.Add(-time.Second)}, Unfinalizing: sets.New[types.UID]("b")},
			want: "evict=- active=1 term=1 create=0",
		},
		"a deletion that never shows is sent again": {
			job: aJob("p0 c5", started(time.Minute)), pods: somePods("b running"), expectations: Expectations{Deleting: map[types.UID]time.Time{"b": now.Add(-time.Minute)}},
			want: "evict=b active=0 term=1",
		},
	})
}
