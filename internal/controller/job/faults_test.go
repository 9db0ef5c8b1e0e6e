// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
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
	var seen atomic.Int32
	return func(c call) error {
		if c.verb != verb || n > 0 && int(seen.Add(1)) > n {
			return nil
		}
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
	bad := job.StatusWrite{Status: &batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](2)}}
	before := testutil.ToFloat64(statusRejected.WithLabelValues("check"))
	k := &work{controller: w.ctl, key: keyOf(j), job: w.job("j"), carry: w.ctl.expectations.carry(j.UID), now: w.clock.Now()}
	for range 2 {
		if err := k.writeStatus(context.Background(), bad); !errors.Is(err, errRejected) {
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
			var n atomic.Int32
			w.fault = func(call) error {
				if n.Add(1)%2 == 0 {
					return internalError(call{})
				}
				return nil
			}
			for i := 0; i < 200 && !condition(w.job("j").Status, batchv1.JobComplete); i++ {
				w.pass(time.Second)
				for _, pod := range w.pods() {
					if !job.PodFinished(&pod) {
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
