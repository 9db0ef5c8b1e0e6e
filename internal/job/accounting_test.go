// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// The order of the writes when one of them fails.
func TestFailingWrites(t *testing.T) {
	t.Parallel()
	ready := func() *world {
		w := newWorld(aJob("p2 c4"))
		w.settle(time.Hour)
		endAll(0)(w)
		return w
	}
	t.Run("JOB-064 JOB-071 no status, no finalizer", func(t *testing.T) {
		t.Parallel()
		w := ready()
		w.refuse = func(call string) bool { return call == "status" }
		if _, err, _ := w.sync(); err == nil || w.released.Len() != 0 {
			t.Fatalf("error %v, %d finalizers removed although nothing was recorded", err, w.released.Len())
		}
		w.refuse = nil
		untilDone(0)(w)
		if w.job.Status.Succeeded != 4 || len(w.broken) > 0 {
			t.Errorf("succeeded %d, broken %v", w.job.Status.Succeeded, w.broken)
		}
	})
	t.Run("JOB-065 no finalizer can be removed", func(t *testing.T) {
		t.Parallel()
		w := ready()
		w.refuse = func(call string) bool { return call == "unfinalize" }
		if _, err, _ := w.sync(); err == nil {
			t.Fatal("no error")
		}
		u := w.job.Status.UncountedTerminatedPods
		if len(u.Succeeded) != 2 || w.job.Status.Succeeded != 0 || w.memory.Unfinalizing.Len() != 0 {
			t.Fatalf("recorded %v, counted %d, remembered %v", u.Succeeded, w.job.Status.Succeeded, w.memory.Unfinalizing)
		}
		w.refuse = nil
		untilDone(0)(w)
		if w.job.Status.Succeeded != 4 || len(w.broken) > 0 {
			t.Errorf("succeeded %d, broken %v", w.job.Status.Succeeded, w.broken)
		}
	})
	t.Run("JOB-111 CP-15 a finished Job's finalizers are tried again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(aJob("p2 c2"))
		w.settle(time.Hour)
		endAll(0)(w)
		n := 0
		w.refuse = func(call string) bool { n++; return call == "unfinalize" && n < 5 }
		w.settle(time.Hour)
		if !Finished(w.job) || w.holders() != 0 {
			t.Errorf("finished %t, %d hold the finalizer", Finished(w.job), w.holders())
		}
	})
}

// JOB-266: a pod that never reached a node cannot end by itself; somebody must
// say that it failed.
func TestAnUnscheduledPodIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(aJob("prp=Failed"))
	w.settle(time.Hour)
	w.remove(w.order[0])
	w.settle(time.Hour)
	if len(w.order) != 1 || *w.job.Status.Terminating != 1 {
		t.Fatalf("%d pods made, terminating %d: want to wait", len(w.order), *w.job.Status.Terminating)
	}
	w.end(w.order[0], 1) // as the pod garbage collector does
	w.settle(time.Hour)
	if len(w.order) != 2 || w.job.Status.Failed != 1 {
		t.Errorf("%d pods made, failed %d: want a replacement", len(w.order), w.job.Status.Failed)
	}
}

// JOB-181: suspended, changed and resumed, no pod before the old ones are gone.
func TestResumedWithAnotherTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(aJob("prp=Failed"))
	w.settle(time.Hour)
	startAll(w)
	for _, step := range []func(*world){suspend(true), func(w *world) { w.job.Spec.Template.Spec.NodeSelector = map[string]string{"new": "yes"} }, suspend(false)} {
		step(w)
		w.settle(time.Hour)
	}
	if len(w.order) != 1 {
		t.Fatal("a pod was made while the old one was still there")
	}
	w.finishDeletions()
	w.settle(time.Hour)
	if len(w.order) != 2 || w.pods[w.order[1]].Spec.NodeSelector["new"] != "yes" || w.job.Status.StartTime == nil {
		t.Errorf("%d pods, start %v", len(w.order), w.job.Status.StartTime)
	}
}

