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
)

// 10.3: exactly once.
func TestOneSyncCountsPods(t *testing.T) {
	t.Parallel()
	inFlight := func(uids ...types.UID) Expectations { return Expectations{Unfinalizing: sets.New(uids...)} }
	runSyncs(t, map[string]syncTest{
		"JOB-061 finished pods are recorded before their finalizers go": {
			job: aJob("p6 c6", started(time.Minute)), pods: somePods("a succeeded", "b failed", "c succeeded", "d failed", "e pending deleting", "f pending", "g running"),
			want: "usucc=a,c ufail=b,d,e unfinalize=a,b,c,d,e succ=0 fail=0 term=1 write=yes",
		},
		"JOB-061 the next write counts them": {
			job: aJob("p2 c6", started(time.Minute), uncounted("a c", "b d e")), pods: somePods("a succeeded -F", "c succeeded -F", "f pending", "g running"),
			want: "usucc=- ufail=- unfinalize=- succ=2 fail=3 wake=-",
		},
		"JOB-062 settling and recording share a write": {
			job: aJob("p4 c9", started(time.Minute), counted(2, 3), uncounted("a e", "b f")), pods: somePods("a succeeded", "b failed", "c succeeded", "d failed", "e succeeded -F"),
			want: "succ=3 fail=4 usucc=a,c ufail=b,d unfinalize=a,b,c,d",
		},
		"JOB-063 finalizers on their way are not waited for twice": {
			job: aJob("p9 c9 bl9", started(time.Minute), uncounted("c", "g")), expectations: inFlight("c", "d", "g", "h"),
			pods: somePods("a succeeded", "c succeeded", "d succeeded", "e failed", "g failed", "h failed"),
			want: "unfinalize=a,e usucc=a ufail=e succ=1 fail=1",
		},
		"JOB-066 settling goes on beside new records": {
			job: aJob("p3 c9", started(time.Minute), uncounted("a", "b")), pods: somePods("a succeeded -F", "c succeeded", "d failed"),
			want: "succ=1 fail=1 usucc=c ufail=d unfinalize=c,d",
		},
		"JOB-069 a recorded failure stays one": {
			job: aJob("p1 c3", started(time.Minute), uncounted("", "a")), pods: somePods("a succeeded"),
			want: "usucc=- ufail=a succ=0 unfinalize=a create=1",
		},
		"JOB-069 Indexed: its index is not completed either": {
			job: aJob("p1 c3 indexed", started(time.Minute), uncounted("", "a")), pods: somePods("a succeeded i0"),
			want: "usucc=- ufail=a succ=0 completed=- unfinalize=a create=0",
		},
		"JOB-069 Indexed: nor when the Job could end with it": {
			job: aJob("p1 c1 indexed", started(time.Minute), uncounted("", "a")), pods: somePods("a succeeded i0 deleting"),
			want: "ufail=a succ=0 completed=- conds=- create=0",
		},
		"JOB-069 Indexed: nor when it is counted already and the cache shows it late": {
			job: aJob("p1 c3 indexed", started(time.Minute), counted(0, 1)), pods: somePods("a succeeded i0 deleting"), expectations: inFlight("a"),
			want: "ufail=- succ=0 fail=1 completed=- unfinalize=- create=0",
		},
		"JOB-069 Indexed: an index that was given up stays so": {
			job: aJob("p1 c3 indexed blpi0", started(time.Minute), uncounted("", "a"), indexesDone("", "0")), pods: somePods("a succeeded i0 fc0 deleting"),
			want: "ufail=a succ=0 completed=- failedidx=0 create=1",
		},
		"a UID in both lists is a success, as it was recorded first": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a", "a")), pods: somePods("a succeeded"),
			want: "usucc=a ufail=- succ=0 fail=0",
		},
		"JOB-070 a recorded pod that is gone is counted": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a", "")), want: "usucc=- succ=1",
		},
		"JOB-074 CP-04 recorded but nothing released": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a b", "")), pods: somePods("a succeeded", "b succeeded"),
			want: "usucc=a,b succ=0 unfinalize=a,b create=1",
		},
		"JOB-075 CP-05 half released, those deleted": {
			job: aJob("p1 c5", started(time.Minute), uncounted("a b c d", "")), pods: somePods("c succeeded", "d succeeded"),
			want: "usucc=c,d succ=2 unfinalize=c,d",
		},
		"JOB-076 CP-06 all released, the end follows at once": {
			job:  aJob("p1 c2", started(time.Minute), uncounted("a b", ""), withCondition(batchv1.JobSuccessCriteriaMet, "True", "CompletionsReached")),
			want: "write=end succ=2 usucc=- conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-077 FailureTarget outlives the pod that caused it": {
			job:  aJob("", started(time.Minute), uncounted("", "a"), withCondition(batchv1.JobFailureTarget, "True", "PodFailurePolicy")),
			want: "write=end fail=1 conds=FailureTarget:PodFailurePolicy,Failed:PodFailurePolicy events=PodFailurePolicy",
		},
		"JOB-080 with creations pending the decision is kept, the end waits (Q-04)": {
			job: aJob("bl0 deleting", started(time.Minute)), pods: somePods("a failed"), expectations: creating("job-zzzzz"),
			want: "conds=FailureTarget:BackoffLimitExceeded ufail=a unfinalize=a write=yes wake=1s",
		},
		"JOB-083 a missing pod proves nothing while the pods are older than the Job (A2)": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a b", "")), pods: somePods("b succeeded -F"), stale: true,
			want: "usucc=a succ=1 stale=true",
		},
		"JOB-087 a finalizer stripped by somebody: not counted, replaced": {
			job: aJob("p1 c1", started(time.Minute)), pods: somePods("a succeeded -F"), want: "create=1 succ=0 usucc=-",
		},
		"ignored failures need no record": {
			job: aJob("p2 c2 bl0", started(time.Minute), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3))), pods: somePods("a failed exit3", "b running"),
			want: "ufail=- fail=0 unfinalize=a active=2 conds=-",
		},
		"settling alone can wait (OPT-02)": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a", ""), func(j *batchv1.Job) { j.Status.Active = 1 }), pods: somePods("a succeeded -F", "b running"),
			want: "write=lazy succ=1 usucc=-",
		},
		"JOB-350 conditions of others stay, at their place": {
			job: aJob("p1 c1", started(time.Minute), withCondition("acme.io/Mine", "True", "x"), withCondition(batchv1.JobSuspended, "False", "JobResumed")), pods: somePods("a succeeded"),
			want: "write=end conds=acme.io/Mine:x,Suspended=False,SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"ready alone can wait (OPT-03)": {
			job: aJob("p1 c3", started(time.Minute), func(j *batchv1.Job) { j.Status.Active = 1 }), pods: somePods("b ready"),
			want: "write=lazy ready=1 active=1",
		},
		"active cannot wait": {
			job: aJob("p0 c3", started(time.Minute)), pods: nil, want: "write=no",
		},
		"garbage in the stored status is repaired": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a a", "a"), func(j *batchv1.Job) {
				j.Status.UncountedTerminatedPods.Failed = append(j.Status.UncountedTerminatedPods.Failed, "")
			}),
			pods: somePods("a succeeded"), want: "usucc=a ufail=- unfinalize=a",
		},
		"the same pod twice counts once": {
			job: aJob("p1 c3", started(time.Minute)), pods: somePods("a succeeded", "a succeeded"), want: "usucc=a",
		},
	})
}

