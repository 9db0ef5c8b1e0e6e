// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
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

// Guarantee 5: whatever happens, in whatever order, through crashes, lost answers and a cache that lags behind, the Job
// comes to an end, its counters equal the truth, the API server accepts every write, no pod keeps our finalizer, and a
// Job that replaces only failed pods never has more pods than it may.
func TestCountersEqualTheTruth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawJob(t))
		w.lagging = true
		// Duplicates are excluded by waiting as long as it takes; the timeout is another test.
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

		// The end: everything heals, the pods end well, nobody interferes any more.
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

// span is a number that may lie between two, where reality itself is ambiguous: what became of a pod that ended while
// it was being stopped.
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
			// Deleted by choice on a view from before it ended. Its index may be seen done all the same, and is.
			if w.ended[uid] == corev1.PodSucceeded {
				perhaps = perhaps.Add(index)
			}
			continue
		}
		// A pod on its way out may count before it ends, depending on what is decided just then.
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
	// A pod that is stopped because the Job ends fails no index (JOB-238).
	if status.FailedIndexes != nil {
		mayFail := interval.Set{}
		for _, uid := range w.order {
			if index := indexOf(w.last[uid]); index >= 0 && !w.stoppedRunning.Has(uid) {
				mayFail = mayFail.Add(index)
			}
		}
		if wrong := interval.Parse(*status.FailedIndexes, 1000).Minus(mayFail); wrong.Len() > 0 {
			t.Fatalf("no pod failed that fails the indexes %s: %s", wrong, tell())
		}
	}
	// Each pod is in one counter at most, also one that was counted as failed while it was terminating and then
	// succeeded (JOB-069).
	if int(status.Succeeded+status.Failed) > w.released.Len() {
		t.Fatalf("more pods counted than released: %s", tell())
	}
	// The end is justified by what is counted.
	switch c, _ := findTrue(status.Conditions, batchv1.JobFailed); c.Reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		// What did not fit into the write of the verdict may still turn out otherwise.
		if w.options.MaxUncounted == 0 && !resized && status.Failed <= *w.job.Spec.BackoffLimit {
			t.Fatalf("failed without reason: %s", tell())
		}
	case "":
		if w.job.Spec.SuccessPolicy == nil && !resized && status.Succeeded < ptr.Deref(w.job.Spec.Completions, 1) {
			t.Fatalf("complete without reason: %s", tell())
		}
	}
}
