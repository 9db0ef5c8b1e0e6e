// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// beside is another process on the same server, with caches of its own.
func (w *world) beside() *world {
	other := &world{t: w.t, clock: w.clock, api: w.api, faulty: w.faulty, opts: w.opts, said: w.said}
	other.restart()
	return other
}

// A process that still leads by mistake, and whose watch of Jobs stands still,
// learns from the first conflict that the Job is newer than it knows: it makes one
// pod too many at most, not one after the other (CP-20).
func TestAStuckLeaderMakesOnePodAtMost(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(1).Completions(2).BackoffLimit(9).Obj())
	old := w.beside()
	w.run()
	old.run()
	old.blindJobs = true
	for range 40 {
		w.finishAll(corev1.PodSucceeded)
		w.pass(time.Second)
		old.run()
		w.pass(2 * time.Second)
		old.run()
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobComplete) && s.Succeeded >= 2 && s.Failed == 0
	}, "complete")
	if n := len(w.pods()); n > 3 {
		t.Errorf("%d pods for 2 completions", n)
	}
	w.wantHeld(0)
}

// A pod that is known from the server alone, because the cache has yet to show it,
// is counted once: what was done to it is remembered until the cache has shown it
// (JOB-083, A2).
func TestAPodThatTheCacheNeverHad(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").WorkQueue().Parallelism(3).BackoffLimit(9).Obj())
	w.run()
	w.finish(w.pods()[0], corev1.PodFailed)
	stale := w.pods()[0]
	w.restart()
	seen := "1"
	w.ctl.progress = func() string { return seen }
	w.blindPods = true
	w.pass(5 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 1 }, "1 failure, counted from a live list")
	// Now the cache gets as far as the pod's end, but not as far as its release.
	for _, pod := range w.pods() {
		if pod.UID == stale.UID {
			pod = stale
		}
		must(t, w.caches.pods.Add(&pod))
		w.ctl.podChanged(nil, &pod, false, w.main)
	}
	seen = "1000000"
	for range 3 {
		_ = w.syncJob("j")
		w.pass(2 * time.Second)
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return s.Failed == 1 && len(s.UncountedTerminatedPods.Failed) == 0
	}, "still 1 failure")
	w.blindPods = false
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 1 && s.Active == 3 }, "1 failure in the end")
}

// What this process wrote is not forgotten when it asks for the Job, because there
// was a conflict: an index that is done is not done again (JOB-071, JOB-372).
func TestAskingForTheJobForgetsNoWrite(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Indexed(3).Parallelism(2).Obj())
	w.run()
	w.blindJobs = true
	w.finish(w.pods()[0], corev1.PodSucceeded)
	w.pass(10 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.CompletedIndexes == "0" }, "index 0 done")
	w.ctl.expectations.update(w.job("j").UID, func(e *jobExpectations) { e.otherWriter = true }) // as a conflict does
	for range 2 {
		must(t, w.syncJob("j"))
	}
	w.finishAll(corev1.PodSucceeded)
	w.pass(10 * time.Second)
	w.blindJobs = false
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobComplete) && s.CompletedIndexes == "0-2"
	}, "complete")
	if n := w.count("create", "Pod"); n != 3 {
		t.Errorf("%d pods made for 3 indexes", n)
	}
}

// What a live look found out about the Job is kept: no pod is made for a Job that
// is gone, however long the cache still shows it.
func TestNoPodForAJobThatIsGone(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.run()
	w.restart()
	w.ctl.jobProgress = func() string { return "0" }
	w.deliver()
	w.blindJobs = true
	must(t, w.api.Delete(context.Background(), w.job("j")))
	w.resetCalls()
	_ = w.syncJob("j")
	for _, pod := range w.pods() {
		w.vanish(pod)
	}
	for range 5 {
		_ = w.syncJob("j")
		w.pass(2 * time.Second)
	}
	if n := w.count("create", "Pod"); n != 0 {
		t.Errorf("%d pods were made", n)
	}
	if n := w.count("get", "Job"); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
}

