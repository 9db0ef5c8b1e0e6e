// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// 10.6 and 10.7: deadline, suspend, resume.
func TestOneSyncKeepsTime(t *testing.T) {
	t.Parallel()
	was := func(active int32) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = active, ptr.To(active) }
	}
	isSuspended := withCondition(batchv1.JobSuspended, "True", "JobSuspended")
	neverStarted := func(j *batchv1.Job) { j.Status.StartTime = nil }
	runSyncs(t, map[string]syncTest{
		"JOB-150 the deadline has passed": {
			job: aJob("p2 c3 ads10", started(15*time.Second), was(1)), pods: somePods("a running", "b succeeded"), want: "conds=FailureTarget:DeadlineExceeded usucc=b delete=- active=1 wake=10ms",
		},
		"JOB-150 pods are stopped and count": {
			job: aJob("p2 c3 ads10", started(15*time.Second), was(1), withCondition(batchv1.JobFailureTarget, "True", "DeadlineExceeded"), uncounted("b", "")), pods: somePods("a running"),
			want: "delete=a ufail=a succ=1 active=0 term=1",
		},
		"JOB-151 exactly now, no pods": {
			job: aJob("ads10", started(10*time.Second)), want: "write=end conds=FailureTarget:DeadlineExceeded,Failed:DeadlineExceeded events=DeadlineExceeded",
		},
		"JOB-152 too many failures weigh more": {
			job: aJob("ads10 bl0", started(15*time.Second)), pods: somePods("a failed"), want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-154 no deadline while suspended": {
			job: aJob("ads10 suspend", started(15*time.Second)), want: "conds=Suspended:JobSuspended start=none wake=-",
		},
		"JOB-155 the timer of a new Job": {
			job: aJob("ads1"), want: "create=1 wake=1s",
		},
		"JOB-156 the deadline was shortened": {
			job: aJob("ads20", started(15*time.Second), was(1)), pods: somePods("a ready"), want: "wake=5s conds=-",
		},
		"JOB-157 deadline 0": {
			job: aJob("ads0"), want: "create=0 write=end conds=FailureTarget:DeadlineExceeded,Failed:DeadlineExceeded start=now",
		},
		"JOB-158 JOB-176 resumed with an old start time: the write that flips the condition sets it anew (Q-06)": {
			job: aJob("ads10", started(time.Minute), isSuspended), want: "create=1 conds=Suspended=False start=now wake=10s events=SuccessfulCreate,Resumed",
		},
		"a deadline beyond all time": {
			job: aJob("", started(time.Minute), func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To[int64](1 << 62) }), want: "create=1 conds=-",
		},
		"JOB-170 created suspended": {
			job: aJob("p2 c2 suspend"), want: "create=0 active=0 ready=0 term=0 start=none conds=Suspended:JobSuspended events=Suspended",
		},
		"JOB-170 resumed": {
			job: aJob("p2 c2", started(0), neverStarted, isSuspended), want: "create=2 start=now conds=Suspended=False",
		},
		"JOB-171 suspended while running": {
			job: aJob("p2 c2 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b ready"), want: "evict=a,b active=0 ready=0 term=2 fail=0 start=none conds=Suspended:JobSuspended",
		},
		"JOB-172 two ready pods go": {
			job: aJob("p2 c3 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b ready"), want: "evict=a,b ready=0 term=2",
		},
		"JOB-173 suspending waits for own creations": {
			job: aJob("p2 c3 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b ready"), expectations: creating("job-zzzzz"), want: "evict=- conds=- active=2",
		},
		"JOB-174 resumed after a run": {
			job: aJob("p2 c2", started(0), neverStarted, isSuspended), want: "create=2 conds=Suspended=False start=now events=SuccessfulCreate,SuccessfulCreate,Resumed",
		},
		"JOB-175 suspended with nothing to complete": {
			job: aJob("p2 c0 suspend"), want: "write=end start=none completion=now conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-177 a suspended Job stays suspended": {
			job: aJob("p2 c2 suspend", started(0), neverStarted, isSuspended), want: "write=no create=0 wake=-",
		},
		"JOB-182 a suspended Job that was scaled to what is done (Q-03)": {
			job: aJob("p1 c1 indexed suspend", started(0), neverStarted, isSuspended, indexesDone("0", ""), counted(1, 0)), want: "write=end start=now completion=now",
		},
		"JOB-183 suspended and resumed unseen": {
			job: aJob("", started(time.Minute), was(1)), pods: somePods("a ready"), want: "write=no conds=-",
		},
		"JOB-184 ended pods count, the rest goes": {
			job: aJob("p3 c5 suspend", started(time.Minute)), pods: somePods("a succeeded", "b succeeded", "c running"), want: "evict=c usucc=a,b unfinalize=a,b conds=Suspended:JobSuspended",
		},
		"JOB-185 complete rather than suspended": {
			job: aJob("p2 c2 suspend", started(time.Minute)), pods: somePods("a succeeded", "b succeeded"), want: "write=end conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-187 resuming waits for the old pods when only failed ones are replaced": {
			job: aJob("p2 c2 prp=Failed", started(0), neverStarted, isSuspended), pods: somePods("a running deleting -F"), want: "create=1 term=1",
		},
		"JOB-188 Q-15 a pod that could not be deleted": {
			job: aJob("p2 c2 suspend", started(time.Minute)), pods: somePods("a ready", "b ready"), mishaps: mishaps{deletes: sets.New("a")}, want: "active=1 ready=1 term=1 conds=Suspended:JobSuspended",
		},
		"CP-16 suspending goes on where it stopped": {
			job: aJob("p2 c2 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b running deleting -F"), want: "evict=a active=0 term=2 conds=Suspended:JobSuspended start=none",
		},
		"CP-17 resuming goes on where it stopped": {
			job: aJob("p2 c2", started(0), neverStarted, isSuspended), pods: somePods("a running", "b running"), want: "create=0 active=2 conds=Suspended=False start=now",
		},
		"JOB-356 the clock went back (Q-16)": {
			job: aJob("", started(-time.Hour)), pods: somePods("a succeeded"), want: "write=end completion=other start=kept",
		},
		"a Suspended condition of unknown status is not a resumption": {
			job: aJob("", started(time.Minute), was(1), withCondition(batchv1.JobSuspended, "Unknown", "x")), pods: somePods("a ready"), want: "write=no",
		},
		"startTime that an older controller left is cleared": {
			job: aJob("suspend", started(time.Minute), isSuspended), want: "start=none write=yes events=-",
		},
	})
}
