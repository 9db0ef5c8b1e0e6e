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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// quota refuses pods while there are as many as it allows, in the words of the API server.
func (w *world) quota(limit int) func(call) error {
	return on("create", 0, func(c call) error {
		used := 0
		for _, pod := range w.pods() {
			if !job.PodFinished(&pod) {
				used++
			}
		}
		if used < limit {
			return nil
		}
		return apierrors.NewForbidden(podsResource, c.name,
			fmt.Errorf("exceeded quota: small, requested: pods=1, used: pods=%d, limited: pods=%d", used, limit))
	})
}

// While a quota is full everything but making pods goes on: what ends is counted
// and let go, a suspension and a deletion are carried out. The user hears of it in
// one event that names the quota and the cure, the tries get rare, and once there
// is room the Job goes on by itself (A9, JOB-140, JOB-141).
func TestFullQuota(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.FanOut = 1 })
	w.add(make.Job(ns, "j").Parallelism(6).Completions(12).Obj(), make.Job(ns, "calm").Obj())
	w.run()
	w.fault = w.quota(4)
	for range 3 { // three of the six at once, then what there is
		for _, pod := range w.pods()[:3] {
			if !job.PodFinished(&pod) && metav1.GetControllerOf(&pod).Name == "j" {
				w.finish(pod, corev1.PodSucceeded)
			}
		}
		w.pass(time.Second)
	}
	done := 0
	for _, pod := range w.pods() {
		if job.PodFinished(&pod) {
			done++
			if job.HasFinalizer(&pod) {
				t.Errorf("pod %s is not counted while the quota is full", pod.Name)
			}
		}
	}
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return int(s.Succeeded) == done && done > 0 }, "all that ended counted")
	w.resetCalls()
	w.pass(time.Hour)
	if n := w.count("create", "Pod"); n > 70 {
		t.Errorf("%d tries in an hour of full quota, want one a minute", n)
	}
	if n := len(w.main.fails); n != 0 {
		t.Errorf("a full quota counts as an error of ours: %v", w.main.fails)
	}
	messages := map[string]bool{}
	for _, n := range w.said.notes {
		if n.Reason == "FailedCreate" {
			messages[n.Message] = true
		}
	}
	want := "Error creating: exceeded quota: small, requested: pods=1, limited: pods=4; raise the quota small or delete what counts for it, the Job then goes on by itself"
	if d := cmp.Diff(map[string]bool{want: true}, messages); d != "" {
		t.Errorf("what the user is told (-want +got):\n%s", d)
	}

	w.edit("j", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) })
	w.pass(2 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobSuspended) && s.Active == 0 }, "suspended")
	w.edit("j", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) })
	w.fault = nil
	for range 10 {
		w.pass(30 * time.Second)
		w.finishAll(corev1.PodSucceeded)
	}
	w.pass(time.Minute)
	w.wantStatus("j", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobComplete) && s.Succeeded == 12 && s.Failed == 0
	}, "complete")
	w.wantHeld(0)
}

// What the server does not want of a pod is the user's business; what it cannot do,
// or what we may not do, is an error to be logged and counted (2.11).
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"quota":          {apierrors.NewForbidden(podsResource, "p", errors.New("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")), true},
		"pod security":   {apierrors.NewForbidden(podsResource, "p", errors.New(`violates PodSecurity "restricted:latest"`)), true},
		"webhook":        {apierrors.NewForbidden(podsResource, "p", errors.New(`admission webhook "x" denied the request`)), true},
		"invalid":        {apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil), true},
		"bad request":    {apierrors.NewBadRequest("no priority class with name x was found"), true},
		"missing rights": {apierrors.NewForbidden(podsResource, "p", errors.New(`User "x" cannot create resource "pods" in API group "" in the namespace "work"`)), false},
		"webhook down":   {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"no answer":      {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(make.Job(ns, "j").Obj())
			w.fault = on("create", 0, func(call) error { return c.err })
			w.run()
			if logged := len(w.main.fails) > 0; logged == c.want {
				t.Errorf("an error of ours: %t, want %t", logged, !c.want)
			}
			if d := cmp.Diff([]string{"FailedCreate"}, w.said.reasons()); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			w.fault = nil
			w.pass(20 * time.Second)
			w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Active == 1 }, "1 active")
		})
	}
}