// An orphan that has ended is adopted, counted and released in one sync. A cache
// that still shows the orphan does not get it adopted once more: the adoption
// names the version of the pod (JOB-039).
func TestAFinishedOrphanCountsOnce(t *testing.T) {
	w := newWorld(t)
	j := make.Job(ns, "j").Parallelism(1).Completions(3).Obj()
	pod := stray(j, "stray")
	pod.Status.Phase = corev1.PodSucceeded
	w.add(j, pod)
	w.deliver()
	w.blindPods = true
	for range 10 {
		_ = w.syncJob("j")
		w.pass(2 * time.Second)
	}
	w.blindPods = false
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return s.Succeeded == 1 && len(s.UncountedTerminatedPods.Succeeded) == 0 && s.Active == 1
	}, "1 success")
	w.wantHeld(1)
}

// An ended pod whose owner somebody takes away while its finalizer is being removed
// is counted once: it is not adopted again (JOB-039).
func TestOrphanedWhileItsFinalizerGoes(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(1).Completions(3).Obj())
	w.run()
	w.finishAll(corev1.PodSucceeded)
	w.clock.Step(time.Second)
	first := w.pods()[0].Name
	w.fault = on("patch", 1, func(call) error {
		pod := w.pods()[0]
		pod.OwnerReferences = nil
		must(t, w.api.Update(context.Background(), &pod))
		w.deliver() // the cache shows the orphan while it still has the finalizer
		return nil
	})
	w.deliver()
	must(t, w.syncJob("j"))
	w.pass(5 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Succeeded == 1 && s.Active == 1 }, "1 success")
	for _, pod := range w.pods() {
		if pod.Name == first && (job.HasFinalizer(&pod) || len(pod.OwnerReferences) > 0) {
			t.Errorf("adopted again: %+v", pod.ObjectMeta)
		}
	}
	for range 2 {
		w.finishAll(corev1.PodSucceeded)
		w.pass(5 * time.Second)
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) && s.Succeeded == 3 }, "complete")
	w.wantHeld(0)
}

// After a live look nothing is decided on an older view: a pod that was seen to have
// succeeded does not run again because the cache says so (JOB-372).
func TestNoWayBackToAnOlderView(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Indexed(3).Parallelism(2).Obj())
	w.run()
	progress := "1"
	w.ctl.progress = func() string { return progress }
	w.ctl.live = interceptor.NewClient(w.faulty, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		err := c.List(ctx, list, opts...)
		list.SetResourceVersion("500") // as an API server says; the fake does not
		return err
	}})
	w.blindPods = true
	w.finish(w.pods()[0], corev1.PodSucceeded)
	w.ctl.expectations.expectCreation(w.job("j").UID, "nobody-knows", expectedPod{sent: w.clock.Now().Add(-time.Minute)})
	must(t, w.syncJob("j"))
	if n := w.count("list", ""); n != 1 || len(w.pods()) != 3 {
		t.Fatalf("%d lists, %d pods: want one look, and then the pod of index 2", n, len(w.pods()))
	}
	for _, pod := range w.pods() { // the cache shows the new pod, but not yet the end of the first one
		if w.caches.pod(keyOf(&pod)) == nil {
			must(t, w.caches.pods.Add(&pod))
			w.ctl.podChanged(nil, &pod, false, w.main)
		}
	}
	for range 3 {
		w.pass(2 * time.Second)
		_ = w.syncJob("j")
	}
	if n := w.count("delete", "Pod"); n != 0 || len(w.pods()) != 3 {
		t.Errorf("%d pods, calls %v", len(w.pods()), w.calls)
	}
	w.blindPods, progress = false, "500"
	w.pass(10 * time.Second)
	w.resetCalls()
	_ = w.syncJob("j")
	if n := w.count("list", ""); n != 0 {
		t.Errorf("%d lists although the cache has caught up", n)
	}
}

// A Job in foreground deletion goes, also when somebody has relabelled one of its
// pods: it is not released any more, but it loses the finalizer (A6, CP-14).
func TestARelabelledPodDoesNotHoldADeletedJob(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(2).Completions(2).Finalizer(metav1.FinalizerDeleteDependents).Obj())
	w.run()
	w.blindPods = true
	must(t, w.api.Delete(context.Background(), w.job("j")))
	pod := w.pods()[0]
	pod.Labels = nil
	must(t, w.api.Update(context.Background(), &pod))
	w.blindPods = false
	w.pass(10 * time.Second)
	w.wantHeld(0)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 0 && s.Succeeded == 0 }, "nothing counted")
	if n := w.count("patch", "Pod"); n != 2 {
		t.Errorf("%d patches, want one per pod: %v", n, w.calls)
	}
}
