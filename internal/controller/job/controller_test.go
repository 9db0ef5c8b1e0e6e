// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A Job of one pod costs four writes and two events (JOB-375).
func TestOnePodJobCostsFourWrites(t *testing.T) {
	for name, mode := range map[string]func(make.JobBuilder) make.JobBuilder{
		"NonIndexed": func(b make.JobBuilder) make.JobBuilder { return b },
		"Indexed":    func(b make.JobBuilder) make.JobBuilder { return b.Indexed(1) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(mode(make.Job(ns, "one")).Obj())
			w.run()
			w.setReady(w.pods()[0])
			w.pass(100 * time.Millisecond)
			w.finishAll(corev1.PodSucceeded)
			w.pass(time.Hour)
			w.wantStatus("one", func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobComplete) && s.Succeeded == 1 && s.Failed == 0
			}, "complete with one success")
			w.wantHeld(0)
			if n := w.writes(); n != 4 {
				t.Errorf("%d writes, want 4: %v", n, w.calls)
			}
			if diff := cmp.Diff([]string{"SuccessfulCreate", "Completed"}, w.said.reasons()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// An Indexed Job of N pods that run at once costs at most 2N + 3 writes (JOB-374).
func TestIndexedJobCostsTwoWritesPerPod(t *testing.T) {
	const pods = 100
	w := newWorld(t, func(o *Options) { o.MaxPodChanges = 40 })
	w.add(make.Job(ns, "wide").Indexed(pods).Parallelism(pods).Obj())
	w.run()
	w.pass(time.Second)
	if n := len(w.pods()); n != pods {
		t.Fatalf("%d pods, want %d", n, pods)
	}
	for i, pod := range w.pods() {
		w.finish(pod, corev1.PodSucceeded)
		if i%25 == 24 {
			w.pass(20 * time.Millisecond)
		}
	}
	w.pass(time.Minute)
	w.wantStatus("wide", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobComplete) && s.Succeeded == pods && s.CompletedIndexes == "0-99"
	}, "complete with all successes")
	w.wantHeld(0)
	if n := w.writes(); n > 2*pods+3 {
		t.Errorf("%d writes, want at most %d; %d of the status", n, 2*pods+3, w.count("status", "Job"))
	}
}

// The same when all of them end at once and there are more finalizers to remove
// than one sync may: the end is written first (OPT-01), the finalizers follow,
// also when the process dies in between (JOB-068, JOB-374, CP-15).
func TestPodsThatEndAtOnce(t *testing.T) {
	const pods, limit = 40, 10
	for name, crash := range map[string]bool{"in one life": false, "with a crash after the end is written": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.MaxPodChanges, o.MaxUncounted = limit, limit })
			w.add(make.Job(ns, "wide").Indexed(pods).Parallelism(pods).Obj())
			w.run()
			w.pass(time.Second)
			w.finishAll(corev1.PodSucceeded)
			w.deliver()
			w.clock.Step(time.Second)
			if crash {
				w.fault = on("patch", 0, func(call) error { return context.Canceled })
			}
			must(t, ignore(w.syncJob("wide"), context.Canceled))
			w.wantStatus("wide", func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobComplete) && s.Succeeded == pods && s.CompletedIndexes == "0-39"
			}, "the end in the first write")
			want := 2*pods + 3
			if crash {
				w.wantHeld(pods)
				w.fault = nil
				w.restart()
				want += limit // what the dead process tried
			} else {
				w.wantHeld(pods - limit)
			}
			w.pass(time.Minute)
			w.wantHeld(0)
			if n := w.writes(); n > want {
				t.Errorf("%d writes, want at most %d; %d of the status", n, want, w.count("status", "Job"))
			}
			if w.next() != (time.Time{}) {
				t.Errorf("something is due at %v although nothing is left", w.next())
			}
		})
	}
}

// ignore gives nil for an error of this kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// A Job that runs its pods one after the other waits for none of them longer
// than a window (JOB-376).
func TestChainHasNoPauses(t *testing.T) {
	const pods = 40
	w := newWorld(t)
	w.add(make.Job(ns, "chain").Completions(pods).Obj())
	w.run()
	for range pods {
		w.finishAll(corev1.PodSucceeded)
		w.pass(30 * time.Millisecond)
	}
	if took := w.clock.Now().Sub(start); took > pods*50*time.Millisecond {
		t.Errorf("the chain took %v", took)
	}
	w.pass(time.Second)
	w.wantStatus("chain", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) && s.Succeeded == pods }, "complete")
	w.wantHeld(0)
}