// A namespace that is going away takes no pod, and never will again: each Job asks
// once. The pods that it still has are counted, freed, and leave no residue
// (JOB-142, Q-02, A6).
func TestNamespaceEnds(t *testing.T) {
	w := newWorld(t)
	const jobs = 4
	for i := range jobs {
		w.add(make.Job(ns, fmt.Sprintf("j%d", i)).Parallelism(3).Completions(9).Obj())
	}
	w.run()
	w.resetCalls()
	w.said.notes = nil
	w.fault = on("create", 0, func(c call) error {
		err := apierrors.NewForbidden(podsResource, c.name, errors.New("because it is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return err
	})
	for _, pod := range w.pods() { // the namespace controller deletes everything
		must(t, w.api.Delete(context.Background(), &pod))
	}
	for range 10 {
		w.pass(30 * time.Second)
		if pods := w.pods(); len(pods) > 0 && !job.PodFinished(&pods[0]) { // they end slowly
			w.finish(pods[0], corev1.PodFailed)
		}
	}
	if n := w.count("create", "Pod"); n > 4*jobs {
		t.Errorf("%d pods were asked for by %d Jobs of 3", n, jobs)
	}
	if n := len(w.main.fails); n > 0 || len(w.said.notes) > 0 {
		t.Errorf("errors %v, events %v", w.main.fails, w.said.reasons())
	}
	for i := range jobs {
		must(t, w.api.Delete(context.Background(), w.job(fmt.Sprintf("j%d", i))))
	}
	w.pass(time.Minute)
	w.wantHeld(0)
	if w.next() != (time.Time{}) {
		t.Errorf("something is due at %v", w.next())
	}
}

// One pod that cannot be deleted, or released, holds up neither the others of its
// Job nor any other Job (A8, guarantee 6).
func TestOneBrokenPodHoldsUpNothing(t *testing.T) {
	for name, c := range map[string]struct {
		verb string
		step func(w *world)
		want func(s batchv1.JobStatus) bool // of the Job with the broken pod
	}{
		"delete": {"delete", func(w *world) { w.edit("j", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) }) },
			func(s batchv1.JobStatus) bool { return s.Active == 1 && condition(s, batchv1.JobSuspended) }},
		"evict": {"patch", func(w *world) { w.edit("j", func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) }) },
			func(s batchv1.JobStatus) bool { return s.Active == 1 && condition(s, batchv1.JobSuspended) }},
		"release": {"patch", func(w *world) {
			for _, pod := range w.pods() {
				if metav1.GetControllerOf(&pod).Name == "j" {
					w.finish(pod, corev1.PodFailed)
				}
			}
		},
			func(s batchv1.JobStatus) bool { return s.Failed == 3 && len(s.UncountedTerminatedPods.Failed) == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(make.Job(ns, "j").Parallelism(4).Completions(9).Obj(), make.Job(ns, "calm").Completions(3).Obj())
			w.run()
			broken := ""
			for _, pod := range w.pods() {
				if metav1.GetControllerOf(&pod).Name == "j" {
					broken = pod.Name
				}
			}
			w.fault = func(call call) error {
				if call.verb == c.verb && call.name == broken {
					return internalError(call)
				}
				return nil
			}
			c.step(w)
			w.pass(3 * time.Second)
			w.wantStatus("j", c.want, "everything done but the broken pod")
			for range 3 {
				for _, pod := range w.pods() {
					if metav1.GetControllerOf(&pod).Name == "calm" && !job.PodFinished(&pod) {
						w.finish(pod, corev1.PodSucceeded)
					}
				}
				w.pass(time.Second)
			}
			w.wantStatus("calm", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) }, "the other Job complete")
			w.resetCalls()
			w.pass(time.Hour)
			if n := w.writes(); n > 130 {
				t.Errorf("%d writes in an hour for one broken pod", n)
			}
		})
	}
}

// A Job whose calls hang holds the calls that it may make at once, and nobody else's.
func TestHangingCallsHoldUpNothing(t *testing.T) { synctest.Test(t, hangingCallsHoldUpNothing) }

func hangingCallsHoldUpNothing(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.FanOut, o.Calls = 4, 6 })
	w.add(make.Job(ns, "hangs").Parallelism(40).Completions(40).Obj())
	for i := range 5 {
		w.add(make.Job(ns, fmt.Sprintf("calm-%d", i)).Parallelism(2).Completions(2).Obj())
	}
	w.deliver()
	ctx, end := context.WithCancel(t.Context())
	w.ctl.expectations.carry(w.job("hangs").UID).batch = maxBatch
	w.fault = func(c call) error {
		if strings.HasPrefix(c.name, "hangs-") {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	sync := func(ctx context.Context, name string) error {
		_, err := w.ctl.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}})
		return err
	}
	go func() { _ = sync(ctx, "hangs") }()
	synctest.Wait()
	for i := range 5 {
		must(t, sync(t.Context(), fmt.Sprintf("calm-%d", i)))
	}
	made := map[string]int{}
	for _, pod := range w.pods() {
		made[metav1.GetControllerOf(&pod).Name]++
	}
	if d := cmp.Diff(map[string]int{"calm-0": 2, "calm-1": 2, "calm-2": 2, "calm-3": 2, "calm-4": 2}, made); d != "" {
		t.Errorf("pods made beside the one that hangs (-want +got):\n%s", d)
	}
	end()
	synctest.Wait()
}

