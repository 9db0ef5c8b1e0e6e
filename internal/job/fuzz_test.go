// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
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

// drawAnyJob draws a Job whose status may be anything that an API server, a
// user or an older controller could have left.
func drawAnyJob(t *rapid.T) *batchv1.Job {
	j := drawJob(t)
	if rapid.IntRange(0, 5).Draw(t, "deleting") == 0 {
		j.DeletionTimestamp = ptr.To(ago(time.Second))
	}
	if rapid.IntRange(0, 3).Draw(t, "deadline") == 0 {
		j.Spec.ActiveDeadlineSeconds = ptr.To(rapid.Int64Range(0, 100).Draw(t, "activeDeadlineSeconds"))
	}
	if rapid.IntRange(0, 9).Draw(t, "nils") == 0 {
		j.Spec.Parallelism, j.Spec.BackoffLimit, j.Spec.CompletionMode, j.Spec.Selector = nil, nil, nil, nil
	}
	count := rapid.Int32Range(0, 4)
	s := &j.Status
	s.Active, s.Succeeded, s.Failed = count.Draw(t, "active"), count.Draw(t, "succeeded"), count.Draw(t, "failed")
	if rapid.Bool().Draw(t, "hasReady") {
		s.Ready, s.Terminating = ptr.To(count.Draw(t, "ready")), ptr.To(count.Draw(t, "terminating"))
	}
	if rapid.Bool().Draw(t, "isStarted") {
		s.StartTime = ptr.To(ago(time.Duration(rapid.IntRange(-100, 100).Draw(t, "started")) * time.Second))
	}
	text := rapid.SampledFrom([]string{"", "0", "0,1", "1-3", "0-9", "3,1", "x", "5-", "2,2"})
	s.CompletedIndexes = text.Draw(t, "completedIndexes")
	if rapid.Bool().Draw(t, "hasFailedIndexes") {
		s.FailedIndexes = ptr.To(text.Draw(t, "failedIndexes"))
	}
	uids := rapid.SliceOfN(rapid.SampledFrom([]types.UID{"", "p0", "p1", "p2", "p3", "gone"}), 0, 3)
	if rapid.Bool().Draw(t, "hasUncounted") {
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: uids.Draw(t, "uncountedSucceeded"), Failed: uids.Draw(t, "uncountedFailed")}
	}
	for range rapid.IntRange(0, 3).Draw(t, "conditions") {
		withCondition(
			rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobFailed, batchv1.JobComplete, "acme.io/Mine"}).Draw(t, "type"),
			rapid.SampledFrom([]corev1.ConditionStatus{"True", "True", "False", "Unknown"}).Draw(t, "status"), "r")(j)
	}
	return j
}

func drawPods(t *rapid.T) (pods []*corev1.Pod) {
	for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
		words := []string{fmt.Sprintf("p%d", i)}
		words = append(words, rapid.SampledFrom([]string{"pending", "running", "ready", "unknown", "nophase", "succeeded", "failed", "unscheduled"}).Draw(t, "phase"))
		for _, word := range []string{"deleting", "-F", "orphan", "stranger", "restarts2", "exit3"} {
			if rapid.IntRange(0, 3).Draw(t, word) == 0 {
				words = append(words, word)
			}
		}
		words = append(words, rapid.SampledFrom([]string{"i0", "i1", "i2", "i9", "i-1", "ix", "fc0"}).Draw(t, "index"), rapid.SampledFrom([]string{"fc0", "fc1", "fcx", "ic2"}).Draw(t, "count"))
		pod := aPod(strings.Join(words, " "))
		if rapid.IntRange(0, 9).Draw(t, "bare") == 0 {
			pod.Annotations, pod.Labels, pod.Status = nil, nil, corev1.PodStatus{}
			pod.CreationTimestamp = metav1.Time{}
		}
		pods = append(pods, pod)
	}
	return pods
}

func drawMemory(t *rapid.T) Memory {
	uid := rapid.SampledFrom([]types.UID{"p0", "p1", "p2", "gone"})
	m := Memory{}
	switch rapid.IntRange(0, 6).Draw(t, "memory") {
	case 0:
		m = creating(rapid.SampledFrom([]string{"p0", "job-zzzzz"}).Draw(t, "creating"))
	case 1:
		m.Deleting = map[types.UID]time.Time{uid.Draw(t, "deleting"): now.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "since")) * time.Second)}
	case 2:
		m.Unfinalizing = sets.New(uid.Draw(t, "unfinalizing"))
	case 3:
		m.Backoff = Backoff{Failures: rapid.IntRange(-1, 1<<40).Draw(t, "failures"), Last: now.Add(-time.Minute)}
	}
	return m
}

// Any state at all: Decide answers, twice the same, changes nothing, wakes only
// in the future, and when the stored status is one that the API server would
// take, so is the new one.
func TestAnyState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		j := drawAnyJob(t)
		pods := drawPods(t)
		snapshot := Snapshot{Job: j, Pods: pods, PodsCurrent: rapid.Bool().Draw(t, "current"), Now: now, Memory: drawMemory(t), Options: Options{Standalone: true}}
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
		record := plan.Record(results)
		text := plan.String() + record.String()

		again := Decide(snapshot)
		if other := again.String() + again.Record(results).String(); other != text {
			t.Fatalf("not the same twice:\n%s\n%s", text, other)
		}
		if record2 := plan.Record(results); record2.String() != record.String() {
			t.Fatalf("another record the second time:\n%s\n%s", record, record2)
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
		for _, wake := range []time.Time{plan.Wake, record.Wake} {
			if !wake.IsZero() && !wake.After(now) {
				t.Fatalf("wake-up not in the future:\n%s", text)
			}
		}
		if record.Write.Status == nil || len(CheckStatus(before, before)) > 0 || len(CheckStatus(&batchv1.Job{Spec: before.Spec}, before)) > 0 {
			return
		}
		after := before.DeepCopy()
		after.Status = *record.Write.Status
		if broken := CheckStatus(before, after); len(broken) > 0 {
			t.Fatalf("the write breaks %v:\nfrom %s\n%s", broken, statusText(&before.Status), text)
		}
	})
}