// Nothing happens to Jobs that need nothing: no call, however often the process
// starts (JOB-017, JOB-020, JOB-377).
func TestIdleJobsCostNothing(t *testing.T) {
	w := newWorld(t)
	w.add(
		make.Job(ns, "finished").Started(start).Complete(start).Obj(),
		make.Job(ns, "failed").Started(start).Failed(start, "BackoffLimitExceeded").Obj(),
		make.Job(ns, "nothing-to-do").Parallelism(0).Completions(3).Obj(),
	)
	w.pass(time.Minute)
	if n := w.count("status", "Job"); n != 1 {
		t.Errorf("%d status writes, want one for the Job without parallelism: %v", n, w.calls)
	}
	w.restart()
	w.resetCalls()
	w.pass(24 * time.Hour)
	// The Job that has begun is read once, since another process may have worked on it.
	if n := w.writes(); n != 0 {
		t.Errorf("%d writes while nothing happens: %v", n, w.calls)
	}
	if w.next() != (time.Time{}) {
		t.Errorf("something is due at %v although nothing waits", w.next())
	}
	if len(w.ctl.expectations.byJob) > 1 {
		t.Errorf("something is expected of finished Jobs: %v", w.ctl.expectations.byJob)
	}
}

// A change of the spec is answered at once, whatever the window (JOB-018, JOB-370).
func TestSpecChangeIsImmediate(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "grow").Completions(3).Obj())
	w.run()
	w.edit("grow", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](3) })
	w.run()
	if n := len(w.pods()); n != 3 {
		t.Errorf("%d pods, want 3", n)
	}
	if now := w.clock.Now(); !now.Equal(start) {
		t.Errorf("it took %v", now.Sub(start))
	}
}

// Suspending removes the pods without counting them; resuming starts anew
// (JOB-171, JOB-172, JOB-174).
func TestSuspendAndResume(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "pause").Parallelism(2).Completions(2).Obj())
	w.run()
	w.edit("pause", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) })
	w.pass(2 * time.Second)
	w.wantStatus("pause", func(s batchv1.JobStatus) bool {
		return s.Active == 0 && s.StartTime == nil && condition(s, batchv1.JobSuspended) && s.Failed == 0
	}, "suspended without pods")
	if n := len(w.pods()); n != 0 {
		t.Errorf("%d pods are left", n)
	}
	w.edit("pause", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) })
	w.pass(2 * time.Second)
	w.wantStatus("pause", func(s batchv1.JobStatus) bool {
		return s.Active == 2 && s.StartTime != nil && !condition(s, batchv1.JobSuspended) && s.Failed == 0
	}, "running again")
	if diff := cmp.Diff([]string{"SuccessfulCreate", "SuccessfulCreate", "SuccessfulDelete", "SuccessfulDelete", "Suspended",
		"SuccessfulCreate", "SuccessfulCreate", "Resumed"}, w.said.reasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A pod that was never scheduled is gone the moment its finalizer is, so there is
// no event but that of our own write: the Job that waits for it goes on all the
// same (JOB-123, JOB-153, JOB-171, JOB-311).
func TestPodsThatVanishAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		job  make.JobBuilder
		step func(w *world)
		want func(s batchv1.JobStatus) bool
	}{
		"the Job succeeds": {
			make.Job(ns, "j").Indexed(2).Parallelism(2).SuccessPolicy(batchv1.SuccessPolicyRule{SucceededCount: ptr.To[int32](1)}),
			func(w *world) { w.finish(w.pods()[0], corev1.PodSucceeded) },
			func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobComplete) && s.Succeeded == 1 && s.Failed == 0
			},
		},
		"the Job fails": {
			make.Job(ns, "j").Parallelism(2).Completions(2).BackoffLimit(0),
			func(w *world) { w.finish(w.pods()[0], corev1.PodFailed) },
			func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobFailed) && s.Failed == 2 },
		},
		"the Job is suspended": {
			make.Job(ns, "j").Parallelism(2).Completions(2),
			func(w *world) { w.edit("j", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) }) },
			func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobSuspended) && *s.Terminating == 0 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c.job.Obj())
			w.run()
			c.step(w)
			w.pass(5 * time.Second)
			w.wantStatus("j", c.want, "the end of it")
			w.wantHeld(0)
		})
	}
}

// The deadline comes without any event, at its instant (JOB-155, JOB-157).
func TestDeadlineNeedsNoEvent(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "late").ActiveDeadline(10).Obj())
	w.pass(9 * time.Second)
	w.wantStatus("late", func(s batchv1.JobStatus) bool { return len(s.Conditions) == 0 && s.Active == 1 }, "running")
	w.pass(time.Second)
	w.wantStatus("late", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobFailureTarget) }, "failing at the deadline")
	w.finishAll(corev1.PodFailed)
	w.pass(2 * time.Second)
	w.wantStatus("late", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobFailed) && s.Failed == 1 }, "failed")
	w.wantHeld(0)
}

// A failed pod is replaced after 10 s, and the Job fails when there are too many
// (JOB-120, JOB-122); pods keep existing without the finalizer.
func TestRetriesAndBackoffLimit(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "retry").BackoffLimit(1).Obj())
	w.run()
	w.finishAll(corev1.PodFailed)
	w.pass(9 * time.Second)
	if n := len(w.pods()); n != 1 {
		t.Fatalf("%d pods before the backoff is over", n)
	}
	w.pass(2 * time.Second)
	if n := len(w.pods()); n != 2 {
		t.Fatalf("%d pods after the backoff", n)
	}
	w.finishAll(corev1.PodFailed)
	w.pass(time.Minute)
	w.wantStatus("retry", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobFailureTarget) && condition(s, batchv1.JobFailed) && s.Failed == 2
	}, "failed after two")
	w.wantHeld(0)
	if n := len(w.pods()); n != 2 {
		t.Errorf("%d pods, want 2", n)
	}
}

