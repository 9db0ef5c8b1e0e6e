// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// JOB-125: the delay doubles up to its limit.
func TestDelayFor(t *testing.T) {
	t.Parallel()
	base, limit := 5*time.Second, 700*time.Second
	for n, want := range map[int]time.Duration{
		-1: 0, 0: 0, 1: base, 2: 2 * base, 3: 4 * base, 8: 640 * time.Second, 9: limit, 10: limit, 1 << 40: limit,
	} {
		if got := delayFor(n, base, limit); got != want {
			t.Errorf("after %d failures %s, want %s", n, got, want)
		}
	}
	o := Options{}.withDefaults()
	for n, want := range []time.Duration{0, 10, 20, 40, 80, 160, 320, 600, 600} {
		if got := delayFor(n, o.BackoffBase, o.BackoffMax); got != want*time.Second {
			t.Errorf("after %d failures %s, want %s", n, got, want*time.Second)
		}
	}
	b := Backoff{Failures: 1, LastFailure: now}
	for elapsed, want := range map[time.Duration]time.Duration{-time.Hour: 10 * time.Second, 0: 10 * time.Second, 4 * time.Second: 6 * time.Second, 10 * time.Second: 0, time.Hour: 0} {
		if got := b.remaining(now.Add(elapsed), o); got != want {
			t.Errorf("%s after the failure %s remain, want %s", elapsed, got, want)
		}
	}
}

