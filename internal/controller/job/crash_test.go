// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A crash at any call, and a start from the API objects alone, leads to the
// same end: exact counts and no finalizer (JOB-072 to JOB-079, JOB-085).
func TestCrashAnywhere(t *testing.T) {
	type scenario struct {
		job  make.JobBuilder
		ends func(i int) corev1.PodPhase // of the i-th pod that ends
		want func(s batchv1.JobStatus) bool
	}
	succeed := func(int) corev1.PodPhase { return corev1.PodSucceeded }
	for name, sc := range map[string]scenario{
		"NonIndexed": {make.Job(ns, "j").Parallelism(2).Completions(3), succeed, func(s batchv1.JobStatus) bool {
			return condition(s, batchv1.JobComplete) && s.Succeeded == 3 && s.Failed == 0
		}},
		"Indexed": {make.Job(ns, "j").Indexed(3).Parallelism(2), succeed, func(s batchv1.JobStatus) bool {
			return condition(s, batchv1.JobComplete) && s.CompletedIndexes == "0-2" && s.Failed == 0
		}},
		"one retry": {make.Job(ns, "j").Parallelism(1).Completions(2).BackoffLimit(1),
			func(i int) corev1.PodPhase {
				if i == 0 {
					return corev1.PodFailed
				}
				return corev1.PodSucceeded
			}, func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobComplete) && s.Succeeded == 2 && s.Failed == 1
			}},
		"fails while a sibling runs": {make.Job(ns, "j").Parallelism(2).Completions(2).BackoffLimit(0),
			func(int) corev1.PodPhase { return corev1.PodFailed }, func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobFailed) && s.Failed == 2 && s.Succeeded == 0
			}},
	} {
		t.Run(name, func(t *testing.T) {
			for k := 1; ; k++ {
				w := newWorld(t)
				w.add(sc.job.Obj())
				crashed := crashAt(w, k)
				ended := map[types.UID]bool{}
				for range 30 {
					w.pass(15 * time.Second)
					if s := w.job("j").Status; condition(s, batchv1.JobComplete) || condition(s, batchv1.JobFailed) {
						break
					}
					for _, pod := range w.pods() {
						if !job.PodFinished(&pod) {
							w.finish(pod, sc.ends(len(ended)))
							ended[pod.UID] = true
							break // one at a time
						}
					}
				}
				if s := w.job("j").Status; !sc.want(s) {
					t.Fatalf("after a crash at call %d (%v): %+v", k, w.calls[min(k, len(w.calls))-1], s)
				}
				w.wantHeld(0)
				if !*crashed {
					if k < 5 {
						t.Errorf("only %d calls were made at all", k)
					}
					return // fewer than k calls: every crash was tried
				}
			}
		})
	}
}

// crashAt ends the process at its k-th write: that call and all after it fail
// until the sync has returned; then a new process starts.
func crashAt(w *world, k int) *bool {
	n, crashed := 0, new(bool)
	dead := false
	w.fault = func(c call) error {
		if c.verb == "get" || c.verb == "list" {
			return nil
		}
		if n++; n == k {
			*crashed, dead = true, true
		}
		if dead {
			return fmt.Errorf("the process is dead: %w", context.Canceled)
		}
		return nil
	}
	w.afterSync = func() {
		if dead {
			dead = false
			w.restart()
		}
	}
	return crashed
}

// Two processes that both believe to lead make conflicts, but count no pod twice,
// however late the one hears of what the other did (JOB-089, CP-20).
func TestTwoControllers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		pods := int32(rapid.IntRange(2, 5).Draw(rt, "pods"))
		b := make.Job(ns, "j").Parallelism(2).Completions(pods)
		if rapid.Bool().Draw(rt, "indexed") {
			b = make.Job(ns, "j").Indexed(pods).Parallelism(2)
		}
		w.add(b.Obj())
		other := w.beside()
		both := []*world{w, other}
		for _, x := range both {
			// Resource versions of the fake say nothing about other objects: no cache can prove that it is new enough.
			x.ctl.progress, x.ctl.jobProgress = func() string { return "0" }, func() string { return "0" }
		}
		for range rapid.IntRange(20, 60).Draw(rt, "steps") {
			x := both[rapid.IntRange(0, 1).Draw(rt, "who")]
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				x.blindPods, x.blindJobs = rapid.Bool().Draw(rt, "no pods"), rapid.Bool().Draw(rt, "no Jobs")
				x.deliver()
				x.blindPods, x.blindJobs = false, false
			case 1, 2:
				_ = x.syncJob("j")
			case 3:
				for _, pod := range w.pods() {
					if !job.PodFinished(&pod) {
						w.finish(pod, corev1.PodSucceeded)
						break
					}
				}
			case 4:
				w.clock.Step(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond)
			}
		}
		for done := 0; done < 60; done++ {
			for _, x := range both {
				x.run()
			}
			w.finishAll(corev1.PodSucceeded)
			w.clock.Step(2 * time.Second)
			if condition(w.job("j").Status, batchv1.JobComplete) {
				done = max(done, 57) // a little longer
			}
		}
		s := w.job("j").Status
		// One that acts on a Job older than its pods may make a pod too many; then the counts say so.
		if !condition(s, batchv1.JobComplete) || s.Succeeded < pods || s.Succeeded > int32(len(w.pods())) || s.Failed != 0 {
			rt.Fatalf("%d pods of %d, status %+v", len(w.pods()), pods, s)
		}
		for _, pod := range w.pods() {
			if job.HasFinalizer(&pod) {
				rt.Fatalf("pod %s holds the finalizer", pod.Name)
			}
		}
	})
}

// Once the lease is lost nothing more is written: what has begun ends, what has
// not begun does not begin (JOB-378).
func TestNoWriteAfterTheLeaseIsLost(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.FanOut = 1 })
	w.add(make.Job(ns, "j").Parallelism(20).Completions(20).Obj())
	w.deliver()
	ctx, lose := context.WithCancel(context.Background())
	w.fault = func(call) error {
		if w.count("create", "Pod") == 5 {
			lose()
		}
		return ctx.Err()
	}
	_, err := w.ctl.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "j"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := w.count("create", "Pod"); n != 5 || len(w.pods()) != 4 {
		t.Errorf("%d create calls, %d pods", n, len(w.pods()))
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.StartTime == nil }, "unwritten")
}

// Edits of the spec at every write cost conflicts and nothing else (JOB-354).
func TestEditsAtEveryWrite(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(2).Completions(6).Obj())
	edits := 0
	w.fault = on("status", 0, func(c call) error {
		if edits++; edits%2 == 1 {
			w.edit("j", func(j *batchv1.Job) { j.Spec.BackoffLimit = ptr.To(int32(100 + edits)) })
		}
		return nil
	})
	for range 20 {
		w.pass(3 * time.Second)
		w.finishAll(corev1.PodSucceeded)
	}
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobComplete) && s.Succeeded == 6 && s.Failed == 0
	}, "6 successes")
	if n := len(w.pods()); n != 6 {
		t.Errorf("%d pods, want 6", n)
	}
	w.wantHeld(0)
}
