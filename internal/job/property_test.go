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

	"github.com/carillon-dev/carillon/internal/interval"
)

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

// Guarantee 5: whatever happens, in whatever order, through crashes, lost
// answers and a cache that lags behind, the Job comes to an end, its counters
// equal the truth, the API server accepts every write, no pod keeps our
// finalizer, and a Job that replaces only failed pods never has more pods than
// it may.
func TestCountersEqualTheTruth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawJob(t))
		w.lagging = true
		// Duplicates are excluded by waiting as long as it takes; the timeout
		// is another test.
		w.options.ExpectationTimeout = 1000 * time.Hour
		if rapid.Bool().Draw(t, "small") {
			w.options.MaxUncounted, w.options.MaxPodChanges = 2, 2
		}
		removedByUser := sets.New[types.UID]()
		doneBefore := sets.New[types.UID]() // of those: succeeded before, and that counts
		onlyFailed := replacesOnlyFailed(w.job)
		resized := false
		most := int(*w.job.Spec.Parallelism)
		anyPod := func(t *rapid.T) types.UID {
			if len(w.order) == 0 {
				return ""
			}
			return rapid.SampledFrom(w.order).Draw(t, "pod")
		}
		crashes := func(crashed bool) {
			if crashed {
				w.crashAfter = -1
				w.restart()
			}
		}
		actions := map[string]func(*rapid.T){
			"sync": func(t *rapid.T) {
				_, _, crashed := w.sync()
				crashes(crashed)
			},
			"sync, a call is refused or unanswered": func(t *rapid.T) {
				n, at := 0, rapid.IntRange(1, 6).Draw(t, "call")
				fail := func(string) bool { n++; return n == at }
				if rapid.Bool().Draw(t, "lost") {
					w.lose = fail
				} else {
					w.refuse = fail
				}
				_, _, crashed := w.sync()
				w.lose, w.refuse = nil, nil
				crashes(crashed)
			},
			"sync, with a crash": func(t *rapid.T) {
				w.crashAfter = w.effects + rapid.IntRange(1, 6).Draw(t, "effect")
				_, _, crashed := w.sync()
				w.crashAfter = -1
				crashes(crashed)
			},
			"a pod's news arrive": func(t *rapid.T) { w.catchUp(anyPod(t), 1) },
			"all news arrive":     func(t *rapid.T) { w.catchUpAll() },
			"a pod starts":        func(t *rapid.T) { w.start(anyPod(t)) },
			"a pod ends": func(t *rapid.T) {
				w.end(anyPod(t), rapid.SampledFrom([]int32{0, 0, 1, 3, 4, 5}).Draw(t, "code"))
			},
			"a user deletes a pod": func(t *rapid.T) {
				if uid := anyPod(t); w.pods[uid] != nil {
					if w.ended[uid] == corev1.PodSucceeded && !removedByUser.Has(uid) {
						doneBefore.Insert(uid)
					}
					removedByUser.Insert(uid)
					w.remove(uid)
				}
			},
			"time passes": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
			},
			"suspend or resume": func(t *rapid.T) {
				if !Finished(w.job) {
					suspend(!suspended(w.job))(w)
				}
			},
			"resize": func(t *rapid.T) {
				if Finished(w.job) {
					return
				}
				n := rapid.Int32Range(1, 5).Draw(t, "size")
				most = max(most, int(n))
				if w.job.Spec.Completions != nil && CompletionMode(w.job) == batchv1.IndexedCompletion && w.job.Spec.SuccessPolicy == nil && w.job.Spec.MaxFailedIndexes == nil {
					resized = true
					resize(n)(w)
				} else {
					parallel(n)(w)
				}
			},
			"": func(t *rapid.T) {
				if len(w.broken) > 0 {
					t.Fatalf("broken: %v\n%s", w.broken, strings.Join(w.log, "\n"))
				}
				if onlyFailed && w.mostRunning > most {
					t.Fatalf("%d pods ran of %d\n%s", w.mostRunning, most, strings.Join(w.log, "\n"))
				}
				if Finished(w.job) && w.job.Status.Active != 0 {
					t.Fatal("finished with active pods")
				}
			},
		}
		t.Repeat(actions)

		// The end: everything heals, the pods end well, nobody interferes any
		// more.
		w.lagging = false
		w.catchUpAll()
		if suspended(w.job) && !Finished(w.job) {
			suspend(false)(w)
		}
		w.settle(time.Hour)
		untilDone(0)(w)
		w.settle(time.Hour)
		tell := func() string {
			return fmt.Sprintf("%s\nbroken %v\n%s", statusText(&w.job.Status), w.broken, strings.Join(w.log, "\n"))
		}
		if !Finished(w.job) || w.holders() > 0 || len(w.broken) > 0 {
			t.Fatalf("finished %t, %d pods hold the finalizer: %s", Finished(w.job), w.holders(), tell())
		}
		compareWithTruth(t, w, removedByUser, doneBefore, resized, tell)
	})
}