// JOB-126: what the record remembers.
func TestBackoffRecord(t *testing.T) {
	t.Parallel()
	at := func(seconds ...int) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, now.Add(time.Duration(s)*time.Second))
		}
		return times
	}
	tests := map[string]struct {
		before              Backoff
		successes, failures []time.Time
		want                Backoff
	}{
		"nothing new":                          {Backoff{2, at(0)[0]}, nil, nil, Backoff{2, at(0)[0]}},
		"two failures":                         {Backoff{}, nil, at(2, 1), Backoff{2, at(2)[0]}},
		"failures, then a success":             {Backoff{}, at(3), at(1, 2), Backoff{}},
		"fail, fail, success, fail, fail":      {Backoff{}, at(3), at(1, 2, 4, 5), Backoff{2, at(5)[0]}},
		"success and failure at the same time": {Backoff{}, at(1), at(1), Backoff{}},
		"one more":                             {Backoff{2, at(1)[0]}, nil, at(4), Backoff{3, at(4)[0]}},
		"one more, seen late":                  {Backoff{2, at(9)[0]}, nil, at(4), Backoff{3, at(9)[0]}},
		"a success":                            {Backoff{2, at(1)[0]}, at(4), nil, Backoff{}},
		"a failure in the future is now":       {Backoff{}, nil, at(3600), Backoff{1, at(10)[0]}},
		"in the future the order still counts": {Backoff{}, at(3600), at(3599, 3601, 3602), Backoff{2, at(10)[0]}},
		"the clock went back meanwhile":        {Backoff{2, at(3600)[0]}, nil, nil, Backoff{2, at(10)[0]}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.before.after(test.successes, test.failures, now.Add(10*time.Second)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// JOB-130: two pods that fail together wait twice as long; the wait ends when it says.
func TestTwoPodsFailTogether(t *testing.T) {
	t.Parallel()
	j := aJob("p2 c2", started(time.Hour))
	pods := somePods("a failed end0", "b failed end0")
	p := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	if len(p.Create) != 0 || !p.Wake.Equal(now.Add(20*time.Second)) {
		t.Fatalf("want a wait of 20s: %s", p)
	}
	p = Decide(Snapshot{Job: j, Pods: pods, Now: p.Wake, PodsCurrent: true, Options: Options{Standalone: true}})
	if len(p.Create) != 2 {
		t.Errorf("want two pods when the wait is over: %s", p)
	}
}

// A node whose clock is an hour ahead does not hold up a replacement for an hour, neither the Job's nor that of one
// index, in whatever order the times are.
func TestFailureInTheFuture(t *testing.T) {
	t.Parallel()
	for name, shorthand := range map[string]string{"the Job's delay": "p1 c1", "the delay of an index": "p1 c1 indexed blpi5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(aJob(shorthand))
			w.settle(time.Second)
			w.start(w.order[0])
			w.clockAhead = time.Hour
			w.end(w.order[0], 1)
			failed := w.now
			w.settle(30 * time.Second)
			if len(w.order) != 2 {
				t.Fatalf("%d pods %s after the failure, want a replacement: %s", len(w.order), w.now.Sub(failed), strings.Join(w.log, "\n"))
			}
			if wait := w.pods[w.order[1]].CreationTimestamp.Sub(failed); wait != 10*time.Second {
				t.Errorf("replaced after %s, want 10s", wait)
			}
		})
	}
}

// JOB-129: where a finish time comes from.
func TestFinishTime(t *testing.T) {
	t.Parallel()
	ended := func(name string, d time.Duration) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: ago(d)}}}
	}
	base := func(edits ...func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(time.Hour)}}
		for _, edit := range edits {
			edit(pod)
		}
		return pod
	}
	apps := func(list ...corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses = list }
	}
	sidecar := func(status corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "plain"}, {Name: status.Name, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{ended("plain", time.Second), status}
		}
	}
	readyIs := func(status corev1.ConditionStatus, d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: ago(d)}}
		}
	}
	deleted := func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(ago(-20*time.Second)), ptr.To[int64](30)
	}
	running := corev1.ContainerStatus{Name: "r"}
	tests := map[string]struct {
		pod  *corev1.Pod
		want time.Duration // ago
	}{
		"the last container":                        {base(apps(ended("a", 5*time.Minute), ended("b", 3*time.Minute)), readyIs("False", time.Minute)), 3 * time.Minute},
		"a sidecar ended later":                     {base(apps(ended("a", 5*time.Minute)), sidecar(ended("s", 2*time.Minute))), 2 * time.Minute},
		"a sidecar ended earlier":                   {base(apps(ended("a", 5*time.Minute)), sidecar(ended("s", 7*time.Minute))), 5 * time.Minute},
		"a sidecar still runs":                      {base(apps(ended("a", 5*time.Minute)), sidecar(running), readyIs("False", time.Minute)), time.Minute},
		"a container still runs":                    {base(apps(ended("a", 5*time.Minute), running), readyIs("False", time.Minute)), time.Minute},
		"a container still runs, the sidecar ended": {base(apps(running), sidecar(ended("s", 2*time.Minute)), readyIs("False", time.Minute)), 2 * time.Minute},
		"a container without a time":                {base(apps(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}), readyIs("False", time.Minute)), time.Minute},
		"no containers: not ready since":            {base(readyIs("False", time.Minute), deleted), time.Minute},
		"ready says nothing":                        {base(readyIs("True", time.Minute)), time.Hour},
		"deletion less the grace":                   {base(deleted), 10 * time.Second},
		"creation":                                  {base(), time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := now.Sub(finishTime(test.pod)); got != test.want {
				t.Errorf("%s ago, want %s ago", got, test.want)
			}
		})
	}
}

