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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// stray is a pod that has the Job's labels and no controller.
func stray(j *batchv1.Job, name string) *corev1.Pod {
	pod := make.Pod(ns, name).Of(j).Orphan().NoFinalizers().Obj()
	pod.Labels = j.Spec.Template.Labels
	return pod
}

// Pods without a controller that the selector matches are adopted, after one
// look at the live Job, and count from then on (JOB-039, JOB-044).
func TestAdoption(t *testing.T) {
	w := newWorld(t)
	j := make.Job(ns, "j").Parallelism(3).Completions(3).Obj()
	w.add(j)
	for i := range 3 {
		w.add(stray(j, fmt.Sprintf("stray-%d", i)))
	}
	w.pass(2 * time.Second)
	if n := w.count("get", "Job"); n != 1 {
		t.Errorf("%d live reads of the Job, want 1", n)
	}
	if n := w.count("create", "Pod"); n != 0 {
		t.Errorf("%d pods were created although three were there", n)
	}
	for _, pod := range w.pods() {
		if !metav1.IsControlledBy(&pod, j) || !job.HasFinalizer(&pod) {
			t.Errorf("pod %s: owners %v, finalizers %v", pod.Name, pod.OwnerReferences, pod.Finalizers)
		}
	}
	w.finishAll(corev1.PodSucceeded)
	w.pass(2 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Succeeded == 3 && condition(s, batchv1.JobComplete) }, "3 successes")
	w.wantHeld(0)
}

// No pod is given to a Job that is going, whatever the cache says; nor one that
// is itself going, or that has another controller (JOB-041, JOB-042, JOB-043, JOB-045).
func TestNoAdoption(t *testing.T) {
	j := make.Job(ns, "j").Finalizer("x/y").Obj()
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		prep  func(w *world)
		fails bool
	}{
		"Job deleted in the cache": {pod: stray(j, "p"), prep: func(w *world) {
			must(t, w.api.Delete(context.Background(), w.job("j")))
			w.deliver()
		}},
		"Job deleted on the server only": {pod: stray(j, "p"), fails: true, prep: func(w *world) {
			w.deliver()
			must(t, w.api.Delete(context.Background(), w.job("j")))
		}},
		"pod deleted":        {pod: withDeletion(stray(j, "p")), prep: (*world).deliver},
		"another controller": {pod: make.Pod(ns, "p").Owner(controllerRef("ReplicaSet", "apps/v1", "other")).NoFinalizers().Obj(), prep: (*world).deliver},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(j.DeepCopy())
			deleted := c.pod.DeletionTimestamp != nil
			pod := c.pod.DeepCopy()
			pod.DeletionTimestamp = nil
			pod.Labels = j.Spec.Template.Labels
			w.add(pod)
			if deleted {
				must(t, w.api.Delete(context.Background(), pod))
			}
			c.prep(w)
			err := w.syncJob("j")
			if (err != nil) != c.fails {
				t.Errorf("got error %v", err)
			}
			for _, call := range w.calls {
				if call.verb == "patch" && call.name == "p" {
					t.Errorf("the pod was patched: %v", call)
				}
			}
		})
	}
}

func withDeletion(pod *corev1.Pod) *corev1.Pod {
	pod.Finalizers = []string{"x/y"}
	now := metav1.NewTime(start)
	pod.DeletionTimestamp = &now
	return pod
}

func controllerRef(kind, version, name string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{Kind: kind, APIVersion: version, Name: name, UID: types.UID(name + "-uid"), Controller: &yes}
}

// One pod that cannot be adopted does not keep the others from it, and ends the
// sync with an error (JOB-048).
func TestFailedAdoptionDelaysNoOther(t *testing.T) {
	w := newWorld(t)
	j := make.Job(ns, "j").Parallelism(3).Completions(3).Obj()
	w.add(j)
	for i := range 3 {
		w.add(stray(j, fmt.Sprintf("stray-%d", i)))
	}
	w.deliver()
	failing := true
	w.fault = func(c call) error {
		if failing && c.name == "stray-1" {
			return apierrors.NewConflict(podsResource, c.name, errors.New("injected"))
		}
		return nil
	}
	if err := w.syncJob("j"); err == nil {
		t.Error("no error")
	}
	if due := w.next().Sub(w.clock.Now()); len(w.main.fails) != 1 || due != time.Second {
		t.Errorf("tried again after %s, retries %v", due, w.main.fails)
	}
	adopted := 0
	for _, pod := range w.pods() {
		if metav1.IsControlledBy(&pod, j) {
			adopted++
		}
	}
	if adopted != 2 || w.count("create", "Pod") != 0 {
		t.Errorf("%d adopted, calls %v", adopted, w.calls)
	}
	failing = false
	w.pass(5 * time.Second)
	if n := len(w.pods()); n != 3 {
		t.Errorf("%d pods, want 3", n)
	}
}

