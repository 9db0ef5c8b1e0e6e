// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// nonsense counts what odd things the worlds of a property contain, by kind. It draws whether one occurs.
type nonsense map[string]int

func (n nonsense) occurs(t *rapid.T, kind string) bool {
	if rapid.IntRange(0, 7).Draw(t, kind) != 0 {
		return false
	}
	n[kind]++
	return true
}

// kinds of nonsense: what other tools, users with an editor, older controllers and nodes with odd clocks leave in Jobs
// and pods.
var kinds = []string{
	"spec without defaults", "spec with negative numbers", "unknown completion mode", "Indexed without completions", "selector that cannot be read",
	"failure policy of odd rules", "success policy of odd rules", "odd managedBy", "template without labels",
	"negative counters", "zero start time", "start time in the future", "odd index texts", "UIDs twice or empty", "conditions that contradict", "conditions twice", "conditions without times",
	"odd completion index", "odd failure counts", "no annotations", "empty pod", "no creation time", "created in the future",
	"ended in the future", "ended without a time", "negative restarts", "deleted in the future", "deleted without grace", "two owners", "owner of another kind", "finalizer twice",
	"pod without UID", "pod without name", "two pods of one UID", "two pods of one name", "nil pod", "two pods of one index",
	"expectations of the future", "expectations of nobody",
}

// drawJob draws a Job that the API server would accept.
func drawJob(t *rapid.T) *batchv1.Job {
	p := rapid.Int32Range(1, 4).Draw(t, "parallelism")
	c := rapid.Int32Range(0, 6).Draw(t, "completions")
	words := []string{fmt.Sprintf("p%d c%d bl%d", p, c, rapid.Int32Range(0, 6).Draw(t, "backoffLimit"))}
	indexed := rapid.Bool().Draw(t, "indexed")
	if indexed {
		words = append(words, "indexed")
		if rapid.Bool().Draw(t, "perIndex") {
			words = append(words, fmt.Sprintf("blpi%d", rapid.Int32Range(0, 2).Draw(t, "backoffLimitPerIndex")))
			if rapid.Bool().Draw(t, "maxFailed") {
				words = append(words, fmt.Sprintf("max%d", rapid.Int32Range(0, c).Draw(t, "maxFailedIndexes")))
			}
		}
	} else if rapid.Bool().Draw(t, "workQueue") {
		words = append(words, "c-")
	}
	words = append(words, "prp="+rapid.SampledFrom([]string{"Failed", "TerminatingOrFailed"}).Draw(t, "replacement"))
	if rapid.IntRange(0, 4).Draw(t, "suspended") == 0 {
		words = append(words, "suspend")
	}
	j := aJob(strings.Join(words, " "))
	if rapid.IntRange(0, 2).Draw(t, "failurePolicy") == 0 {
		j.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
		rules := []batchv1.PodFailurePolicyRule{onExit(batchv1.PodFailurePolicyActionIgnore, 3), onExit(batchv1.PodFailurePolicyActionCount, 5)}
		if rapid.Bool().Draw(t, "failJob") {
			rules = append(rules, onExit(batchv1.PodFailurePolicyActionFailJob, 4))
		}
		failurePolicy(rules...)(j)
	}
	if indexed && c > 0 && rapid.IntRange(0, 2).Draw(t, "successPolicy") == 0 {
		successPolicy(batchv1.SuccessPolicyRule{SucceededCount: ptr.To(rapid.Int32Range(0, c).Draw(t, "succeededCount"))})(j)
	}
	return j
}

