// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

var (
	podsResource = schema.GroupResource{Resource: "pods"}
	jobsResource = schema.GroupResource{Group: "batch", Resource: "jobs"}
)

func internalError(call) error { return apierrors.NewInternalError(errors.New("injected")) }

// on lets a fault happen for one kind of call only; at most n times (0: always).
func on(verb string, n int, fault func(call) error) func(call) error {
	seen := 0
	return func(c call) error {
		if c.verb != verb || n > 0 && seen >= n {
			return nil
		}
		seen++
		return fault(c)
	}
}

// While the status cannot be written no finalizer goes and nothing is counted
// twice; the next try finds everything again (JOB-064, JOB-071, CP-18).
func TestFailedStatusWriteReleasesNothing(t *testing.T) {
	for name, fault := range map[string]func(call) error{
		"server error": internalError,
		"conflict":     func(c call) error { return apierrors.NewConflict(jobsResource, c.name, errors.New("injected")) },
		"no answer":    func(call) error { return errors.New("connection reset by peer") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(make.Job(ns, "j").Parallelism(2).Completions(3).Obj())
			w.run()
			w.finishAll(corev1.PodSucceeded)
			w.pass(100 * time.Millisecond)
			w.finishAll(corev1.PodSucceeded)
			w.resetCalls()
			w.fault = on("status", 3, fault)
			w.clock.Step(30 * time.Millisecond)
			w.run()
			if n := w.count("patch", "Pod"); n != 0 {
				t.Errorf("%d finalizers were removed although nothing was recorded: %v", n, w.calls)
			}
			w.pass(10 * time.Second)
			w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Succeeded == 3 && condition(s, batchv1.JobComplete) }, "3 successes")
			w.wantHeld(0)
			if n := w.count("status", "Job"); n > 5 {
				t.Errorf("%d status writes", n)
			}
		})
	}
}

// Pods that could not be released are counted once, when they are (JOB-065, JOB-066).
func TestFailedFinalizerRemovalIsRetried(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").WorkQueue().Parallelism(3).Obj())
	w.run()
	w.finish(w.pods()[0], corev1.PodFailed)
	w.finish(w.pods()[1], corev1.PodFailed)
	w.fault = on("patch", 2, internalError)
	w.pass(50 * time.Millisecond)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return s.Failed == 0 && len(s.UncountedTerminatedPods.Failed) == 2
	}, "two recorded pods that are not counted")
	w.wantHeld(3)
	w.pass(5 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return s.Failed == 2 && len(s.UncountedTerminatedPods.Failed) == 0
	}, "two failures")
	w.wantHeld(1)
}

// A pod that vanished is as good as one that was released (JOB-070).
func TestVanishedPodIsReleased(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.run()
	w.finishAll(corev1.PodSucceeded)
	w.fault = on("patch", 1, func(c call) error { return apierrors.NewNotFound(podsResource, c.name) })
	w.pass(50 * time.Millisecond)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Succeeded == 1 && condition(s, batchv1.JobComplete) }, "complete")
}

// A status that the server refuses is a bug: it is told once, counted each time,
// and not tried in a loop (JOB-355, Q-18).
func TestRejectedStatus(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.fault = on("status", 0, func(c call) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, c.name, nil)
	})
	before := testutil.ToFloat64(statusRejected.WithLabelValues("server"))
	w.pass(10 * time.Minute)
	if n := w.count("status", "Job"); n < 5 || n > 15 {
		t.Errorf("%d tries in ten minutes, want about one each", n)
	}
	if got := testutil.ToFloat64(statusRejected.WithLabelValues("server")) - before; got != float64(w.count("status", "Job")) {
		t.Errorf("metric counts %v rejections of %d", got, w.count("status", "Job"))
	}
	if diff := cmp.Diff([]string{"SuccessfulCreate", "InvalidStatus"}, w.said.reasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.fault = nil
	w.pass(2 * time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 1 }, "written at last")
}

// A status that breaks a rule of the server is never sent (section 9).
func TestInvalidStatusIsNotSent(t *testing.T) {
	w := newWorld(t)
	j := make.Job(ns, "j").Obj()
	w.add(j)
	w.deliver()
	bad := job.Write{Status: &batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](2)}}
	before := testutil.ToFloat64(statusRejected.WithLabelValues("check"))
	k := &work{controller: w.ctl, key: keyOf(j), job: w.job("j"), mem: w.ctl.memory.of(j.UID), now: w.clock.Now()}
	for range 2 {
		if err := k.write(context.Background(), bad); !errors.Is(err, errRejected) {
			t.Errorf("got %v", err)
		}
	}
	if n := w.writes(); n != 0 {
		t.Errorf("%d writes", n)
	}
	if got := testutil.ToFloat64(statusRejected.WithLabelValues("check")) - before; got != 2 {
		t.Errorf("metric counts %v", got)
	}
	if diff := cmp.Diff([]string{"InvalidStatus"}, w.said.reasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// With every second call failing the counts are exact in the end (JOB-088).
func TestEverySecondCallFails(t *testing.T) {
	for name, build := range map[string]make.JobBuilder{
		"NonIndexed": make.Job(ns, "j").Parallelism(4).Completions(9),
		"Indexed":    make.Job(ns, "j").Indexed(9).Parallelism(4),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(build.Obj())
			n := 0
			w.fault = func(call) error {
				if n++; n%2 == 0 {
					return internalError(call{})
				}
				return nil
			}
			for i := 0; i < 200 && !condition(w.job("j").Status, batchv1.JobComplete); i++ {
				w.pass(time.Second)
				for _, pod := range w.pods() {
					if !terminal(&pod) {
						w.finish(pod, corev1.PodSucceeded)
					}
				}
			}
			w.pass(10 * time.Minute)
			w.wantStatus("j", func(s batchv1.JobStatus) bool {
				return s.Succeeded == 9 && s.Failed == 0 && condition(s, batchv1.JobComplete)
			}, "nine successes")
			w.wantHeld(0)
		})
	}
}