// A pod that the selector no longer matches is let go and replaced; what it does
// then is not the Job's business (JOB-040).
func TestRelease(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.run()
	pod := w.pods()[0]
	changed := pod.DeepCopy()
	changed.Labels = nil
	must(t, w.api.Update(context.Background(), changed))
	w.pass(2 * time.Second)
	for _, p := range w.pods() {
		if owned := metav1.GetControllerOf(&p) != nil; owned != (p.UID != pod.UID) || job.HasFinalizer(&p) != owned {
			t.Errorf("pod %s: owners %v, finalizers %v", p.Name, p.OwnerReferences, p.Finalizers)
		}
	}
	if n := len(w.pods()); n != 2 {
		t.Errorf("%d pods, want the old one and a replacement", n)
	}
	for _, p := range w.pods() {
		if p.UID == pod.UID {
			w.finish(p, corev1.PodFailed)
		}
	}
	w.pass(2 * time.Second)
	w.wantStatus("j", func(s batchv1.JobStatus) bool { return s.Failed == 0 && s.Active == 1 }, "no failure")
}

// Two Jobs that select one pod both hear of it, a third does not (JOB-047); the
// first to adopt it has it.
func TestTwoSuitors(t *testing.T) {
	w := newWorld(t)
	manual := func(name, value string) *batchv1.Job {
		j := make.Job(ns, name).TemplateLabel("app", value).Obj()
		j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
		return j
	}
	w.add(manual("one", "a"), manual("two", "a"), manual("three", "b"))
	w.run()
	w.clock.Step(time.Minute)
	pod := make.Pod(ns, "stray").Orphan().NoFinalizers().Obj()
	pod.Labels = map[string]string{"app": "a"}
	w.add(pod)
	w.deliver()
	var woken []string
	for _, r := range w.main.due() {
		woken = append(woken, r.Name)
	}
	if fmt.Sprint(woken) != "[one two]" {
		t.Errorf("woken: %v", woken)
	}
	w.pass(time.Minute)
	for _, p := range w.pods() {
		if p.Name == "stray" && metav1.GetControllerOf(&p) == nil {
			t.Error("nobody took the pod")
		}
	}
}

// Every selector finds its pods through the index, and no other's.
func TestSelectorIndex(t *testing.T) {
	pod := make.Pod(ns, "p").Orphan().NoFinalizers().Obj()
	pod.Labels = map[string]string{"app": "a", "tier": "x"}
	in := func(op metav1.LabelSelectorOperator, key string, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	for name, c := range map[string]struct {
		selector *metav1.LabelSelector
		want     bool
	}{
		"equal":                {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}, true},
		"two equal":            {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "a", "tier": "x"}}, true},
		"one of two differs":   {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "a", "tier": "y"}}, false},
		"in":                   {in(metav1.LabelSelectorOpIn, "app", "z", "a"), true},
		"not among":            {in(metav1.LabelSelectorOpIn, "app", "z"), false},
		"exists":               {in(metav1.LabelSelectorOpExists, "tier"), true},
		"exists not":           {in(metav1.LabelSelectorOpExists, "zone"), false},
		"not in":               {in(metav1.LabelSelectorOpNotIn, "app", "z"), true},
		"does not exist":       {in(metav1.LabelSelectorOpDoesNotExist, "zone"), true},
		"everything":           {&metav1.LabelSelector{}, true},
		"nothing":              {nil, false},
		"unreadable":           {in("Nonsense", "app"), false},
		"UID of the Job":       {&metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "u"}}, false},
		"exists and not equal": {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "b"}, MatchExpressions: in(metav1.LabelSelectorOpExists, "tier").MatchExpressions}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			j := make.Job(ns, "j").Obj()
			j.Spec.Selector = c.selector
			elsewhere := pod.DeepCopy()
			elsewhere.Namespace = "elsewhere"
			must(t, w.caches.pods.Add(pod))
			must(t, w.caches.pods.Add(elsewhere))
			must(t, w.caches.jobs.Add(j))
			if got := len(w.caches.matchingJobs(pod)) == 1; got != c.want {
				t.Errorf("the pod finds the Job: %v, want %v", got, c.want)
			}
			found := 0
			for _, p := range w.caches.orphanPods(j) {
				if selects(j, p) {
					found++
				}
			}
			if got := found == 1; got != c.want {
				t.Errorf("the Job finds the pod: %v, want %v", got, c.want)
			}
			if len(w.caches.matchingJobs(elsewhere)) != 0 {
				t.Error("a pod of another namespace finds the Job")
			}
		})
	}
}

// A conflict means that the pod was replaced only if it was.
func TestConflictIsNotAlwaysGone(t *testing.T) {
	w := newWorld(t)
	pod := make.Pod(ns, "p").Orphan().NoFinalizers().Obj()
	w.add(pod)
	conflict := apierrors.NewConflict(podsResource, "p", errors.New("the object has been modified"))
	ref := refTo(&w.pods()[0])
	if w.ctl.podGone(context.Background(), ref, conflict) {
		t.Error("the pod is there")
	}
	ref.UID = "another"
	if !w.ctl.podGone(context.Background(), ref, conflict) {
		t.Error("the pod with this UID is not there")
	}
	ref.Name = "q"
	if !w.ctl.podGone(context.Background(), ref, conflict) {
		t.Error("there is no such pod")
	}
	w.ctl.live = interceptor.NewClient(w.api, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("no answer")
	}})
	if w.ctl.podGone(context.Background(), ref, conflict) {
		t.Error("it is not known whether the pod is there")
	}
}