// JOB-060: stored, recorded and fresh pods add up.
func TestTotalsAddUp(t *testing.T) {
	t.Parallel()
	j := aJob("p9 c9 bl9", started(time.Minute), counted(1, 1), uncounted("a c", "e f"))
	p := Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true},
		Pods: somePods("a succeeded -F", "b succeeded -F", "e failed -F", "c succeeded", "d succeeded", "f failed", "g failed")})
	if p.sync.succeeded != 4 || p.sync.failed != 4 {
		t.Errorf("%d succeeded and %d failed, want 4 and 4", p.sync.succeeded, p.sync.failed)
	}
}

// The limits of one status write.
func TestOneWriteRecordsLimitedNumber(t *testing.T) {
	t.Parallel()
	t.Run("JOB-067 at most 500 UIDs, while the Job goes on", func(t *testing.T) {
		t.Parallel()
		pods := append(numbered(500, "s", "succeeded"), somePods("a succeeded -F", "b failed")...)
		j := aJob("p1 c502 bl6", started(time.Minute), uncounted("a", "b"))
		p := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
		r := p.PlanStatus(Results{})
		u := r.Write.Status.UncountedTerminatedPods
		if len(u.Succeeded) != 499 || len(u.Failed) != 1 || r.Write.Status.Succeeded != 1 {
			t.Errorf("recorded %d+%d, counted %d; want 499+1 and 1", len(u.Succeeded), len(u.Failed), r.Write.Status.Succeeded)
		}
		if r.Write.Finished || len(r.Unfinalize) != 500 || !r.Wake.Equal(now.Add(continueDelay)) {
			t.Errorf("finished %t, %d finalizers, wake %s: want the rest in the next sync", r.Write.Finished, len(r.Unfinalize), r.Wake)
		}
	})
	t.Run("JOB-068 at most 500 finalizers, while the Job goes on", func(t *testing.T) {
		t.Parallel()
		j := aJob("p1 c502 indexed", started(time.Minute))
		r := Decide(Snapshot{Job: j, Pods: numbered(501, "s", "succeeded iN"), Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).PlanStatus(Results{})
		if r.Write.Finished || len(r.Unfinalize) != 500 || r.Write.Status.CompletedIndexes != "0-500" || !r.Wake.Equal(now.Add(continueDelay)) {
			t.Errorf("finished %t, %d finalizers, completed %s, wake %s", r.Write.Finished, len(r.Unfinalize), r.Write.Status.CompletedIndexes, r.Wake)
		}
	})
	t.Run("JOB-068 the end need not wait for finalizers (OPT-01)", func(t *testing.T) {
		t.Parallel()
		j := aJob("p1 c501 indexed", started(time.Minute))
		snapshot := Snapshot{Job: j, Pods: numbered(501, "s", "succeeded iN"), Now: now, PodsCurrent: true, Options: Options{Standalone: true}}
		r := Decide(snapshot).PlanStatus(Results{})
		if !r.Write.Finished || len(r.Unfinalize) != 500 || r.Write.Status.CompletedIndexes != "0-500" || !r.Wake.Equal(now.Add(continueDelay)) {
			t.Fatalf("finished %t, %d finalizers, completed %s, wake %s", r.Write.Finished, len(r.Unfinalize), r.Write.Status.CompletedIndexes, r.Wake)
		}
		// The process that wrote it goes on, and so does one that finds it.
		snapshot.Job = j.DeepCopy()
		snapshot.Job.Status = *r.Write.Status
		snapshot.Expectations.Unfinalizing = sets.New[types.UID]()
		for _, ref := range r.Unfinalize {
			snapshot.Expectations.Unfinalizing.Insert(ref.UID)
		}
		if p := Decide(snapshot); len(p.Cleanup) != 1 {
			t.Errorf("%d finalizers are left to the writer, want 1", len(p.Cleanup))
		}
		snapshot.Expectations = Expectations{}
		if p := Decide(snapshot); len(p.Cleanup) != 501 {
			t.Errorf("%d finalizers are left to its successor, want 501", len(p.Cleanup))
		}
	})
	t.Run("a full list of UIDs keeps no index out of the books", func(t *testing.T) {
		t.Parallel()
		j := aJob("p9 c600 indexed bl1000", started(time.Minute))
		pods := append(numbered(590, "f", "failed i599"), numbered(590, "s", "succeeded iN")...)
		r := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).PlanStatus(Results{})
		s := r.Write.Status
		if s.CompletedIndexes != "0-589" || len(s.UncountedTerminatedPods.Failed) != 500 || r.Remainder != RemainderUncounted || len(r.Unfinalize) != 500 {
			t.Errorf("remainder %q, %d finalizers, %s", r.Remainder, len(r.Unfinalize), statusText(s))
		}
	})
	t.Run("more finalizers than one sync may remove keep nothing out of the books (OPT-09)", func(t *testing.T) {
		t.Parallel()
		j := aJob("p9 c600 indexed", started(time.Minute))
		pods := append(numbered(590, "s", "succeeded iN"), aPod("f failed i599"))
		r := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).PlanStatus(Results{})
		s := r.Write.Status
		if s.CompletedIndexes != "0-589" || len(s.UncountedTerminatedPods.Failed) != 1 || r.Remainder == RemainderUncounted || len(r.Unfinalize) != 500 || !r.Wake.After(now) {
			t.Errorf("remainder %q, %d finalizers, wake %v, %s", r.Remainder, len(r.Unfinalize), r.Wake, statusText(s))
		}
	})
	t.Run("JOB-067 the end carries no UIDs, so it holds them all (OPT-01)", func(t *testing.T) {
		t.Parallel()
		for name, test := range map[string]struct {
			job               string
			pods              []*corev1.Pod
			succeeded, failed int32
		}{
			"NonIndexed":            {"p1 c600", numbered(600, "s", "succeeded"), 600, 0},
			"failed":                {"p9 c600 bl0", append(numbered(590, "s", "succeeded"), numbered(10, "f", "failed")...), 590, 10},
			"failed beyond a limit": {"p9 c600 bl0", append(numbered(590, "f", "failed"), numbered(10, "s", "succeeded")...), 10, 590},
			"Indexed":               {"p9 c600 indexed bl0", append(numbered(590, "s", "succeeded iN"), aPod("z failed i595")), 590, 1},
		} {
			j := aJob(test.job, started(time.Minute))
			r := Decide(Snapshot{Job: j, Pods: test.pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).PlanStatus(Results{})
			s := r.Write.Status
			if !r.Write.Finished || len(r.Unfinalize) != 500 || s.Succeeded != test.succeeded || s.Failed != test.failed || len(s.UncountedTerminatedPods.Succeeded)+len(s.UncountedTerminatedPods.Failed) > 0 {
				t.Errorf("%s: finished %t, %d finalizers, %s", name, r.Write.Finished, len(r.Unfinalize), statusText(s))
			}
		}
	})
	t.Run("what an Ignore rule keeps out is told when the Job ends", func(t *testing.T) {
		t.Parallel()
		j := aJob("p3 c3 indexed", started(time.Minute), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3)))
		pods := append(numbered(3, "s", "succeeded iN"), somePods("x failed exit3 i2", "y failed exit3 i2")...)
		r := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true, MaxUncounted: 2}}).PlanStatus(Results{})
		if !r.Write.Finished || r.Write.Metrics.PolicyActions[batchv1.PodFailurePolicyActionIgnore] != 2 || r.Write.Status.Failed != 0 || len(r.Unfinalize) != 2 {
			t.Errorf("finished %t, facts %+v, %d finalizers", r.Write.Finished, r.Write.Metrics, len(r.Unfinalize))
		}
	})
}

