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

// 10.11: the pod failure policy.
func TestOneSyncAppliesFailurePolicy(t *testing.T) {
	t.Parallel()
	failJob := onExit(batchv1.PodFailurePolicyActionFailJob, 1)
	runSyncs(t, map[string]syncTest{
		"JOB-280 FailJob": {
			job: aJob("", started(time.Hour), failurePolicy(failJob)), pods: somePods("a failed exit1"), want: "write=end fail=1 conds=FailureTarget:PodFailurePolicy,Failed:PodFailurePolicy events=PodFailurePolicy",
		},
		"JOB-281 disrupted pods are ignored": {
			job: aJob("bl0", started(time.Hour), failurePolicy(onCondition(batchv1.PodFailurePolicyActionIgnore, "DisruptionTarget", "True"))),
			pods: func() []*corev1.Pod {
				p := aPod("a failed")
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "DisruptionTarget", Status: "True"})
				return []*corev1.Pod{p}
			}(),
			want: "create=1 fail=0 ufail=- conds=- unfinalize=a",
		},
		"JOB-282 ignored exit codes, Indexed": {
			job:  aJob("p1 c2 bl0 indexed", started(time.Hour), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 42))),
			pods: somePods("a failed exit42 i0"), want: "create=0 fail=0 ufail=- conds=-",
		},
		"JOB-285 JOB-295 a running pod triggers nothing": {
			job: aJob("", started(time.Hour), failurePolicy(failJob)), pods: func() []*corev1.Pod {
				p := aPod("a running")
				p.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
				return []*corev1.Pod{p}
			}(), want: "active=1 conds=-",
		},
		"JOB-286 what is stored is not reconsidered": {
			job:  aJob("", started(time.Hour), failurePolicy(failJob), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded")),
			pods: somePods("a failed exit1"), want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-287 the first rule that matches decides: Ignore": {
			job:  aJob("", started(time.Hour), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 1), failJob)),
			pods: somePods("a failed exit1"), want: "conds=- fail=0 ufail=-",
		},
		"JOB-287 the first rule that matches decides: Count": {
			job:  aJob("", started(time.Hour), failurePolicy(onExit(batchv1.PodFailurePolicyActionCount, 1), onExit(batchv1.PodFailurePolicyActionIgnore, 1))),
			pods: somePods("a failed exit1"), want: "conds=- ufail=a",
		},
		"JOB-292 no rule matches": {
			job: aJob("bl0", started(time.Hour), failurePolicy(failJob)), pods: somePods("a failed exit2"), want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-293 a terminating pod has not failed": {
			job: aJob("", started(time.Hour), failurePolicy(failJob)), pods: somePods("a running deleting exit1"), want: "conds=- ufail=- create=0",
		},
		"JOB-294 the running pod is stopped and counted": {
			job:  aJob("p2 c2", started(time.Hour), counted(0, 1), failurePolicy(failJob), withCondition(batchv1.JobFailureTarget, "True", "PodFailurePolicy")),
			pods: somePods("b running"), want: "delete=b ufail=b unfinalize=b fail=1 active=0 term=1 conds=FailureTarget:PodFailurePolicy",
		},
		"an Ignore rule keeps a stopped pod out of the count": {
			job:  aJob("p2 c2", started(time.Hour), failurePolicy(onCondition(batchv1.PodFailurePolicyActionIgnore, "Ready", "True")), withCondition(batchv1.JobFailureTarget, "True", "DeadlineExceeded")),
			pods: somePods("b ready"), want: "delete=b ufail=- unfinalize=b",
		},
		"JOB-297 a sibling that could not be deleted changes nothing (Q-04)": {
			job:  aJob("p2 c2", started(time.Hour), failurePolicy(failJob), uncounted("", "a"), withCondition(batchv1.JobFailureTarget, "True", "PodFailurePolicy")),
			pods: somePods("b ready"), mishaps: mishaps{deletes: sets.New("b")}, want: "active=1 ready=1 conds=FailureTarget:PodFailurePolicy unfinalize=- fail=1 ufail=- write=yes",
		},
		"JOB-298 a pod that we removed says nothing about the Job (Q-05)": {
			job: aJob("p1 c2", started(time.Hour), failurePolicy(failJob)), pods: somePods("a failed exit1 deleting -F", "b running"), want: "conds=- fail=0",
		},
		"Q-05 nor does one whose finalizer is on its way off": {
			job: aJob("p1 c2", started(time.Hour), failurePolicy(failJob)), pods: somePods("a failed exit1", "b running"),
			expectations: Expectations{Unfinalizing: sets.New[types.UID]("a")}, want: "conds=- fail=0",
		},
	})
}