// Ready is written, but only after a second, together with what else changed
// by then (JOB-268).
func TestReadyIsWrittenLazily(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "ready").Parallelism(3).Completions(3).Obj())
	w.run()
	w.resetCalls()
	for _, pod := range w.pods() {
		w.setReady(pod)
		w.pass(200 * time.Millisecond)
	}
	if n := w.writes(); n != 0 {
		t.Errorf("%d writes within a second: %v", n, w.calls)
	}
	w.pass(2 * time.Second)
	w.wantStatus("ready", func(s batchv1.JobStatus) bool { return s.Ready != nil && *s.Ready == 3 && s.Active == 3 }, "three ready pods")
	if n := w.writes(); n != 1 {
		t.Errorf("%d writes, want 1: %v", n, w.calls)
	}
}

// A Job of which two pods are to go loses exactly two, first the finalizer and
// then the pod, with the UID in both calls (JOB-013).
func TestScaleDownIsNotAFailure(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "down").WorkQueue().Parallelism(3).BackoffLimit(0).Obj())
	w.run()
	w.resetCalls()
	w.edit("down", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](1) })
	w.pass(time.Minute)
	w.wantStatus("down", func(s batchv1.JobStatus) bool {
		return s.Active == 1 && s.Failed == 0 && len(s.Conditions) == 0
	}, "one active pod and no failure")
	var verbs []string
	for _, c := range w.calls {
		if c.kind == "Pod" {
			verbs = append(verbs, c.verb)
		}
		if c.verb == "patch" && !strings.Contains(c.patch, `"uid":"uid-`) {
			t.Errorf("a patch without UID: %v", c)
		}
	}
	if w.count("patch", "Pod") != 2 || w.count("delete", "Pod") != 2 || verbs[0] != "patch" {
		t.Errorf("calls: %v", w.calls)
	}
}

// What is unknown is left alone, and said once per sync that sees it (JOB-019, JOB-021).
func TestUnknownCompletionMode(t *testing.T) {
	w := newWorld(t)
	j := make.Job(ns, "odd").Obj()
	j.Spec.CompletionMode = ptr.To(batchv1.CompletionMode("Foo"))
	w.add(j)
	w.pass(time.Hour)
	if n := w.writes(); n != 0 {
		t.Errorf("%d writes: %v", n, w.calls)
	}
	if diff := cmp.Diff([]string{"UnknownCompletionMode"}, w.said.reasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	must(t, w.syncJob("there-is-no-such-job"))
}

// A Job that is deleted and made again under its name starts at once and with
// nothing of its predecessor: no waiting creations, no backoff, no counts
// (JOB-108, JOB-109, Q-07, CP-12).
func TestRecreatedJobStartsAnew(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "again").UID("first").Obj())
	w.run()
	w.finishAll(corev1.PodFailed)
	w.run()
	w.blindPods = true
	w.pass(time.Minute) // the replacement is made and not seen
	must(t, w.api.Delete(context.Background(), w.job("again")))
	w.add(make.Job(ns, "again").UID("second").Obj())
	made := len(w.pods())
	w.run()
	if n := len(w.pods()) - made; n != 1 {
		t.Errorf("the second Job has %d pods, want 1 at once", n)
	}
	w.blindPods = false
	for _, pod := range w.pods() { // as the garbage collector does
		if metav1.GetControllerOf(&pod).UID == "first" {
			must(t, w.api.Delete(context.Background(), &pod))
		}
	}
	w.pass(time.Minute)
	w.wantStatus("again", func(s batchv1.JobStatus) bool { return s.Active == 1 && s.Failed == 0 }, "a fresh Job")
	if n := len(w.pods()); n != 1 {
		t.Errorf("%d pods, want only the one of the second Job", n)
	}
	for uid := range w.ctl.expectations.byJob {
		if uid != "second" {
			t.Errorf("expectations of %s are kept", uid)
		}
	}
}

func (w *world) setReady(pod corev1.Pod) {
	w.t.Helper()
	w.setPod(pod, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodRunning
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now())}}
	})
}

// Zero is the default, and less than that is a mistake that is told before anything runs.
func TestOptions(t *testing.T) {
	if o := (Options{}).withDefaults(); o.ConcurrentSyncs != DefaultConcurrentSyncs || o.Clock == nil || o.Gate == nil {
		t.Errorf("defaults %+v", o)
	}
	for _, wrong := range []Options{{ConcurrentSyncs: -1}, {Calls: -1}, {MaxPodChanges: -1}, {RetryMax: -1}} {
		if err := Add(nil, wrong); err == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
}
