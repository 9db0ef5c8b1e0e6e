// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// The life of a Job as users and their tools drive it: created suspended, its
// labels patched, resumed and annotated by an update, found by label, complete,
// and deleted with all others (JOB-351).
func TestLifecycle(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.add(make.Job(ns, "j").Label("team", "a").Parallelism(2).Completions(2).Suspend(true).Obj(), make.Job(ns, "other").Obj())
	w.pass(time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobSuspended) && s.Active == 0 && s.StartTime == nil
	}, "suspended")

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"b"}}}`))
	must(t, w.api.Patch(ctx, w.job("j"), patch))
	w.edit("j", func(j *batchv1.Job) {
		j.Spec.Suspend = ptr.To(false)
		j.Annotations = map[string]string{"resumed": "by hand"}
	})
	w.pass(time.Second)
	var found batchv1.JobList
	must(t, w.api.List(ctx, &found, client.MatchingLabels{"team": "b"}))
	if len(found.Items) != 1 || found.Items[0].Annotations["resumed"] != "by hand" || found.Items[0].Status.Active != 2 {
		t.Fatalf("found by label: %+v", found.Items)
	}
	w.finishAll(corev1.PodSucceeded)
	w.pass(10 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobComplete) && s.Succeeded == 2 && s.StartTime != nil
	}, "complete")

	must(t, w.api.DeleteAllOf(ctx, &batchv1.Job{}, client.InNamespace(ns)))
	w.pass(10 * time.Second)
	w.wantHeld(0)
	if len(w.ctl.expectations.byJob) > 0 || w.next() != (time.Time{}) {
		t.Errorf("something is left: expectations %v, due at %v", w.ctl.expectations.byJob, w.next())
	}
}

// A condition and an annotation that somebody writes together with a status of
// his own, by patch and by update, stay through all that the controller writes
// (JOB-350).
func TestStatusOfOthersStays(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.run()
	mine := batchv1.JobCondition{Type: "acme.io/Checked", Status: corev1.ConditionTrue, Reason: "ByHand", LastTransitionTime: metav1.NewTime(start)}
	j := w.job("j")
	before := j.DeepCopy()
	j.Status.Conditions = append(j.Status.Conditions, mine)
	must(t, w.api.Status().Patch(ctx, j, client.MergeFrom(before)))
	w.pass(time.Second)
	j = w.job("j")
	mine.Type = "acme.io/Approved"
	j.Status.Conditions = append(j.Status.Conditions, mine)
	must(t, w.api.Status().Update(ctx, j))
	j = w.job("j")
	j.Annotations = map[string]string{"acme.io/by": "hand"}
	must(t, w.api.Update(ctx, j))
	w.finishAll(corev1.PodSucceeded)
	w.pass(10 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return condition(s, "acme.io/Checked") && condition(s, "acme.io/Approved") && condition(s, batchv1.JobComplete)
	}, "complete, with the conditions of others")
	if a := w.job("j").Annotations; a["acme.io/by"] != "hand" {
		t.Errorf("annotations %v", a)
	}
}

// Events: one for each pod made, one for the end, and a failure with its reason
// (JOB-373).
func TestEventsOfALife(t *testing.T) {
	for name, c := range map[string]struct {
		job  make.JobBuilder
		play func(w *world)
		want []string
	}{
		"two successes": {make.Job(ns, "j").Parallelism(1).Completions(2), func(w *world) {
			w.finishAll(corev1.PodSucceeded)
			w.pass(time.Second)
			w.finishAll(corev1.PodSucceeded)
		}, []string{"Normal SuccessfulCreate", "Normal SuccessfulCreate", "Normal Completed"}},
		"too many failures": {make.Job(ns, "j").BackoffLimit(1), func(w *world) {
			w.finishAll(corev1.PodFailed)
			w.pass(time.Minute)
			w.finishAll(corev1.PodFailed)
		}, []string{"Normal SuccessfulCreate", "Normal SuccessfulCreate", "Warning BackoffLimitExceeded"}},
		"a policy": {make.Job(ns, "j").FailurePolicy(batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}}), func(w *world) {
			w.finishAll(corev1.PodFailed)
		}, []string{"Normal SuccessfulCreate", "Warning PodFailurePolicy"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c.job.Obj())
			w.run()
			c.play(w)
			w.pass(time.Hour)
			w.restart() // another process has nothing to add
			w.pass(time.Hour)
			var got []string
			for _, n := range w.said.notes {
				got = append(got, n.Type+" "+n.Reason)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
		})
	}
}

// An error of the API counts as one retry of this Job, with a delay that doubles;
// a success forgets them (JOB-071, JOB-371).
func TestRetriesAreForgotten(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj(), make.Job(ns, "calm").Obj())
	w.deliver()
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "j"}}
	w.fault = func(c call) error {
		if c.name == "j" || strings.HasPrefix(c.name, "j-") {
			return internalError(c)
		}
		return nil
	}
	for n, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		w.run()
		if got := w.main.NumRequeues(request); got != n+1 {
			t.Fatalf("%d retries counted, want %d", got, n+1)
		}
		if due := w.main.at[request].Sub(w.clock.Now()); due != wait {
			t.Fatalf("retry %d comes after %s, want %s", n+1, due, wait)
		}
		w.clock.Step(wait)
	}
	if n := len(w.main.fails); n != 1 {
		t.Errorf("%d Jobs are delayed, want only the one that fails", n)
	}
	w.fault = nil
	w.run()
	if n := len(w.main.fails); n != 0 {
		t.Errorf("%d retries are remembered after the success", n)
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 1 }, "1 active")
}

// What an event is worth (JOB-370): a change of the spec is answered at once;
// what the pods do, and a status that others write, once per window.
func TestWhenAnEventIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		window bool
	}{
		"spec":             {func(w *world) { w.edit("j", func(j *batchv1.Job) { j.Spec.BackoffLimit = ptr.To[int32](9) }) }, false},
		"a pod's end":      {func(w *world) { w.finish(w.pods()[0], corev1.PodSucceeded) }, true},
		"status by others": {func(w *world) { w.writeStatus("j") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(make.Job(ns, "j").Parallelism(2).Completions(4).Obj())
			w.run()
			must(t, w.syncJob("j")) // the window begins
			_, pods := w.ctl.expectations.lastSync(w.job("j").UID)
			window := w.ctl.options.syncWindow(pods)
			c.change(w)
			w.deliver()
			request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "j"}}
			due, waits := w.main.at[request]
			if !waits {
				t.Fatal("no sync is due")
			}
			want := time.Duration(0)
			if c.window {
				want = window
			}
			if got := due.Sub(w.clock.Now()); got != want {
				t.Errorf("answered after %s, want %s", got, want)
			}
		})
	}
}

// writeStatus adds a condition to the status, as another tool does.
func (w *world) writeStatus(name string) {
	w.t.Helper()
	j := w.job(name)
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: "acme.io/Checked", Status: corev1.ConditionTrue})
	must(w.t, w.api.Status().Update(context.Background(), j))
}

// A user's patch of the Job at the moment of a status write costs that write and
// nothing else: pods that were just created or deleted are not made or deleted
// again, though the cache shows none of it (JOB-071, JOB-354, CP-18).
func TestConflictAfterPodsWereMade(t *testing.T) {
	for name, c := range map[string]struct {
		job     make.JobBuilder
		prepare func(w *world)
		verb    string
		n       int
		active  int32
	}{
		"created": {make.Job(ns, "j").Parallelism(3).Completions(9), func(*world) {}, "create", 3, 3},
		"deleted": {make.Job(ns, "j").Parallelism(2).Completions(9), func(w *world) {
			w.run()
			w.edit("j", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) })
		}, "delete", 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c.job.Obj())
			c.prepare(w)
			w.deliver()
			w.resetCalls()
			w.blindPods = true
			w.fault = on("status", 1, func(c call) error {
				w.edit("j", func(j *batchv1.Job) { j.Spec.BackoffLimit = ptr.To[int32](9) })
				return nil
			})
			if err := w.syncJob("j"); !apierrors.IsConflict(errors.Unwrap(unjoin(err))) {
				t.Fatalf("got %v, want a conflict", err)
			}
			w.pass(5 * time.Second)
			w.blindPods = false
			w.pass(5 * time.Second)
			if n := w.count(c.verb, "Pod"); n != c.n {
				t.Errorf("%d pods %sd, want %d: %v", n, c.verb, c.n, w.calls)
			}
			w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == c.active && s.Failed == 0 }, "what the user wants")
		})
	}
}

// Every write to a pod names its UID, and the one that throws a pod away its
// version too. So a pod that took over the name of the one that is meant keeps all
// it has.
func TestNamesakesAreNotTouched(t *testing.T) {
	for name, c := range map[string]struct {
		job  make.JobBuilder
		step func(w *world) // after the pods are there
	}{
		"finalizer of a pod that ended": {make.Job(ns, "j").Parallelism(2).Completions(3), func(w *world) { w.finishAll(corev1.PodSucceeded) }},
		"scaled down":                   {make.Job(ns, "j").Parallelism(2).Completions(3), func(w *world) { w.edit("j", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](0) }) }},
		"stopped at the end": {make.Job(ns, "j").Parallelism(2).Completions(3).BackoffLimit(0), func(w *world) {
			w.finish(w.pods()[0], corev1.PodFailed)
		}},
		"released": {make.Job(ns, "j").Parallelism(2).Completions(3), func(w *world) {
			for _, pod := range w.pods() {
				pod.Labels = nil
				must(t, w.api.Update(context.Background(), &pod))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c.job.Obj())
			w.run()
			c.step(w)
			w.clock.Step(time.Minute)
			w.deliver()
			w.blindPods = true
			var names []string
			for _, pod := range w.pods() { // they vanish, and others take their names
				names = append(names, pod.Name)
				w.vanish(pod)
				w.add(make.Pod(ns, pod.Name).Orphan().NoFinalizers().Finalizer("x/y").Obj())
			}
			w.resetCalls()
			for range 3 {
				_ = w.syncJob("j")
				w.clock.Step(time.Second)
			}
			for _, pod := range w.pods() {
				if slices.Contains(names, pod.Name) && (pod.DeletionTimestamp != nil || fmt.Sprint(pod.Finalizers) != "[x/y]" || len(pod.OwnerReferences) > 0) {
					t.Errorf("pod %s was touched: %+v", pod.Name, pod.ObjectMeta)
				}
			}
			for _, call := range w.calls {
				if call.verb == "patch" && !strings.Contains(call.patch, `"uid":"uid-`) {
					t.Errorf("a patch without the UID of a pod: %v", call)
				}
			}
		})
	}
}

// vanish removes a pod whatever holds it.
func (w *world) vanish(pod corev1.Pod) {
	w.t.Helper()
	pod.Finalizers = nil
	must(w.t, w.api.Update(context.Background(), &pod))
	must(w.t, client.IgnoreNotFound(w.api.Delete(context.Background(), &pod)))
}
