// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// The finalizer of a pod goes when, and only when, it serves nobody (JOB-100).
func TestOrphanWorker(t *testing.T) {
	running, finished := make.Job(ns, "running").Obj(), make.Job(ns, "finished").Started(start).Complete(start).Obj()
	missing := make.Job(ns, "missing").Obj()
	foreign := make.Job(ns, "foreign").ManagedBy("acme.io/jobs").Obj()
	foreignDone := make.Job(ns, "foreign-done").ManagedBy("acme.io/jobs").Started(start).Complete(start).Obj()
	recreated := controllerRef("Job", "batch/v1", "running") // another UID
	plain := metav1.OwnerReference{Kind: "Job", APIVersion: "batch/v1", Name: "running", UID: running.UID}
	bare := func() make.PodBuilder { return make.Pod(ns, "p").Orphan().NoFinalizers().Finalizer(job.Finalizer) }
	matching := bare().Obj()
	matching.Labels = running.Spec.Template.Labels
	foreignMatch := bare().Obj()
	foreignMatch.Labels = foreign.Spec.Template.Labels
	doneMatch := bare().Obj()
	doneMatch.Labels = finished.Spec.Template.Labels
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		keep bool
	}{
		"controlled by a running Job":                     {make.Pod(ns, "p").Of(running).Obj(), true},
		"controlled by a finished Job":                    {make.Pod(ns, "p").Of(finished).Obj(), false},
		"controlled by a missing Job":                     {make.Pod(ns, "p").Of(missing).Obj(), false},
		"controlled by a Job with another UID":            {bare().Owner(recreated).Obj(), false},
		"controlled by a CronJob":                         {bare().Owner(controllerRef("CronJob", "batch/v1", "running")).Obj(), true},
		"controlled by a Job of another group":            {bare().Owner(controllerRef("Job", "batch.volcano.sh/v1alpha1", "running")).Obj(), true},
		"controlled by somebody else's Job":               {make.Pod(ns, "p").Of(foreign).Obj(), true},
		"controlled by somebody else's finished Job":      {make.Pod(ns, "p").Of(foreignDone).Obj(), true},
		"not controlled":                                  {bare().Obj(), false},
		"owned but not controlled":                        {bare().Owner(plain).Obj(), false},
		"not controlled, about to be adopted":             {matching, true},
		"not controlled, selected by somebody else's Job": {foreignMatch, true},
		"not controlled, selected by a finished Job":      {doneMatch, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(running.DeepCopy(), finished.DeepCopy(), foreign.DeepCopy(), foreignDone.DeepCopy(), c.pod.DeepCopy())
			w.deliver()
			request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "p"}}
			if err := w.sync(w.orphans, request, w.ctl.reconcileOrphan); err != nil {
				t.Fatal(err)
			}
			if pod := w.pods()[0]; job.HasFinalizer(&pod) != c.keep {
				t.Errorf("finalizers are %v", pod.Finalizers)
			}
			// No event of these pods asks for more than that.
			w.resetCalls()
			if c.keep {
				w.drain(w.orphans, w.ctl.reconcileOrphan)
				if n := w.writes(); n != 0 {
					t.Errorf("calls %v", w.calls)
				}
			}
		})
	}
}

// A Job that vanishes leaves pods without finalizers, also when one removal
// fails at first: that pod is tried again, by name (JOB-111, Q-10, CP-12).
func TestDeletedJobFreesItsPods(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(3).Completions(3).Obj())
	w.run()
	w.wantHeld(3)
	w.fault = on("patch", 2, internalError)
	must(t, w.api.Delete(context.Background(), w.job("j")))
	w.run()
	w.wantHeld(2)
	w.pass(10 * time.Second)
	w.wantHeld(0)
	if n := w.count("get", "Job"); n != 0 {
		t.Errorf("%d reads of a Job whose deletion was seen", n)
	}
	if len(w.ctl.expectations.byJob) != 0 {
		t.Error("expectations of the Job are kept")
	}
}

