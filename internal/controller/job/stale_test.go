// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A creation whose answer is lost makes one pod, not two (CP-02, A7).
func TestLostAnswerMakesNoSecondPod(t *testing.T) {
	for name, answer := range map[string]func(call) error{
		"timeout":          func(c call) error { return apierrors.NewTimeoutError("injected", 1) },
		"connection reset": func(c call) error { return errors.New("connection reset by peer") },
		"server error":     internalError,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(make.Job(ns, "j").Parallelism(3).Completions(3).Obj())
			w.blindPods = true
			w.lost = on("create", 2, answer)
			w.pass(30 * time.Second)
			w.blindPods = false
			w.pass(time.Minute)
			if n := len(w.pods()); n != 3 {
				t.Errorf("%d pods, want 3", n)
			}
			w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 3 && s.Failed == 0 }, "3 active")
			if n := w.count("delete", "Pod"); n != 0 {
				t.Errorf("%d pods were too many and had to be deleted: %v", n, w.calls)
			}
		})
	}
}

// A pod of somebody else on the name that we would give: the server chooses another.
func TestTakenNameIsAvoided(t *testing.T) {
	w := newWorld(t)
	j := make.Job(ns, "j").Obj()
	w.add(make.Pod(ns, job.PodName("j", j.UID, -1, 0)).Orphan().NoFinalizers().Obj())
	w.add(j)
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 1 }, "1 active")
	if n := len(w.pods()); n != 2 {
		t.Errorf("%d pods, want the foreign one and ours", n)
	}
	if n := w.count("create", "Pod"); n != 2 {
		t.Errorf("%d create calls, want 2: %v", n, w.calls)
	}
}

// What this process did counts before the caches show it: no second pod, no
// second count, however late they are (JOB-081, JOB-084, JOB-372, A1).
func TestStaleCaches(t *testing.T) {
	for name, blind := range map[string]func(w *world, blind bool){
		"pods":      func(w *world, blind bool) { w.blindPods = blind },
		"Jobs":      func(w *world, blind bool) { w.blindJobs = blind },
		"pods+Jobs": func(w *world, blind bool) { w.blindPods, w.blindJobs = blind, blind },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(make.Job(ns, "j").Parallelism(2).Completions(4).Obj())
			w.deliver()
			for range 4 {
				blind(w, true)
				for range 3 {
					_ = w.syncJob("j")
					w.pass(500 * time.Millisecond)
				}
				blind(w, false)
				w.pass(100 * time.Millisecond)
				w.finishAll(corev1.PodSucceeded)
				w.deliver()
			}
			w.pass(time.Minute)
			w.wantStatus("j", func(s batchv1.JobStatus) bool {
				return s.Succeeded == 4 && s.Failed == 0 && condition(s, batchv1.JobComplete)
			}, "4 successes")
			if n := len(w.pods()); n != 4 {
				t.Errorf("%d pods, want 4", n)
			}
			w.wantHeld(0)
		})
	}
}

// A pod cache that lags for longer than own creations and deletions are waited for
// is not believed: what it does not show may run, or have ended. The Job neither
// ends without its pods nor makes more of them (JOB-084, JOB-372, 11.4: verify
// instead of a stall).
func TestCacheLagsBeyondAllWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		job make.JobBuilder
		// end is what the pods do while the cache stands still.
		end  func(w *world)
		want func(s batchv1.JobStatus) bool
	}{
		"the deadline passes": {make.Job(ns, "j").Parallelism(2).Completions(2).ActiveDeadline(5), func(*world) {},
			func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobFailed) && s.Failed == 2 && s.Succeeded == 0
			}},
		"all succeed": {make.Job(ns, "j").Parallelism(2).Completions(2), func(w *world) { w.finishAll(corev1.PodSucceeded) },
			func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobComplete) && s.Succeeded == 2 && s.Failed == 0
			}},
		"scaled down": {make.Job(ns, "j").WorkQueue().Parallelism(2), func(w *world) { w.edit("j", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](1) }) },
			func(s batchv1.JobStatus) bool { return s.Active == 1 && s.Failed == 0 && s.Succeeded == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c.job.Obj())
			w.deliver()
			w.blindPods = true
			w.run()
			c.end(w)
			for range 15 {
				w.pass(3 * time.Second)
				_ = w.syncJob("j")
				for _, pod := range w.pods() { // a kubelet ends what is being deleted
					if pod.DeletionTimestamp != nil && !job.PodFinished(&pod) {
						w.finish(pod, corev1.PodFailed)
					}
				}
			}
			w.wantStatus("j", c.want, "the truth while the cache stands still")
			w.blindPods = false
			w.pass(time.Minute)
			w.wantStatus("j", c.want, "the truth afterwards")
			if n := w.count("create", "Pod"); n != 2 {
				t.Errorf("%d creations, want 2: %v", n, w.calls)
			}
			w.resetCalls()
			_ = w.syncJob("j")
			if n := w.count("list", ""); n != 0 {
				t.Errorf("%d lists although the cache has caught up", n)
			}
		})
	}
}