// JOB-210: which indexes come next.
func TestPendingIndexes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		active            []int
		completed, failed string
		want              []int
	}{
		"beside active and completed": {[]int{3, 5, 8}, "2-4,9", "", []int{0, 1, 6, 7, 10}},
		"beside failed":               {[]int{3, 9}, "1,5,9", "2,6,7", []int{0, 4, 8, 10, 11}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := aJob("p8 c20 indexed blpi1", started(time.Hour), indexesDone(test.completed, test.failed))
			j.Spec.Parallelism = ptr.To(int32(len(test.active) + 5))
			var pods []*corev1.Pod
			for _, i := range test.active {
				pods = append(pods, aPod(fmt.Sprintf("p%d running i%d fc0", i, i)))
			}
			var got []int
			for _, c := range Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).Create {
				got = append(got, c.Index)
			}
			// JOB-211: index 3 is active and completed at once in the first
			// case: such a pod is not useless.
			if !slices.Equal(got, test.want) {
				t.Errorf("created %v, want %v", got, test.want)
			}
		})
	}
}

// JOB-211: active pods of which only one may have an index.
func TestUselessPods(t *testing.T) {
	t.Parallel()
	j := aJob("p9 c3 indexed", started(time.Hour))
	p := Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true}, Pods: somePods(
		"a running", "b running i-1", "c running ix", "d running i3", "e running i0", "f ready i0", "g pending i0", "h running i2")})
	var got []string
	for _, d := range p.Delete {
		got = append(got, d.Name)
	}
	slices.Sort(got)
	if want := []string{"a", "b", "c", "d", "e", "g"}; !slices.Equal(got, want) {
		t.Errorf("deleted %v, want %v", got, want)
	}
}

// JOB-220: the status of the largest Jobs fits into an object.
func TestStatusOfAHugeJob(t *testing.T) {
	t.Parallel()
	var odd strings.Builder
	for i := 1; i < 100000; i += 2 {
		fmt.Fprintf(&odd, "%d,", i)
	}
	j := aJob("p1000 c100000 indexed", started(time.Hour), indexesDone(strings.TrimSuffix(odd.String(), ","), ""))
	plan := Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	r := plan.Record(mishaps{}.carryOut(plan))
	if len(plan.Create) != 500 || plan.Create[499].Index != 998 || r.Write.Status.Succeeded != 50000 {
		t.Errorf("%d pods, %d done", len(plan.Create), r.Write.Status.Succeeded)
	}
	if n := len(r.Write.Status.CompletedIndexes); n > 1_000_000 {
		t.Errorf("%d bytes of indexes", n)
	}
}

// A plan and its record tell themselves, every effect with its reason.
func TestPlansTellThemselves(t *testing.T) {
	t.Parallel()
	tell := func(shorthand string, m mishaps, memory Memory, pods ...string) string {
		j := aJob(shorthand, started(time.Minute))
		list := somePods(pods...)
		plan := Decide(Snapshot{Job: j, Pods: list, Memory: memory, Now: now, Options: Options{Standalone: true}})
		return told(plan, plan.Record(m.carryOut(plan)))
	}
	tests := map[string]struct{ got, want string }{
		"one ended, one starts": {tell("p2 c5", mishaps{}, Memory{}, "a ready", "b succeeded"), `
create job-*
say Normal SuccessfulCreate: Created pod: job-*
write: active 2, ready 1, terminating 0, succeeded 0, failed 0, uncounted [b] []
remove finalizer of b
`},
		"too many, one cannot be deleted": {tell("p1 c5", mishaps{deletes: sets.New("b")}, Memory{}, "a ready", "b running", "c orphan", "d stranger"), `
adopt c
release d
remove finalizer and delete c: more pods than wanted
remove finalizer and delete b: more pods than wanted
say Normal SuccessfulDelete: Deleted pod: c
say Warning FailedDelete: Error deleting: refused
write: active 2, ready 1, terminating 1, succeeded 0, failed 0
`},
		"the end": {tell("bl0", mishaps{}, Memory{}, "a failed"), `
verdict: Failure, BackoffLimitExceeded: Job has reached the specified backoff limit (found now)
write the end: active 0, ready 0, terminating 0, succeeded 0, failed 1, FailureTarget=True(BackoffLimitExceeded), Failed=True(BackoffLimitExceeded)
say Warning BackoffLimitExceeded: Job has reached the specified backoff limit
remove finalizer of a
`},
		"a wait": {tell("ads90", mishaps{}, creating("job-zzzzz")), `
wake in 9s
`},
		"not ours": {Decide(Snapshot{Job: aJob(""), Now: now}).String(), `
skip: not ours
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(strings.TrimPrefix(test.want, "\n"), test.got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
