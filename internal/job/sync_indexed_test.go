// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// 10.8: Indexed Jobs.
func TestOneSyncWorksOnIndexes(t *testing.T) {
	t.Parallel()
	runSyncs(t, map[string]syncTest{
		"JOB-200 the lowest indexes start": {
			job: aJob("p2 c5 indexed"), want: "create=0,1 active=2 completed=- failedidx=nil",
		},
		"JOB-201 gaps are filled in order": {
			job:  aJob("p8 c20 indexed", started(time.Hour)),
			pods: somePods("a running i0", "b pending i3", "c succeeded i2", "d succeeded i4", "e succeeded i5", "f succeeded i7", "g succeeded i8", "h succeeded i9"),
			want: "create=1,6,10,11,12,13 completed=2,4,5,7-9 succ=6 active=8 usucc=- unfinalize=c,d,e,f,g,h",
		},
		"JOB-202 a failed pod does not matter when its index is done": {
			job: aJob("p3 c3 indexed", started(time.Hour)), pods: somePods("a succeeded i0", "b failed i1", "c succeeded i1", "d succeeded i2"),
			want: "write=end completed=0-2 succ=3 fail=1 conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-203 an index counts once": {
			job: aJob("p2 c3 indexed", started(time.Hour)), pods: somePods("a succeeded i0", "b succeeded i1", "c succeeded i1"),
			want: "create=2 completed=0,1 succ=2 unfinalize=a,b,c",
		},
		"JOB-204 failed indexes are tried again": {
			job: aJob("p3 c4 indexed", started(time.Hour)), pods: somePods("a failed i0", "b pending i1", "c failed i2"), want: "create=0,2 active=3 ufail=a,c",
		},
		"JOB-205 pods without a usable index do no good": {
			job:  aJob("p4 c4 indexed", started(time.Hour)),
			pods: somePods("a running", "b pending i-1", "c succeeded ix", "d failed"),
			want: "evict=a,b create=- unfinalize=c,d usucc=- ufail=- completed=- fail=0 active=0 term=2 " +
				"events=SuccessfulDelete,InvalidCompletionIndex,SuccessfulDelete,InvalidCompletionIndex,InvalidCompletionIndex,InvalidCompletionIndex",
		},
		"pods with an index that is no more wanted go without a remark": {
			job:  aJob("p1 c1 indexed", started(time.Hour), counted(1, 0), indexesDone("", "")),
			pods: somePods("a running i0", "b running i3", "c succeeded i4"), want: "evict=b unfinalize=c events=SuccessfulDelete",
		},
		"JOB-206 the better of two pods for an index stays": {
			job: aJob("p5 c5 indexed", started(time.Hour)), pods: somePods("a running i2", "b pending i2"), want: "evict=b create=- active=1",
		},
		"JOB-207 indexes out of range": {
			job: aJob("p2 c2 indexed", started(time.Hour)), pods: somePods("a running i2", "b running i1", "c succeeded i5", "d failed i3"),
			want: "evict=a active=1 unfinalize=c,d usucc=- ufail=- completed=- fail=0",
		},
		"JOB-214 scaling down forgets what is cut off": {
			job:  aJob("p1 c1 indexed", started(time.Hour), counted(1, 2), indexesDone("0", "")),
			pods: somePods("b running i1", "c running i2"), want: "evict=b,c completed=0 succ=1 fail=2 conds=-",
		},
		"JOB-216 scaled down to nothing": {
			job: aJob("p0 c0 indexed", started(time.Hour), counted(2, 0), indexesDone("0,1", "")), want: "write=end completed=- succ=0",
		},
		"JOB-217 the number of successes may go down": {
			job: aJob("p2 c2 indexed", started(time.Hour), counted(1, 0), indexesDone("3", "")), want: "completed=- succ=0 create=0,1",
		},
		"JOB-218 scaled down to what is done while a pod goes": {
			job: aJob("p1 c1 indexed", started(time.Hour), counted(1, 0), indexesDone("0", "")), pods: somePods("b running i1 deleting -F"),
			want: "conds=SuccessCriteriaMet:CompletionsReached term=1 write=yes completion=none",
		},
		"JOB-219 the API refuses a smaller number (Q-12)": {
			job: aJob("p1 c2 indexed", started(time.Hour), counted(1, 0), indexesDone("3", "")), want: "completed=- succ=1 events=SuccessfulCreate,SucceededNotDecreased create=0",
		},
		"JOB-219 and is not asked again": {
			job:  aJob("p1 c2 indexed", started(time.Hour), counted(1, 0), indexesDone("", ""), func(j *batchv1.Job) { j.Status.Active = 1 }),
			pods: somePods("a running i0"), want: "write=no",
		},
		"JOB-219 until parallelism follows": {
			job:  aJob("p2 c2 indexed", started(time.Hour), counted(1, 0), indexesDone("", ""), func(j *batchv1.Job) { j.Status.Active = 2 }),
			pods: somePods("a running i0", "b running i1"), want: "succ=0 events=-",
		},
		"a terminating pod keeps its index when only failed pods are replaced": {
			job: aJob("p2 c5 indexed prp=Failed", started(time.Hour)), pods: somePods("a running i0 deleting"), want: "create=1 term=1 unfinalize=-",
		},
		"JOB-264 a terminating pod without index, only failed pods replaced": {
			job: aJob("p2 c5 indexed prp=Failed", started(time.Hour)), pods: somePods("a running deleting"), want: "create=0 term=1 unfinalize=-",
		},
		"JOB-264 the same, terminating pods replaced": {
			job: aJob("p2 c5 indexed", started(time.Hour)), pods: somePods("a running deleting"), want: "create=0,1 term=1 unfinalize=a fail=0 ufail=-",
		},
	})
}

// 10.9: a backoff limit per index.
func TestOneSyncLimitsFailuresPerIndex(t *testing.T) {
	t.Parallel()
	two := func(n int32) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = &n } }
	runSyncs(t, map[string]syncTest{
		"JOB-234 Q-22 a failed pod stays, and is not counted, until its replacement is there": {
			job: aJob("p2 c2 indexed blpi1", started(time.Hour)), pods: somePods("a failed i0 fc0", "b running i1 fc0"),
			want: "create=0 active=2 unfinalize=- ufail=- failedidx=-",
		},
		"JOB-234 JOB-235 CP-10 then it is counted": {
			job: aJob("p2 c2 indexed blpi1", started(time.Hour)), pods: somePods("a failed i0 fc0 deleting", "b running i1 fc0", "c running i0 fc1"),
			want: "create=- unfinalize=a ufail=a failedidx=-",
		},
		"Q-13 with OnFailure only failed pods use up the limit of an index, not restarts": {
			job: aJob("p2 c2 indexed blpi0 onfailure", started(time.Hour)), pods: somePods("a running i0 fc0 restarts5", "b running i1 fc0"),
			want: "failedidx=- conds=- active=2 evict=- delete=-",
		},
		"Q-13 and with OnFailure a failed pod does": {
			job: aJob("p2 c2 indexed blpi0 onfailure", started(time.Hour)), pods: somePods("a failed i0 fc0", "b running i1 fc0"),
			want: "failedidx=0 conds=- ufail=a active=1",
		},
		"JOB-236 out of retries": {
			job: aJob("p2 c2 indexed blpi1", started(time.Hour)), pods: somePods("a failed i0 fc1", "b running i1 fc0"),
			want: "create=- unfinalize=a ufail=a failedidx=0 conds=-",
		},
		"JOB-230 Q-14 all indexes ended, some failed, and no maxFailedIndexes: the Job fails all the same": {
			job:  aJob("p2 c4 indexed blpi1", started(time.Hour), counted(2, 3), indexesDone("0,2", "1")),
			pods: somePods("a failed i3 fc1"), want: "write=end failedidx=1,3 completed=0,2 fail=4 succ=2 conds=FailureTarget:FailedIndexes,Failed:FailedIndexes",
		},
		"JOB-231 one failed index too many": {
			job: aJob("p1 c4 indexed blpi0 max0", started(time.Hour)), pods: somePods("a failed i0 fc0"), want: "write=end failedidx=0 fail=1 conds=FailureTarget:MaxFailedIndexesExceeded,Failed:MaxFailedIndexesExceeded",
		},
		"JOB-233 FailIndex gives an index up at once": {
			job:  aJob("p2 c2 indexed blpi1", started(time.Hour), failurePolicy(onExit(batchv1.PodFailurePolicyActionFailIndex, 1))),
			pods: somePods("a failed exit1 i1 fc0", "b succeeded i0"), want: "write=end failedidx=1 completed=0 fail=1 succ=1 conds=FailureTarget:FailedIndexes,Failed:FailedIndexes",
		},
		"JOB-237 the limit of the whole Job still holds": {
			job: aJob("p2 c2 indexed blpi1 bl1", started(time.Hour)), pods: somePods("a failed i0 fc0", "b failed i1 fc0"),
			want: "write=end fail=2 failedidx=- conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-238 a pod that was stopped fails no index, not even if it ended well and is not shown as deleted": {
			job:  aJob("p1 c1 indexed blpi0", started(time.Hour), withCondition(batchv1.JobFailureTarget, "True", "DeadlineExceeded"), uncounted("", "a"), indexesDone("", "")),
			pods: somePods("a succeeded i0 fc0"), expectations: Expectations{Deleting: map[types.UID]time.Time{"a": now}}, want: "failedidx=- completed=-",
		},
		"JOB-239 max failed indexes with a pod running": {
			job: aJob("p4 c4 indexed blpi0", started(time.Hour), two(1)), pods: somePods("a failed i0 fc0", "b failed i1 fc0", "c running i2 fc0"),
			want: "conds=FailureTarget:MaxFailedIndexesExceeded ufail=a,b active=1 failedidx=0,1",
		},
		"JOB-240 ignored failures are carried on too": {
			job:  aJob("p1 c1 indexed blpi1", started(time.Hour), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3))),
			pods: somePods("a failed exit3 i0 fc1"), want: "create=0 fail=0 failedidx=-",
		},
		"JOB-241 JOB-249 only indexes whose delay is over": {
			job: aJob("p3 c5 indexed blpi5", started(time.Hour)), pods: somePods("a failed i0 fc0 end4", "b failed i1 fc1 ic1 end39", "c failed i2 fc0 end11"),
			want: "create=2 active=1 wake=-",
		},
		"JOB-245 a count that somebody made unreadable is told with the replacement": {
			job: aJob("p2 c2 indexed blpi5", started(time.Hour)), pods: somePods("a failed i0 fcx ic2", "b failed i1 fc0"),
			want: "create=0,1 events=SuccessfulCreate,InvalidFailureCount,SuccessfulCreate",
		},
		"JOB-241 none is due: wait for the first": {
			job: aJob("p2 c5 indexed blpi5", started(time.Hour)), pods: somePods("a failed i0 fc0 end4", "b failed i1 fc1 ic1 end39"), want: "create=- wake=1s active=0",
		},
		"JOB-249 a waiting index keeps its slot (Q-09)": {
			job: aJob("p1 c3 indexed blpi5", started(time.Hour)), pods: somePods("a failed i0 fc0 end4"), want: "create=- wake=6s",
		},
		"JOB-243 the running pod is still reported": {
			job: aJob("p2 c2 indexed blpi5", started(time.Hour)), pods: somePods("a running i0 fc0", "b failed i1 fc0 end4"), want: "create=- active=1 wake=6s",
		},
		"JOB-244 of several failed pods the one with most failures is kept": {
			job: aJob("p1 c1 indexed blpi9", started(time.Hour)), pods: somePods("a failed i0 fc0 end400", "b failed i0 fc2 end200", "c failed i0 fc1 end300"),
			want: "create=0 unfinalize=a,c ufail=a,c",
		},
		"JOB-244 the one with most failures ended first": {
			job: aJob("p1 c1 indexed blpi9", started(time.Hour)), pods: somePods("a failed i0 fc0 end200", "b failed i0 fc1 end400"), want: "create=0 unfinalize=a ufail=a",
		},
		"JOB-246 a pod without finalizer fails no index; stored indexes out of range go": {
			job: aJob("p2 c2 indexed blpi0", started(time.Hour), indexesDone("", "9")), pods: somePods("a failed i0 fc0 -F", "b failed i5 fc0"), want: "failedidx=- unfinalize=b fail=0",
		},
		"JOB-247 done weighs more than failed (Q-11)": {
			job: aJob("p2 c2 indexed blpi0", started(time.Hour)), pods: somePods("a failed i0 fc0", "b succeeded i0 fc0", "c running i1 fc0"), want: "completed=0 failedidx=- ufail=a",
		},
		"JOB-248 maxFailedIndexes was lowered": {
			job: aJob("p2 c4 indexed blpi0 max1", started(time.Hour), counted(0, 2), indexesDone("", "0,1")), pods: somePods("a running i2 fc0"), want: "conds=FailureTarget:MaxFailedIndexesExceeded",
		},
		"CP-11 the delay survives a restart": {
			job: aJob("p1 c1 indexed blpi5", started(time.Hour)), pods: somePods("a failed i0 fc2 end30"), want: "create=- wake=10s",
		},
		"nothing to complete, with a limit per index": {
			job: aJob("p1 c0 indexed blpi1"), want: "write=end failedidx=- conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
	})
}