// drawAnyJob draws a Job whose spec and status may be anything that an API server accepts, or that a user, a tool or an
// older controller could have left.
func drawAnyJob(t *rapid.T, n nonsense) *batchv1.Job {
	j := drawJob(t)
	if rapid.IntRange(0, 5).Draw(t, "deleting") == 0 {
		j.DeletionTimestamp = ptr.To(ago(time.Second))
	}
	if rapid.IntRange(0, 3).Draw(t, "deadline") == 0 {
		j.Spec.ActiveDeadlineSeconds = ptr.To(rapid.Int64Range(0, 100).Draw(t, "activeDeadlineSeconds"))
	}
	oddSpec(t, n, j)
	count := rapid.Int32Range(0, 4)
	if n.occurs(t, "negative counters") {
		count = rapid.Int32Range(math.MinInt32, 4)
	}
	s := &j.Status
	s.Active, s.Succeeded, s.Failed = count.Draw(t, "active"), count.Draw(t, "succeeded"), count.Draw(t, "failed")
	if rapid.Bool().Draw(t, "hasReady") {
		s.Ready, s.Terminating = ptr.To(count.Draw(t, "ready")), ptr.To(count.Draw(t, "terminating"))
	}
	switch {
	case n.occurs(t, "zero start time"):
		s.StartTime = &metav1.Time{}
	case n.occurs(t, "start time in the future"):
		s.StartTime = ptr.To(ago(-time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "ahead"))))
	case rapid.Bool().Draw(t, "isStarted"):
		s.StartTime = ptr.To(ago(time.Duration(rapid.IntRange(-100, 100).Draw(t, "started")) * time.Second))
	}
	text := rapid.SampledFrom([]string{"", "0", "0,1", "1-3", "0-9"})
	if n.occurs(t, "odd index texts") {
		text = rapid.OneOf(rapid.SampledFrom([]string{"3,1", "x", "5-", "2,2", "-1", "0-999999999999", ",", "1--2", "٣"}), rapid.StringN(0, 12, 24))
	}
	s.CompletedIndexes = text.Draw(t, "completedIndexes")
	if rapid.Bool().Draw(t, "hasFailedIndexes") {
		s.FailedIndexes = ptr.To(text.Draw(t, "failedIndexes"))
	}
	if rapid.Bool().Draw(t, "hasUncounted") {
		uids := rapid.SliceOfNDistinct(rapid.SampledFrom([]types.UID{"p0", "p1", "p2", "p3", "gone"}), 0, 2, rapid.ID[types.UID])
		if n.occurs(t, "UIDs twice or empty") {
			uids = rapid.SliceOfN(rapid.SampledFrom([]types.UID{"", "p0", "p1", "gone"}), 0, 4)
		}
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: uids.Draw(t, "uncountedSucceeded"), Failed: uids.Draw(t, "uncountedFailed")}
	}
	drawConditions(t, n, j)
	return j
}

func oddSpec(t *rapid.T, n nonsense, j *batchv1.Job) {
	spec := &j.Spec
	any32 := rapid.Int32()
	if n.occurs(t, "spec without defaults") {
		spec.Parallelism, spec.BackoffLimit, spec.CompletionMode, spec.Selector, spec.PodReplacementPolicy = nil, nil, nil, nil, nil
	}
	if n.occurs(t, "spec with negative numbers") {
		for _, p := range []*int32{spec.Parallelism, spec.Completions, spec.BackoffLimit, spec.BackoffLimitPerIndex, spec.MaxFailedIndexes} {
			if p != nil && rapid.Bool().Draw(t, "odd") {
				*p = min(any32.Draw(t, "number"), 9)
			}
		}
		spec.ActiveDeadlineSeconds = ptr.To(rapid.Int64().Draw(t, "activeDeadlineSeconds"))
	}
	if n.occurs(t, "unknown completion mode") {
		spec.CompletionMode = ptr.To(batchv1.CompletionMode(rapid.SampledFrom([]string{"", "indexed", "Foo"}).Draw(t, "mode")))
	}
	if n.occurs(t, "Indexed without completions") {
		spec.CompletionMode, spec.Completions = ptr.To(batchv1.IndexedCompletion), nil
	}
	if n.occurs(t, "selector that cannot be read") {
		spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like", Values: []string{"b"}}}}
	}
	if n.occurs(t, "failure policy of odd rules") {
		failurePolicy(batchv1.PodFailurePolicyRule{}, batchv1.PodFailurePolicyRule{Action: "Shrug", OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{}},
			onExit(batchv1.PodFailurePolicyActionFailIndex, 3), onCondition(batchv1.PodFailurePolicyActionFailJob, "", ""))(j)
	}
	if n.occurs(t, "success policy of odd rules") {
		text := rapid.SampledFrom([]string{"", "x", "9-1", "0-99999999", "-"}).Draw(t, "succeededIndexes")
		successPolicy(batchv1.SuccessPolicyRule{}, batchv1.SuccessPolicyRule{SucceededIndexes: &text, SucceededCount: ptr.To(any32.Draw(t, "count"))})(j)
	}
	if n.occurs(t, "odd managedBy") {
		spec.ManagedBy = ptr.To(rapid.SampledFrom([]string{"", batchv1.JobControllerName, "acme.io/x"}).Draw(t, "managedBy"))
	}
	if n.occurs(t, "template without labels") {
		spec.Template.Labels, spec.Template.Annotations, spec.Template.Spec.Containers = nil, nil, nil
	}
}