// However a Job is deleted, running or with pods that end or go at the same time,
// none of its pods keeps the finalizer: with the garbage collector taking the pods
// after it (background), before it (foreground), or only its name off them (orphan);
// while the controller watches, is slow, or is away (JOB-102 to JOB-105, A6, CP-12,
// CP-13, CP-14).
func TestDeletedJobLeavesNoFinalizer(t *testing.T) {
	background := func(w *world) {
		must(t, w.api.Delete(context.Background(), w.job("j")))
		for _, pod := range w.pods() {
			must(t, w.api.Delete(context.Background(), &pod))
		}
	}
	orphan := func(w *world) {
		must(t, w.api.Delete(context.Background(), w.job("j")))
		for _, pod := range w.pods() {
			pod.OwnerReferences = nil
			must(t, w.api.Update(context.Background(), &pod))
		}
	}
	foreground := func(w *world) {
		w.edit("j", func(j *batchv1.Job) { j.Finalizers = []string{metav1.FinalizerDeleteDependents} })
		must(t, w.api.Delete(context.Background(), w.job("j")))
		for _, pod := range w.pods() {
			must(t, w.api.Delete(context.Background(), &pod))
		}
	}
	podsFirst := func(w *world) {
		for _, pod := range w.pods() {
			must(t, w.api.Delete(context.Background(), &pod))
		}
		w.deliver()
		must(t, w.api.Delete(context.Background(), w.job("j")))
	}
	for name, remove := range map[string]func(*world){
		"CP-12 background": background, "CP-13 orphan": orphan, "CP-14 foreground": foreground, "pods first": podsFirst,
	} {
		for when, act := range map[string]func(w *world, remove func()){
			"watched": func(_ *world, remove func()) { remove() },
			"slow":    func(w *world, remove func()) { w.blindJobs = true; remove(); w.run(); w.blindJobs = false },
			"away":    func(w *world, remove func()) { remove(); w.restart() },
			"another manager's": func(w *world, remove func()) {
				w.restart()
				w.ctl.options.Standalone = false
				w.deliver()
				remove()
			},
		} {
			t.Run(name+", "+when, func(t *testing.T) {
				w := newWorld(t)
				w.add(make.Job(ns, "j").Parallelism(3).Completions(5).Obj())
				w.run()
				w.finish(w.pods()[0], corev1.PodSucceeded)
				if strings.HasSuffix(name, "foreground") && when == "another manager's" {
					t.Skip("a Job that still exists is its manager's business")
				}
				act(w, func() { remove(w) })
				w.pass(time.Minute)
				w.wantHeld(0)
			})
		}
	}
}

// Pods of a Job that was deleted while nobody watched: those that the garbage
// collector deletes, and those that it orphaned (JOB-103, CP-12, CP-13). Until
// the Job is known to be gone nothing is touched.
func TestPodsOfAJobThatWentUnseen(t *testing.T) {
	w := newWorld(t)
	j := make.Job(ns, "j").Parallelism(2).Completions(2).Obj()
	w.add(j)
	w.run()
	w.restart()
	w.blindJobs = true // the pods come first
	must(t, w.api.Delete(context.Background(), &w.pods()[0]))
	w.run()
	w.wantHeld(2)
	must(t, w.api.Delete(context.Background(), w.job("j")))
	orphan := w.pods()[1]
	orphan.OwnerReferences, orphan.Labels = nil, nil
	must(t, w.api.Update(context.Background(), &orphan))
	w.resetCalls()
	w.pass(10 * time.Second)
	w.wantHeld(0)
	if n := w.count("get", "Job"); n != 1 {
		t.Errorf("%d reads of the Job, want 1", n)
	}
}

// A pod that is adopted while its finalizer is about to be removed keeps it:
// the removal names the version that was seen.
func TestAdoptionBeatsTheOrphanWorker(t *testing.T) {
	w := newWorld(t)
	w.add(make.Pod(ns, "p").Orphan().NoFinalizers().Finalizer(job.Finalizer).Obj())
	w.deliver()
	changed := w.pods()[0]
	changed.Annotations = map[string]string{"changed": "meanwhile"}
	must(t, w.api.Update(context.Background(), &changed))
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "p"}}
	w.orphans.take(request)
	must(t, w.sync(w.orphans, request, w.ctl.reconcileOrphan))
	w.wantHeld(1)
	w.pass(2 * time.Second)
	w.wantHeld(0)
}

// A finished Job frees pods that were left behind, when it ends and when a new
// process finds it (JOB-101, JOB-112, CP-15), in portions.
func TestFinishedJobFreesItsPods(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxUncounted = 2 })
	done := make.Job(ns, "done").Indexed(5).Started(start).Complete(start).CompletedIndexes("0-4").Counts(0, 5, 0).Obj()
	w.add(done)
	for i := range 5 {
		w.add(make.Pod(ns, string(rune('a'+i))).Of(done).Index(i).Succeeded(start).Obj())
	}
	w.fault = on("patch", 1, func(c call) error { return apierrors.NewInternalError(context.DeadlineExceeded) })
	w.pass(10 * time.Second)
	w.wantHeld(0)
	if n := w.count("patch", "Pod"); n != 6 {
		t.Errorf("%d patches, want 5 and one that failed", n)
	}
	if n := w.count("status", "Job"); n != 0 {
		t.Errorf("%d status writes of a finished Job", n)
	}
	// An edit that puts it back is undone.
	pod := w.pods()[0]
	pod.Finalizers = []string{job.Finalizer}
	must(t, w.api.Update(context.Background(), &pod))
	w.pass(time.Second)
	w.wantHeld(0)
}

// A Job that is being deleted gives its pods free without counting those that
// run (JOB-106, CP-14).
func TestForegroundDeletion(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(3).Completions(3).Finalizer("foregroundDeletion").Obj())
	w.run()
	w.finish(w.pods()[0], corev1.PodSucceeded)
	w.clock.Step(time.Second)
	must(t, w.api.Delete(context.Background(), w.job("j")))
	made := w.count("create", "Pod")
	w.pass(5 * time.Second)
	w.wantHeld(0)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Succeeded == 1 && s.Failed == 0 && s.Active == 2 }, "1 success, nothing failed")
	if n := w.count("create", "Pod"); n != made || w.count("delete", "Pod") != 0 {
		t.Errorf("calls %v", w.calls)
	}
}
