// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// The first event after a quiet time is answered at once; events that follow
// share one sync per window, and the last one is never lost (OPT-04, JOB-370).
func TestSyncWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testingclock.NewFakeClock(start)
		o := Options{}.withDefaults()
		pods := rapid.IntRange(0, 10000).Draw(t, "pods")
		window := o.syncWindow(pods)
		if window < 20*time.Millisecond || window > time.Second {
			t.Fatalf("window %v for %d pods", window, pods)
		}
		var due, began, last time.Time // of the sync that waits; of the last one, and the same unless the clock was set back since
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			c.Step(time.Duration(rapid.IntRange(0, 1500).Draw(t, "pause")) * time.Millisecond)
			if rapid.IntRange(0, 9).Draw(t, "clock") == 0 {
				c.SetTime(c.Now().Add(-time.Hour))
				due, last = time.Time{}, time.Time{}
			}
			if !due.IsZero() && !due.After(c.Now()) {
				began, last, due = c.Now(), c.Now(), time.Time{}
			}
			d := o.windowLeft(began, c.Now(), pods)
			if d < 0 || d > window {
				t.Fatalf("delay %v, window %v", d, window)
			}
			if !last.IsZero() && c.Now().Sub(last) >= window && d != 0 {
				t.Fatalf("quiet for %v, and still %v to wait", c.Now().Sub(last), d)
			}
			if !last.IsZero() && c.Now().Add(d).Sub(last) < window {
				t.Fatalf("two syncs within %v", c.Now().Add(d).Sub(last))
			}
			if at := c.Now().Add(d); due.IsZero() || at.Before(due) {
				due = at
			}
		}
	})
}

// Only changes at which a decision looks wake the Job (OPT-05).
func TestWhatConcernsAJob(t *testing.T) {
	j := make.Job(ns, "j").Obj()
	pending := make.Pod(ns, "p").Of(j).ResourceVersion("1").Obj()
	running := make.Pod(ns, "p").Of(j).Running("main", start).Obj()
	failed := make.Pod(ns, "p").Of(j).Failed(start, 1).Obj()
	changed := func(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
		pod = pod.DeepCopy()
		pod.ResourceVersion = "2"
		change(pod)
		return pod
	}
	free := func(pod *corev1.Pod) { pod.Finalizers = nil }
	now := metav1.NewTime(start)
	for name, c := range map[string]struct {
		old, pod  *corev1.Pod
		gone, own bool
		want      bool
	}{
		"seen for the first time":           {nil, pending, false, false, true},
		"we made it":                        {nil, pending, false, true, false},
		"we made it, and it has ended":      {nil, failed, false, true, true},
		"we made it, and it is to go":       {nil, changed(pending, func(p *corev1.Pod) { p.DeletionTimestamp = &now }), false, true, true},
		"scheduled":                         {pending, changed(pending, func(p *corev1.Pod) { p.Spec.NodeName = "n" }), false, false, false},
		"started":                           {pending, running, false, false, false},
		"new IP":                            {running, changed(running, func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }), false, false, false},
		"restarted":                         {running, changed(running, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount++ }), false, false, true},
		"restarted an init container":       {running, changed(running, func(p *corev1.Pod) { p.Status.InitContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} }), false, false, true},
		"failed":                            {running, failed, false, false, true},
		"phase lost":                        {running, changed(running, func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }), false, false, true},
		"being deleted":                     {running, changed(running, func(p *corev1.Pod) { p.DeletionTimestamp = &now }), false, false, true},
		"finalizer taken by somebody":       {running, changed(running, free), false, false, true},
		"finalizer taken by us":             {running, changed(running, free), false, true, false},
		"relabelled":                        {running, changed(running, func(p *corev1.Pod) { p.Labels = nil }), false, false, true},
		"another index":                     {running, changed(running, func(p *corev1.Pod) { p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "7"} }), false, false, true},
		"another annotation":                {running, changed(running, func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }), false, false, false},
		"another owner":                     {running, changed(running, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "x" }), false, false, true},
		"ended, more about it":              {failed, changed(failed, func(p *corev1.Pod) { p.Status.Reason = "Evicted" }), false, false, true},
		"ended and counted":                 {failed, changed(failed, free), false, true, false},
		"ended and counted, more about it":  {changed(failed, free), changed(failed, func(p *corev1.Pod) { free(p); p.Status.Reason = "Evicted" }), false, false, false},
		"ended, its finalizer taken":        {failed, changed(failed, free), false, false, true},
		"gone while it ran":                 {nil, running, true, false, true},
		"gone by our hand while it ran":     {nil, running, true, true, true},
		"gone by our hand after it ended":   {nil, failed, true, true, false},
		"gone after it ended, not counted":  {nil, failed, true, false, true},
		"gone after it was counted":         {nil, changed(failed, free), true, false, false},
		"ended and counted, to be deleted":  {changed(failed, free), changed(failed, func(p *corev1.Pod) { free(p); p.DeletionTimestamp = &now }), false, false, true},
		"ended while its finalizer was off": {changed(running, free), changed(failed, free), false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := concerns(c.old, c.pod, c.gone, c.own); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// A resync of the caches is no news.
func TestResyncIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(2).Completions(2).Obj())
	w.pass(time.Minute)
	for _, obj := range everything(w.caches.pods) {
		w.ctl.podChanged(obj.(*corev1.Pod), obj.(*corev1.Pod), false, w.main)
	}
	for _, obj := range everything(w.caches.jobs) {
		w.ctl.jobUpdated(obj.(*batchv1.Job), obj.(*batchv1.Job), w.main)
	}
	if n := w.main.Len(); n != 0 {
		t.Errorf("%d syncs wait", n)
	}
}