// 10.10: replacing pods, terminating, ready.
func TestOneSyncReplacesPods(t *testing.T) {
	t.Parallel()
	runSyncs(t, map[string]syncTest{
		"JOB-260 only failed pods are replaced: one is on its way": {
			job: aJob("p1 c1 bl1 prp=Failed", started(time.Hour)), pods: somePods("a running deleting"), want: "create=0 active=0 fail=0 ufail=- term=1 unfinalize=-",
		},
		"JOB-260 it failed": {
			job: aJob("p1 c1 bl1 prp=Failed", started(time.Hour)), pods: somePods("a failed deleting"), want: "create=1 active=1 ufail=a term=0 unfinalize=a",
		},
		"JOB-261 terminating pods are replaced at once": {
			job: aJob("p2 c2", started(time.Hour)), pods: somePods("a running deleting", "b running deleting"), want: "create=0 ufail=a,b unfinalize=a,b term=2 wake=1s",
		},
		"JOB-261 after the delay": {
			job: aJob("p2 c2", started(time.Hour), counted(0, 2)), pods: somePods("a running deleting -F", "b running deleting -F"), want: "create=2 active=2 fail=2 term=2",
		},
		"JOB-262 only failed pods: none yet": {
			job: aJob("p2 c2 prp=Failed", started(time.Hour)), pods: somePods("a running deleting", "b running deleting"), want: "create=0 active=0 fail=0 term=2 unfinalize=-",
		},
		"JOB-263 too many run, more are going": {
			job: aJob("p1 c1 prp=Failed", started(time.Hour)), pods: somePods("a running", "b pending", "c running deleting", "d running deleting", "e running deleting", "f running deleting"),
			want: "evict=b create=0 active=1 term=5",
		},
		"JOB-265 a failure policy waits for the final phase": {
			job: aJob("", started(time.Hour), failurePolicy()), pods: somePods("a running deleting"), want: "create=0 term=1 ufail=- unfinalize=-",
		},
		"JOB-267 the policy was changed on the way": {
			job: aJob("prp=TerminatingOrFailed", started(time.Hour)), pods: somePods("a running deleting"), expectations: Expectations{Backoff: Backoff{}}, want: "ufail=a unfinalize=a term=1",
		},
		"JOB-268 ready and active go down in one write": {
			job:  aJob("p2 c2", started(time.Hour), func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = 2, ptr.To[int32](2) }),
			pods: somePods("a ready", "b failed end1"), want: "active=1 ready=1 write=yes",
		},
	})
}