// job.md 2.8: what is deleted first, each row before the next.
func TestDeletionPreference(t *testing.T) {
	t.Parallel()
	readySince := func(name string, d time.Duration, more string) *corev1.Pod {
		p := aPod(name + " running ready " + more)
		p.Status.Conditions[0].LastTransitionTime = ago(d)
		return p
	}
	noTime := aPod("5 running")
	noTime.CreationTimestamp = metav1.Time{}
	sidecarRestarts := aPod("4 running initrestarts3")
	sidecarRestarts.Spec.InitContainers = []corev1.Container{{Name: "init", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	inOrder := []*corev1.Pod{
		aPod("0 unscheduled age9000"), aPod("1 pending age9000"), aPod("2 unknown age9000"),
		aPod("3 running restarts2"), sidecarRestarts, noTime, aPod("6 running age60"), aPod("7 running age600"),
		readySince("8", time.Second, "age60"), readySince("9", time.Minute, "restarts9 age60"), readySince("A", time.Minute, "age60"), readySince("B", time.Minute, "age600"),
	}
	var owned []claimedPod
	for _, p := range inOrder {
		owned = append(owned, claimedPod{pod: p})
	}
	active := classifyPods(owned, recordedPods{}, Expectations{}, now, time.Second).active
	slices.SortFunc(active, byDeletionPreference(now))
	var got []string
	for _, v := range active {
		got = append(got, v.pod.Name)
	}
	if want := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

// JOB-283, JOB-284, JOB-288 to JOB-291: which rule matches a failed pod, and what it says.
func TestFailurePolicyMatches(t *testing.T) {
	t.Parallel()
	const failJob, ignore = batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore
	pod := aPod("a failed exit42")
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
		corev1.ContainerStatus{Name: "second", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: -1073741510}}},
		corev1.ContainerStatus{Name: "fine", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		corev1.ContainerStatus{Name: "running", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 99}}})
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}}}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Odd", Status: "Unknown"}, {Type: "DisruptionTarget", Status: "True"}}
	exits := func(action batchv1.PodFailurePolicyAction, container string, op batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
		r := batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op, Values: codes}}
		if container != "" {
			r.OnExitCodes.ContainerName = &container
		}
		return r
	}
	const in, notIn = batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn
	tests := map[string]struct {
		rules   []batchv1.PodFailurePolicyRule
		action  batchv1.PodFailurePolicyAction
		message string
	}{
		"JOB-283 app container":   {[]batchv1.PodFailurePolicyRule{exits(failJob, "", in, 42)}, failJob, "Container main for pod ns/a failed with exit code 42 matching FailJob rule at index 0"},
		"JOB-283 init container":  {[]batchv1.PodFailurePolicyRule{exits(ignore, "", in, 1), exits(failJob, "", in, 7)}, failJob, "Container init for pod ns/a failed with exit code 7 matching FailJob rule at index 1"},
		"JOB-283 condition":       {[]batchv1.PodFailurePolicyRule{onCondition(failJob, "DisruptionTarget", "True")}, failJob, "Pod ns/a has condition DisruptionTarget matching FailJob rule at index 0"},
		"JOB-284 other container": {[]batchv1.PodFailurePolicyRule{exits(failJob, "second", in, 42)}, "", ""},
		"JOB-288 not in the list": {[]batchv1.PodFailurePolicyRule{exits(ignore, "main", notIn, 5, 6, 7)}, ignore, ""},
		"JOB-288 in the list":     {[]batchv1.PodFailurePolicyRule{exits(ignore, "main", notIn, 42)}, "", ""},
		"JOB-288 exit 0 never":    {[]batchv1.PodFailurePolicyRule{exits(ignore, "fine", notIn, 1), exits(ignore, "fine", in, 0)}, "", ""},
		"JOB-289 negative":        {[]batchv1.PodFailurePolicyRule{exits(ignore, "", in, -1073741510)}, ignore, ""},
		"JOB-290 unknown operator": {[]batchv1.PodFailurePolicyRule{exits(ignore, "", "Like", 42), exits(failJob, "", in, 42)}, failJob,
			"Container main for pod ns/a failed with exit code 42 matching FailJob rule at index 1"},
		"JOB-290 unknown action":       {[]batchv1.PodFailurePolicyRule{exits("Shrug", "", in, 42), exits(ignore, "", in, 42)}, ignore, ""},
		"JOB-291 status differs":       {[]batchv1.PodFailurePolicyRule{onCondition(failJob, "DisruptionTarget", "False"), onCondition(ignore, "Odd", "True")}, "", ""},
		"JOB-291 status Unknown":       {[]batchv1.PodFailurePolicyRule{onCondition(ignore, "Odd", "Unknown")}, ignore, ""},
		"JOB-295 earlier restarts":     {[]batchv1.PodFailurePolicyRule{exits(failJob, "", in, 99)}, "", ""},
		"a rule that asks for nothing": {[]batchv1.PodFailurePolicyRule{{Action: failJob}}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := matchFailurePolicy(&batchv1.PodFailurePolicy{Rules: test.rules}, pod)
			if got.action != test.action || got.message != test.message {
				t.Errorf("%q %q, want %q %q", got.action, got.message, test.action, test.message)
			}
		})
	}
}

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