// Own writes come back as events and cause no sync: a Job of one pod is synced
// when it appears and when its pod has ended (OPT-05, H5).
func TestOwnWritesCauseNoSync(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	w.pass(time.Minute)
	if w.syncs != 1 {
		t.Errorf("%d syncs to start it", w.syncs)
	}
	w.finishAll(corev1.PodSucceeded)
	w.pass(time.Minute)
	if w.syncs != 2 {
		t.Errorf("%d syncs in all", w.syncs)
	}
}

// A Job that was deleted and made again between two looks of the watch is two Jobs.
func TestCollapsedRecreation(t *testing.T) {
	w := newWorld(t)
	first, second := make.Job(ns, "j").UID("first").Obj(), make.Job(ns, "j").UID("second").ResourceVersion("2").Obj()
	w.ctl.expectations.carry("first")
	w.ctl.jobUpdated(first, second, w.main)
	if _, kept := w.ctl.expectations.byJob["first"]; kept || len(w.main.due()) != 1 {
		t.Errorf("expectations %v, queue %v", w.ctl.expectations.byJob, w.main.at)
	}
	if _, gone := w.ctl.expectations.gone.Get(types.UID("first")); !gone {
		t.Error("the first Job is not known to be gone")
	}
}

// Pods that are finished and not yet accounted for are counted as they enter and leave that state.
func TestTrackedPodsMetric(t *testing.T) {
	added, removed := trackedPods.WithLabelValues("add"), trackedPods.WithLabelValues("delete")
	before, after := testutil.ToFloat64(added), testutil.ToFloat64(removed)
	w := newWorld(t)
	w.add(make.Job(ns, "j").Indexed(5).Parallelism(5).Obj())
	w.pass(time.Second)
	w.finishAll(corev1.PodSucceeded)
	w.pass(time.Minute)
	if a, r := testutil.ToFloat64(added)-before, testutil.ToFloat64(removed)-after; a != 5 || r != 5 {
		t.Errorf("%v entered and %v left, want 5 and 5", a, r)
	}
}

// The metrics of the built-in controller tell what happened (section 8.1).
func TestMetrics(t *testing.T) {
	finished := jobsFinished.WithLabelValues("Indexed", "failed", "BackoffLimitExceeded")
	counters := map[string]float64{}
	values := func() map[string]float64 {
		return map[string]float64{
			"jobs finished":  testutil.ToFloat64(finished),
			"pods succeeded": testutil.ToFloat64(podsFinished.WithLabelValues("Indexed", "succeeded")),
			"pods failed":    testutil.ToFloat64(podsFinished.WithLabelValues("Indexed", "failed")),
			"indexes":        testutil.ToFloat64(finishedIndexes.WithLabelValues("succeeded", "global")),
			"created":        testutil.ToFloat64(podsCreation.WithLabelValues("new", "succeeded")),
		}
	}
	for name, v := range values() {
		counters[name] = v
	}
	w := newWorld(t)
	w.add(make.Job(ns, "j").Indexed(3).Parallelism(3).BackoffLimit(0).Obj())
	w.pass(time.Second)
	w.finish(w.pods()[0], corev1.PodSucceeded)
	w.pass(time.Second)
	w.finish(w.pods()[1], corev1.PodFailed)
	w.pass(time.Second)
	w.finishAll(corev1.PodFailed)
	w.pass(time.Minute)
	want := map[string]float64{"jobs finished": 1, "pods succeeded": 1, "pods failed": 2, "indexes": 1, "created": 3}
	for name, v := range values() {
		if got := v - counters[name]; got != want[name] {
			t.Errorf("%s: %v, want %v", name, got, want[name])
		}
	}
	if n, err := testutil.GatherAndCount(ctrlmetrics.Registry, "job_controller_job_sync_duration_seconds", "job_controller_job_syncs_total"); err != nil || n == 0 {
		t.Errorf("sync metrics: %d, %v", n, err)
	}
}

// A big Job takes its share of the calls and no more.
func TestFanOutIsShared(t *testing.T) { synctest.Test(t, fanOutIsShared) }

func fanOutIsShared(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.FanOut, o.Calls = 4, 6 })
	w.add(make.Job(ns, "big").Parallelism(40).Completions(40).Obj())
	w.deliver()
	now, most := 0, 0
	w.fault = func(call) error {
		w.mu.Lock()
		now++
		most = max(most, now)
		w.mu.Unlock()
		time.Sleep(time.Millisecond) // in a bubble: all calls that can begin do
		w.mu.Lock()
		now--
		w.mu.Unlock()
		return nil
	}
	must(t, w.syncJob("big"))
	if most != 4 {
		t.Errorf("%d calls at once, want 4", most)
	}
	if n := w.count("create", "Pod"); n != 40 {
		t.Errorf("%d created", n)
	}
}