// span is a number that may lie between two, where reality itself is
// ambiguous: what became of a pod that ended while it was being stopped.
type span struct{ least, most int }

func (s *span) add(sure bool) {
	s.most++
	if sure {
		s.least++
	}
}

func compareWithTruth(t *rapid.T, w *world, removedByUser, doneBefore sets.Set[types.UID], resized bool, tell func() string) {
	var succeeded, failed span
	sure, perhaps := interval.Set{}, interval.Set{}
	policy := w.job.Spec.PodFailurePolicy
	codes := map[types.UID]int32{}
	for uid, pod := range w.last {
		if s := pod.Status.ContainerStatuses; len(s) > 0 && s[0].State.Terminated != nil {
			codes[uid] = s[0].State.Terminated.ExitCode
		}
	}
	for _, uid := range w.order {
		index := indexOf(w.last[uid])
		if !w.released.Has(uid) {
			// Deleted by choice on a view from before it ended. Its index may
			// be seen done all the same, and is.
			if w.ended[uid] == corev1.PodSucceeded {
				perhaps = perhaps.Add(index)
			}
			continue
		}
		// A pod on its way out may count before it ends, depending on what is
		// decided just then.
		deleted := removedByUser.Has(uid)
		stopped := w.stoppedByFailure.Has(uid)
		ignored := policy != nil && codes[uid] == 3
		switch w.ended[uid] {
		case corev1.PodSucceeded:
			if (!deleted || doneBefore.Has(uid)) && !stopped && !w.stoppedBySuccess.Has(uid) {
				succeeded.add(true)
				sure = sure.Add(index)
			} else {
				succeeded.add(false)
				failed.add(false)
			}
			perhaps = perhaps.Add(index)
		case corev1.PodFailed:
			if !ignored || stopped {
				failed.add(!stopped && !w.stoppedBySuccess.Has(uid) && !deleted)
			}
			if ignored && deleted {
				failed.add(false)
			}
		default: // released before it ended
			if stopped || deleted {
				failed.add(false)
			}
		}
	}
	status := &w.job.Status
	if n := int(status.Failed); !resized && (n < failed.least || n > failed.most) {
		t.Fatalf("failed %d, the truth is %v: %s", n, failed, tell())
	}
	if CompletionMode(w.job) == batchv1.IndexedCompletion {
		done := interval.Parse(status.CompletedIndexes, 1000)
		if !resized && sure.Clip(int(*w.job.Spec.Completions)).Minus(done).Len() > 0 || done.Minus(perhaps).Len() > 0 {
			t.Fatalf("completed %s, surely %s, perhaps %s: %s", done, sure, perhaps, tell())
		}
		if int(status.Succeeded) != done.Len() {
			t.Fatalf("succeeded %d of %s: %s", status.Succeeded, done, tell())
		}
	} else if n := int(status.Succeeded); n < succeeded.least || n > succeeded.most {
		t.Fatalf("succeeded %d, the truth is %v: %s", n, succeeded, tell())
	}
	if CompletionMode(w.job) != batchv1.IndexedCompletion && int(status.Succeeded+status.Failed) > w.released.Len() {
		t.Fatalf("more pods counted than released: %s", tell())
	}
	// The end is justified by what is counted.
	switch c, _ := findTrue(status.Conditions, batchv1.JobFailed); c.Reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		// What did not fit into the write of the verdict may still turn out
		// otherwise.
		if w.options.MaxUncounted == 0 && !resized && status.Failed <= *w.job.Spec.BackoffLimit {
			t.Fatalf("failed without reason: %s", tell())
		}
	case "":
		if w.job.Spec.SuccessPolicy == nil && !resized && status.Succeeded < ptr.Deref(w.job.Spec.Completions, 1) {
			t.Fatalf("complete without reason: %s", tell())
		}
	}
}

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