// A Job whose status breaks the rules of the server in whatever we would write is
// told of once, counted each time, looked at once a minute, and not written. No
// other Job notices (section 9, Q-18, INV-04).
func TestUnwritableJobStandsAlone(t *testing.T) {
	w := newWorld(t)
	odd := make.Job(ns, "odd").Started(start).
		Condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, "ByHand", start).
		Condition(batchv1.JobFailureTarget, corev1.ConditionTrue, "ByHand", start).Obj()
	w.add(odd, make.Job(ns, "calm").Obj())
	before := testutil.ToFloat64(statusRejected.WithLabelValues("check"))
	w.pass(10 * time.Minute)
	if n := w.count("status", "Job"); n != 1 {
		t.Errorf("%d status writes, want the one of the other Job: %v", n, w.calls)
	}
	if n := testutil.ToFloat64(statusRejected.WithLabelValues("check")) - before; n < 10 || n > 12 {
		t.Errorf("rejected %v times in ten minutes, want one a minute", n)
	}
	if d := cmp.Diff([]string{"InvalidStatus", "SuccessfulCreate"}, slices.Sorted(slices.Values(w.said.reasons()))); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	for _, n := range w.said.notes {
		if n.Reason == "InvalidStatus" && (n.About.Name != "odd" || n.Type != corev1.EventTypeWarning || !strings.Contains(n.Message, "INV-04")) {
			t.Errorf("told: %+v", n)
		}
	}
	w.finishAll(corev1.PodSucceeded)
	w.pass(time.Minute)
	w.wantStatus("calm", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) }, "complete")
}

// What users edit by hand, and what other tools leave, is answered by an event that
// says what is wrong with which pod, or with the Job; nothing is made up for it, the
// Job goes on if it can, and no other Job notices (JOB-019, JOB-205, JOB-245).
func TestGarbageIsTold(t *testing.T) {
	annotate := func(key, value string) func(w *world) {
		return func(w *world) {
			for _, pod := range w.pods() {
				if metav1.GetControllerOf(&pod).Name == "odd" {
					pod.Annotations[key] = value
					must(t, w.api.Update(context.Background(), &pod))
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		job    *batchv1.Job
		step   func(w *world)
		reason string
		says   []string
		ends   bool
	}{
		"an index that is none": {make.Job(ns, "odd").Indexed(2).Parallelism(2).Obj(), annotate(batchv1.JobCompletionIndexAnnotation, "first"),
			"InvalidCompletionIndex", []string{"odd-", batchv1.JobCompletionIndexAnnotation, `"first"`}, true},
		"an index on a pod that ended": {make.Job(ns, "odd").Indexed(2).Parallelism(2).Obj(), func(w *world) {
			w.blindPods = true
			annotate(batchv1.JobCompletionIndexAnnotation, "-3")(w)
			w.finishAll(corev1.PodSucceeded)
			w.blindPods = false
		}, "InvalidCompletionIndex", []string{"odd-", `"-3"`}, true},
		"a failure count that is none": {make.Job(ns, "odd").Indexed(1).BackoffLimitPerIndex(3).Obj(), func(w *world) {
			annotate(batchv1.JobIndexFailureCountAnnotation, "many")(w)
			w.finishAll(corev1.PodFailed)
			w.pass(time.Minute)
		}, "InvalidFailureCount", []string{"odd-", batchv1.JobIndexFailureCountAnnotation, `"many"`}, true},
		"an unknown completion mode": {func() *batchv1.Job {
			j := make.Job(ns, "odd").Obj()
			j.Spec.CompletionMode = ptr.To(batchv1.CompletionMode("Sorted"))
			return j
		}(), func(*world) {}, "UnknownCompletionMode", []string{"completion mode"}, false},
		"Indexed, and nobody says how many": {func() *batchv1.Job {
			j := make.Job(ns, "odd").Indexed(1).Obj()
			j.Spec.Completions = nil
			return j
		}(), func(*world) {}, "MissingCompletions", []string{"spec.completions"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c.job, make.Job(ns, "calm").Obj())
			w.run()
			c.step(w)
			w.pass(time.Second)
			for range 3 {
				w.finishAll(corev1.PodSucceeded)
				w.pass(time.Minute)
			}
			told := 0
			for _, n := range w.said.notes {
				if n.Reason != c.reason {
					continue
				}
				told++
				for _, words := range c.says {
					if n.About.Name != "odd" || n.Type != corev1.EventTypeWarning || !strings.Contains(n.Message, words) {
						t.Errorf("it says of %s: %s %q, want it to say %s", n.About.Name, n.Type, n.Message, words)
					}
				}
			}
			if told != 1 {
				t.Errorf("told %d times: %v", told, w.said.reasons())
			}
			w.wantStatus("calm", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) }, "the other Job complete")
			w.wantStatus("odd", func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobComplete) == c.ends && !condition(s, batchv1.JobFailed)
			}, "what is possible")
			if len(w.main.fails) > 0 {
				t.Errorf("errors: %v", w.main.fails)
			}
			w.wantHeld(0)
		})
	}
}