func drawConditions(t *rapid.T, n nonsense, j *batchv1.Job) {
	kind := rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, "acme.io/Mine"})
	status := rapid.SampledFrom([]corev1.ConditionStatus{"True", "True", "False", "Unknown"})
	if rapid.Bool().Draw(t, "hasCondition") {
		withCondition(kind.Draw(t, "type"), status.Draw(t, "status"), "r")(j)
	}
	if n.occurs(t, "conditions that contradict") {
		withCondition(batchv1.JobFailureTarget, "True", "r")(j)
		withCondition(batchv1.JobSuccessCriteriaMet, "True", "r")(j)
		withCondition(rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, ""}).Draw(t, "end"), status.Draw(t, "endStatus"), "")(j)
	}
	if n.occurs(t, "conditions twice") {
		twice := kind.Draw(t, "twice")
		withCondition(twice, "False", "r")(j)
		withCondition(twice, "True", "r")(j)
	}
	if n.occurs(t, "conditions without times") {
		for i := range j.Status.Conditions {
			j.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
	}
}

func drawPods(t *rapid.T, n nonsense) (pods []*corev1.Pod) {
	for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
		words := []string{fmt.Sprintf("p%d", i)}
		words = append(words, rapid.SampledFrom([]string{"pending", "running", "ready", "unknown", "nophase", "succeeded", "failed", "unscheduled"}).Draw(t, "phase"))
		for _, word := range []string{"deleting", "-F", "orphan", "stranger", "restarts2", "exit3"} {
			if rapid.IntRange(0, 3).Draw(t, word) == 0 {
				words = append(words, word)
			}
		}
		words = append(words, rapid.SampledFrom([]string{"i0", "i1", "i2", "i9"}).Draw(t, "index"), rapid.SampledFrom([]string{"fc0", "fc1", "ic2"}).Draw(t, "count"))
		pod := aPod(strings.Join(words, " "))
		oddPod(t, n, pod)
		pods = append(pods, pod)
	}
	if len(pods) > 1 {
		a, b := pods[0], pods[1]
		if n.occurs(t, "two pods of one UID") {
			b.UID = a.UID
		}
		if n.occurs(t, "two pods of one name") {
			b.Name = a.Name
		}
		if n.occurs(t, "two pods of one index") && a.Annotations != nil {
			b.Annotations = maps.Clone(a.Annotations)
		}
		if n.occurs(t, "nil pod") {
			pods[1] = nil
		}
	}
	return pods
}

// oddPod does to a pod what people and machines do.
func oddPod(t *rapid.T, n nonsense, pod *corev1.Pod) {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "-1", "x", "1e3", "0x1", " 1", "1 ", "+1", "٣", "99999999999999999999", "2147483647", "2147483648"}), rapid.StringN(0, 8, 16))
	if n.occurs(t, "odd completion index") {
		pod.Annotations[indexKey] = text.Draw(t, "indexText")
	}
	if n.occurs(t, "odd failure counts") {
		pod.Annotations[failureCountKey], pod.Annotations[ignoredCountKey] = text.Draw(t, "failures"), text.Draw(t, "ignored")
	}
	ahead := func() metav1.Time {
		return ago(-time.Duration(rapid.Int64Range(1, int64(200*365*24*time.Hour)).Draw(t, "ahead")))
	}
	if n.occurs(t, "no creation time") {
		pod.CreationTimestamp = metav1.Time{}
	}
	if n.occurs(t, "created in the future") {
		pod.CreationTimestamp = ahead()
	}
	if c := pod.Status.ContainerStatuses[0].State.Terminated; c != nil {
		if n.occurs(t, "ended in the future") {
			c.FinishedAt = ahead()
		}
		if n.occurs(t, "ended without a time") {
			c.FinishedAt = metav1.Time{}
		}
	}
	if n.occurs(t, "negative restarts") {
		pod.Status.ContainerStatuses[0].RestartCount = rapid.Int32().Draw(t, "restarts")
	}
	if pod.DeletionTimestamp != nil {
		if n.occurs(t, "deleted in the future") {
			pod.DeletionTimestamp = ptr.To(ahead())
		}
		if n.occurs(t, "deleted without grace") {
			pod.DeletionGracePeriodSeconds = ptr.To(rapid.Int64().Draw(t, "grace"))
		}
	}
	if n.occurs(t, "two owners") {
		pod.OwnerReferences = append(pod.OwnerReferences, OwnerReference(aJob("")), metav1.OwnerReference{})
	}
	if n.occurs(t, "owner of another kind") && len(pod.OwnerReferences) > 0 {
		pod.OwnerReferences[0].Kind = "ReplicaSet"
	}
	if n.occurs(t, "finalizer twice") {
		pod.Finalizers = append(pod.Finalizers, Finalizer, "")
	}
	if n.occurs(t, "pod without UID") {
		pod.UID = ""
	}
	if n.occurs(t, "pod without name") {
		pod.Name = ""
	}
	if n.occurs(t, "no annotations") {
		pod.Annotations = nil
	}
	if n.occurs(t, "empty pod") {
		pod.Labels, pod.Spec, pod.Status = nil, corev1.PodSpec{}, corev1.PodStatus{Phase: pod.Status.Phase}
	}
}