// A creation of which nobody knows what became, and that made nothing, is looked
// for once and then sent again.
func TestLostCreationIsSentAgain(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.fault = on("create", 1, func(call) error { return errors.New("connection reset by peer") })
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 1 }, "1 active")
	if len(w.pods()) != 1 || w.count("list", "") != 1 {
		t.Errorf("%d pods, calls %v", len(w.pods()), w.calls)
	}
	if e := w.ctl.expectations.byJob[w.job("j").UID]; e != nil && len(e.creating) > 0 {
		t.Errorf("still waited for: %v", e.creating)
	}
}

// A new process whose Job cache is older than its pods does not trust that one
// either: a pod that was counted and released would be made once more.
func TestStaleJobAfterTakeover(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(2).Completions(2).Obj())
	w.run()
	old := w.caches.job(keyOf(w.job("j")))
	w.finish(w.pods()[0], corev1.PodSucceeded)
	w.pass(3 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Succeeded == 1 && s.Active == 1 }, "1 success")
	w.restart()
	w.ctl.jobProgress = func() string { return "0" }
	must(t, w.caches.jobs.Add(old))
	w.blindJobs = true
	w.deliver()
	_ = w.syncJob("j")
	w.pass(5 * time.Second)
	w.blindJobs = false
	w.pass(time.Minute)
	if n := len(w.pods()); n != 2 || w.count("delete", "Pod") > 0 {
		t.Errorf("%d pods, want 2: %v", n, w.calls)
	}
	// With a Job cache that has come as far as the pods nobody is asked.
	w.restart()
	w.ctl.jobProgress = func() string { return "1000000" }
	w.resetCalls()
	w.pass(time.Second)
	if n := w.count("get", "Job"); n != 0 {
		t.Errorf("%d reads of the Job", n)
	}
}

// Pods that were stopped because they are too many, or because the Job is
// suspended, are no failures while the cache still shows them untouched
// (JOB-013, JOB-171).
func TestStoppedPodsAreNoFailuresInAStaleCache(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job){
		"scaled down": func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](1) },
		"suspended":   func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(make.Job(ns, "j").Parallelism(3).Completions(9).BackoffLimit(0).Obj())
			w.run()
			w.blindPods = true
			w.edit("j", change)
			for range 5 {
				w.pass(500 * time.Millisecond)
				_ = w.syncJob("j")
			}
			w.blindPods = false
			w.pass(time.Minute)
			w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 0 && len(s.UncountedTerminatedPods.Failed) == 0 }, "no failure")
		})
	}
}

// A new process whose pod cache is older than the Job does not trust it: what
// the process before it counted is not counted again. That the cache is behind is
// no error, but counted (JOB-083, JOB-372, Q-21, A2).
func TestStaleCacheAfterTakeover(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").WorkQueue().Parallelism(3).BackoffLimit(9).Obj())
	w.run()
	w.finish(w.pods()[0], corev1.PodFailed)
	w.deliver()
	old := everything(w.caches.pods) // all three hold the finalizer, one has failed
	w.pass(3 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 1 && len(s.UncountedTerminatedPods.Failed) == 0 }, "1 failure")

	w.restart()
	skips := testutil.ToFloat64(staleSyncSkips.WithLabelValues("", "pods"))
	behind, current := "1", "1000000"
	seen := behind
	w.ctl.progress = func() string { return seen }
	for _, pod := range old {
		must(t, w.caches.pods.Add(pod))
	}
	w.blindPods = true
	w.pass(5 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 1 && len(s.UncountedTerminatedPods.Failed) == 0 }, "still 1 failure")
	if w.count("list", "") == 0 || testutil.ToFloat64(staleSyncSkips.WithLabelValues("", "pods")) == skips || len(w.main.fails) > 0 {
		t.Errorf("the server was asked %d times, retries %v", w.count("list", ""), w.main.fails)
	}
	w.blindPods, seen = false, current
	w.pass(20 * time.Second)
	w.resetCalls()
	w.finish(w.pods()[1], corev1.PodSucceeded)
	w.pass(time.Second)
	if n := w.count("list", ""); n != 0 {
		t.Errorf("%d lists although the cache has caught up", n)
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 1 && s.Succeeded <= 1 }, "1 failure in the end")
}