// With a quota of ten pods a Job of a hundred asks fifteen times, not a hundred,
// and says how many run (JOB-140, JOB-141).
func TestQuotaSlowStart(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(100).Completions(100).Obj())
	w.fault = on("create", 0, func(c call) error {
		if len(w.pods()) >= 10 {
			return apierrors.NewForbidden(podsResource, c.name, errors.New("exceeded quota"))
		}
		return nil
	})
	w.opts.FanOut = 1
	w.restart()
	w.deliver()
	// A full quota is the user's business: it is told by an event, retried like an error, and logged as none.
	must(t, w.syncJob("j"))
	if due := w.next().Sub(w.clock.Now()); due != time.Second {
		t.Errorf("tried again after %s, want 1s", due)
	}
	if n := w.count("create", "Pod"); n > 15 {
		t.Errorf("%d create calls", n)
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 10 }, "10 active")
	if !slices.Contains(w.said.reasons(), "FailedCreate") {
		t.Errorf("nobody was told: %v", w.said.reasons())
	}
	w.resetCalls()
	w.pass(10 * time.Minute)
	if n := w.count("create", "Pod"); n > 20 {
		t.Errorf("%d create calls in ten minutes of full quota", n)
	}
	w.fault = nil
	w.pass(2 * time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 100 }, "all pods once there is room")
}

func unjoin(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()[0]
	}
	return err
}

// In a namespace that is going away there is no pod, no event, no error and no
// hurry (JOB-142, Q-02).
func TestNamespaceTerminating(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.fault = on("create", 0, func(c call) error {
		err := apierrors.NewForbidden(podsResource, c.name, errors.New("namespace is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "gone soon"}}
		return err
	})
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 0 }, "nothing active")
	if n := w.count("create", "Pod"); n > 10 {
		t.Errorf("%d create calls in a minute", n)
	}
	if reasons := w.said.reasons(); len(reasons) > 0 {
		t.Errorf("events: %v", reasons)
	}
}

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
					if pod.DeletionTimestamp != nil && !terminal(&pod) {
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
	if mem := w.ctl.memory.of(w.job("j").UID); len(mem.creating) > 0 {
		t.Errorf("still waited for: %v", mem.creating)
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

// A pod that ends well in the very moment in which it is to be evicted keeps its
// success: the patch that would take its finalizer off names the version of the
// pod that was decided upon, and a conflict leaves the pod to the next sync
// (JOB-013, JOB-171, JOB-188).
func TestEvictionNeverTakesASuccess(t *testing.T) {
	for name, c := range map[string]struct {
		job    make.JobBuilder
		change func(*batchv1.Job)
		want   func(s batchv1.JobStatus) bool
	}{
		"scaled down": {make.Job(ns, "j").Parallelism(3).Completions(9), func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](1) },
			func(s batchv1.JobStatus) bool { return s.Succeeded == 2 && s.Failed == 0 && s.Active == 1 }},
		"suspended": {make.Job(ns, "j").Parallelism(2).Completions(9), func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) },
			func(s batchv1.JobStatus) bool {
				return s.Succeeded == 2 && s.Failed == 0 && s.Active == 0 && condition(s, batchv1.JobSuspended)
			}},
		"suspended, Indexed": {make.Job(ns, "j").Indexed(2).Parallelism(2), func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) },
			func(s batchv1.JobStatus) bool {
				return s.CompletedIndexes == "0,1" && condition(s, batchv1.JobComplete)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c.job.Obj())
			w.run()
			w.edit("j", c.change)
			w.fault = on("patch", 2, func(c call) error {
				for _, pod := range w.pods() {
					if pod.Name == c.name {
						w.finish(pod, corev1.PodSucceeded)
					}
				}
				return nil
			})
			w.deliver()
			must(t, w.syncJob("j"))
			if n := w.count("delete", "Pod"); n != 0 {
				t.Errorf("%d pods were deleted although they had succeeded: %v", n, w.calls)
			}
			w.pass(30 * time.Second)
			w.wantStatus("j", c.want, "two successes")
		})
	}
}

// A pod that merely changed in that moment is evicted a little later, whether or
// not the change is one that wakes the Job.
func TestEvictionIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").WorkQueue().Parallelism(2).Obj())
	w.run()
	w.edit("j", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](0) })
	w.fault = on("patch", 2, func(c call) error {
		for _, pod := range w.pods() {
			if pod.Name == c.name {
				w.setPod(pod, func(s *corev1.PodStatus) { s.PodIP = "10.0.0.1" })
			}
		}
		return nil
	})
	w.pass(5 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 0 && s.Failed == 0 }, "no pods")
	if n := len(w.pods()); n != 0 || w.count("patch", "Pod") != 4 {
		t.Errorf("%d pods are left; calls %v", n, w.calls)
	}
	if len(w.main.fails) > 0 || len(w.said.reasons()) != 4 {
		t.Errorf("a conflict is no error: %v, events %v", w.main.fails, w.said.reasons())
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
						if !terminal(&pod) {
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
					if !terminal(&pod) {
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
			if held(&pod) {
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