func drawExpectations(t *rapid.T, n nonsense) Expectations {
	uid := rapid.SampledFrom([]types.UID{"p0", "p1", "p2", "gone"})
	m := Expectations{}
	switch rapid.IntRange(0, 7).Draw(t, "expectations") {
	case 0:
		m = creating(rapid.SampledFrom([]string{"p0", "job-zzzzz"}).Draw(t, "creating"))
	case 1:
		m.Deleting = map[types.UID]time.Time{uid.Draw(t, "deleting"): now.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "since")) * time.Second)}
	case 2:
		m.Unfinalizing = sets.New(uid.Draw(t, "unfinalizing"))
	case 3:
		m.Backoff = Backoff{Failures: rapid.IntRange(-1, 1<<40).Draw(t, "failures"), LastFailure: now.Add(-time.Minute)}
	case 4:
		m.NamespaceTerminating = true
	}
	if n.occurs(t, "expectations of the future") {
		later := now.Add(time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "later")))
		m.Creating, m.Deleting, m.Backoff.LastFailure = map[string]time.Time{"job-zzzzz": later}, map[types.UID]time.Time{"p0": later}, later
	}
	if n.occurs(t, "expectations of nobody") {
		m.Creating, m.Deleting, m.Unfinalizing = map[string]time.Time{"": {}}, map[types.UID]time.Time{"": {}}, sets.New[types.UID]("")
	}
	return m
}

// Any state at all: Decide answers, twice the same, changes nothing, wakes only in the future, and when the stored
// status is one that the API server would take, so is the new one. Each kind of nonsense occurs.
func TestAnyState(t *testing.T) {
	t.Parallel()
	n, states := nonsense{}, 0
	rapid.Check(t, func(t *rapid.T) { states++; anyState(t, n) })
	if states < 500 {
		return // too few for each kind
	}
	for _, kind := range kinds {
		if n[kind] == 0 {
			t.Errorf("no world had: %s", kind)
		}
	}
	if len(n) != len(kinds) {
		t.Errorf("%d kinds of nonsense are drawn, %d are listed", len(n), len(kinds))
	}
}

// The same, driven by what a fuzzer finds.
func FuzzDecide(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { anyState(t, nonsense{}) }))
}

func anyState(t *rapid.T, n nonsense) {
	j := drawAnyJob(t, n)
	pods := drawPods(t, n)
	snapshot := Snapshot{Job: j, Pods: pods, PodsCurrent: rapid.Bool().Draw(t, "current"), Now: now, Expectations: drawExpectations(t, n), Options: Options{Standalone: true}}
	before := j.DeepCopy()
	var podsBefore []*corev1.Pod
	for _, p := range pods {
		podsBefore = append(podsBefore, p.DeepCopy())
	}
	plan := Decide(snapshot)
	var results Results
	for range plan.Delete {
		results.Delete = append(results.Delete, DeleteResult{Outcome: DeleteOutcome(rapid.IntRange(0, 3).Draw(t, "deleted"))})
	}
	for range plan.Create {
		results.Create = append(results.Create, CreateResult{Outcome: CreateOutcome(rapid.IntRange(0, 5).Draw(t, "created"))})
	}
	status := plan.PlanStatus(results)
	text := plan.String() + status.String()

	again := Decide(snapshot)
	if other := again.String() + again.PlanStatus(results).String(); other != text {
		t.Fatalf("not the same twice:\n%s\n%s", text, other)
	}
	if twice := plan.PlanStatus(results); twice.String() != status.String() {
		t.Fatalf("another status the second time:\n%s\n%s", status, twice)
	}
	if d := cmp.Diff(before, j); d != "" {
		t.Fatalf("the Job was changed:\n%s", d)
	}
	if d := cmp.Diff(podsBefore, pods); d != "" {
		t.Fatalf("a pod was changed:\n%s", d)
	}
	if len(plan.Delete) > 0 && len(plan.Create) > 0 {
		t.Fatalf("deletes and creates:\n%s", text)
	}
	for _, wake := range []time.Time{plan.Wake, status.Wake} {
		if !wake.IsZero() && !wake.After(now) {
			t.Fatalf("wake-up not in the future:\n%s", text)
		}
	}
	if status.Write.Status == nil || len(CheckStatus(before, before)) > 0 || len(CheckStatus(&batchv1.Job{Spec: before.Spec}, before)) > 0 {
		return
	}
	after := before.DeepCopy()
	after.Status = *status.Write.Status
	if broken := CheckStatus(before, after); len(broken) > 0 {
		t.Fatalf("the write breaks %v:\nfrom %s\n%s", broken, statusText(&before.Status), text)
	}
}