// 10.12: the success policy.
func TestOneSyncAppliesSuccessPolicy(t *testing.T) {
	t.Parallel()
	count := func(n int32) batchv1.SuccessPolicyRule { return batchv1.SuccessPolicyRule{SucceededCount: &n} }
	these := func(s string) batchv1.SuccessPolicyRule { return batchv1.SuccessPolicyRule{SucceededIndexes: &s} }
	runSyncs(t, map[string]syncTest{
		"JOB-310 all that is asked for": {
			job: aJob("p2 c2 indexed", started(time.Hour), successPolicy(count(2))), pods: somePods("a succeeded i0", "b succeeded i1"),
			want: "write=end conds=SuccessCriteriaMet:SuccessPolicy,Complete:SuccessPolicy fail=0",
		},
		"JOB-311 one index is enough": {
			job: aJob("p2 c5 indexed", started(time.Hour), successPolicy(these("0")), counted(0, 1)), pods: somePods("a succeeded i0", "b running i2"),
			want: "conds=SuccessCriteriaMet:SuccessPolicy completed=0 active=1 delete=- wake=10ms",
		},
		"JOB-312 JOB-314 the others are stopped and do not count as failed": {
			job:  aJob("p2 c5 indexed", started(time.Hour), successPolicy(count(1)), counted(1, 0), indexesDone("0", ""), withCondition(batchv1.JobSuccessCriteriaMet, "True", "SuccessPolicy")),
			pods: somePods("b ready i2", "c failed i3"), want: "delete=b unfinalize=b,c ufail=c active=0 ready=0 term=1 fail=0",
		},
		"CP-19 what we stopped is no failure after a crash either": {
			job:  aJob("p2 c5 indexed bl0", started(time.Hour), successPolicy(count(1)), counted(1, 0), indexesDone("0", ""), withCondition(batchv1.JobSuccessCriteriaMet, "True", "SuccessPolicy")),
			pods: somePods("b failed deleting i2"), want: "write=end fail=0 unfinalize=b conds=SuccessCriteriaMet:SuccessPolicy,Complete:SuccessPolicy",
		},
		"JOB-314 a pod that is going is let go as it was seen, because it may yet succeed": {
			job: aJob("p2 c5 indexed", started(time.Hour), successPolicy(count(1)), counted(1, 0), indexesDone("0", ""), withCondition(batchv1.JobSuccessCriteriaMet, "True", "SuccessPolicy")),
			pods: func() []*corev1.Pod {
				going, ended := aPod("b running deleting i2"), aPod("c failed i3")
				going.ResourceVersion, ended.ResourceVersion = "7", "8"
				return []*corev1.Pod{going, ended}
			}(), want: "unfinalize=b@7,c ufail=c",
		},
		"JOB-315 nothing runs any more": {
			job:  aJob("p2 c5 indexed", started(time.Hour), successPolicy(count(1)), counted(1, 0), indexesDone("0", ""), withCondition(batchv1.JobSuccessCriteriaMet, "True", "SuccessPolicy")),
			want: "write=end conds=SuccessCriteriaMet:SuccessPolicy,Complete:SuccessPolicy events=Completed",
		},
		"JOB-316 JOB-319 a failure in the same sync wins": {
			job: aJob("p2 c5 indexed bl0", started(time.Hour), successPolicy(count(1))), pods: somePods("a succeeded i0", "b failed i1"),
			want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded succ=1",
		},
		"JOB-317 a failure after it does not": {
			job:  aJob("p2 c5 indexed bl0", started(time.Hour), successPolicy(count(1)), counted(1, 0), indexesDone("0", ""), withCondition(batchv1.JobSuccessCriteriaMet, "True", "SuccessPolicy")),
			pods: somePods("b failed i1"), want: "write=end fail=1 conds=SuccessCriteriaMet:SuccessPolicy,Complete:SuccessPolicy",
		},
		"JOB-318 FailureTarget is stored": {
			job:  aJob("p2 c5 indexed", started(time.Hour), successPolicy(count(1)), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded")),
			pods: somePods("a succeeded i0"), want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded succ=1",
		},
		"JOB-320 without a rule that matched": {
			job: aJob("p2 c2 indexed", started(time.Hour), successPolicy(these("7"))), pods: somePods("a succeeded i0", "b succeeded i1"),
			want: "conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-321 count 0 waits for the first success": {
			job: aJob("p2 c2 indexed", started(time.Hour), successPolicy(count(0))), pods: somePods("a running i0", "b running i1"), want: "conds=-",
		},
		"JOB-321 then it is met": {
			job: aJob("p2 c2 indexed", started(time.Hour), successPolicy(count(0))), pods: somePods("a succeeded i0", "b running i1"), want: "conds=SuccessCriteriaMet:SuccessPolicy",
		},
	})
}

// JOB-313: which rules match which indexes.
func TestSuccessPolicyMatches(t *testing.T) {
	t.Parallel()
	rule := func(indexes string, n int32) batchv1.SuccessPolicyRule {
		var r batchv1.SuccessPolicyRule
		if indexes != "none" {
			r.SucceededIndexes = &indexes
		}
		if n >= 0 {
			r.SucceededCount = &n
		}
		return r
	}
	tests := map[string]struct {
		rules []batchv1.SuccessPolicyRule
		done  string
		want  string
	}{
		"subset":                            {[]batchv1.SuccessPolicyRule{rule("1-3", -1)}, "0-4", "Matched rules at index 0"},
		"equal":                             {[]batchv1.SuccessPolicyRule{rule("1-3", -1)}, "1-3", "Matched rules at index 0"},
		"one is missing":                    {[]batchv1.SuccessPolicyRule{rule("1-3", -1)}, "1,2", ""},
		"enough of the set":                 {[]batchv1.SuccessPolicyRule{rule("1-3", 2)}, "1,3", "Matched rules at index 0"},
		"others do not count":               {[]batchv1.SuccessPolicyRule{rule("1-3", 2)}, "1,5,6", ""},
		"an empty set never matches":        {[]batchv1.SuccessPolicyRule{rule("", 0)}, "1", ""},
		"a set that cannot be read neither": {[]batchv1.SuccessPolicyRule{rule("x", 0)}, "1", ""},
		"the second rule":                   {[]batchv1.SuccessPolicyRule{rule("9", -1), rule("none", 1)}, "1", "Matched rules at index 1"},
		"a set that passes the end is cut":  {[]batchv1.SuccessPolicyRule{rule("8-20", -1)}, "8,9", "Matched rules at index 0"},
		"count only":                        {[]batchv1.SuccessPolicyRule{rule("none", 3)}, "1,2", ""},
		"a rule that says nothing":          {[]batchv1.SuccessPolicyRule{rule("none", -1)}, "1", ""},
		"nothing succeeded":                 {[]batchv1.SuccessPolicyRule{rule("none", 0)}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Decide(Snapshot{Job: aJob("p10 c10 indexed", started(time.Hour), successPolicy(test.rules...), indexesDone(test.done, "")), Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
			if p.Verdict.Message != test.want {
				t.Errorf("message %q, want %q", p.Verdict.Message, test.want)
			}
		})
	}
}