// 10.4: deletion of the Job.
func TestOneSyncOfADeletedJob(t *testing.T) {
	t.Parallel()
	runSyncs(t, map[string]syncTest{
		"JOB-106 all finalizers go, only ended pods count": {
			job: aJob("p2 c5 deleting", started(time.Minute)), pods: somePods("a pending", "b running", "c succeeded"),
			want: "unfinalize=a,b,c usucc=c ufail=- active=2 create=0 delete=- evict=-",
		},
		"JOB-107 suspending a deleted Job touches no pod": {
			job: aJob("p2 c5 deleting suspend", started(time.Minute)), pods: somePods("a pending", "b running"),
			want: "unfinalize=a,b delete=- evict=- conds=- start=kept",
		},
		"CP-14 running pods are released uncounted": {
			job: aJob("p2 c5 deleting", started(time.Minute)), pods: somePods("a running deleting", "b running"),
			want: "unfinalize=a,b ufail=a term=1 active=1",
		},
		"JOB-112 CP-15 podsWithFinalizer of a finished Job": {
			job: aJob("", started(time.Minute), withCondition(batchv1.JobFailed, "True", "x")), pods: somePods("a failed", "b succeeded -F", "c failed foreign"),
			want: "skip=finished cleanup=a write=no",
		},
		"Q-17 nobody hears that a deleted Job failed": {
			job: aJob("p1 bl0 deleting", started(time.Minute)), pods: somePods("a failed"), want: "write=end events=- conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
	})
}
