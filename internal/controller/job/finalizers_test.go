// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

func busy(w *world) *loadgate.Gate {
	gate := loadgate.New(w.clock)
	w.opts.Gate = gate
	w.restart()
	gate.BeginUrgent(1)
	return gate
}

// While there is more urgent work, a short Job costs one status write, and its
// finalizer stays until the work is done.
func TestTrailingWorkIsPutOff(t *testing.T) {
	w := newWorld(t)
	gate := busy(w)
	w.add(make.Job(ns, "one").Obj())
	w.run()
	if n := w.count("status", "Job"); n != 0 || len(w.pods()) != 1 {
		t.Fatalf("%d status writes and %d pods, want none and one", n, len(w.pods()))
	}
	w.finishAll(corev1.PodSucceeded)
	w.pass(time.Second)
	w.wantStatus("one", func(s batchv1.JobStatus) bool {
		return condition(s, batchv1.JobComplete) && s.Succeeded == 1 && s.StartTime != nil
	}, "complete with one success")
	if n := w.count("status", "Job"); n != 1 {
		t.Errorf("%d status writes, want 1", n)
	}
	w.wantHeld(1)
	gate.EndUrgent()
	w.pass(time.Second)
	w.wantHeld(0)
}

// The trailing work of a Job is done a few seconds later at the latest, also
// when the urgent work never ends.
func TestTrailingWorkIsNotPutOffForEver(t *testing.T) {
	w := newWorld(t)
	busy(w)
	w.add(make.Job(ns, "one").Obj())
	w.pass(startMaxDefer)
	w.wantStatus("one", func(s batchv1.JobStatus) bool { return s.StartTime != nil && s.Active == 1 }, "begun")
	w.finishAll(corev1.PodSucceeded)
	w.pass(time.Second)
	w.wantStatus("one", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) }, "complete")
	w.wantHeld(1)
	w.pass(finalizerMaxDefer)
	w.wantHeld(0)
}

// OPT-09: while there is more urgent work, the finalizers of pods that are
// accounted for are put off too while their Job goes on, but for a reason.
func TestFinalizersArePutOff(t *testing.T) {
	for name, test := range map[string]struct {
		options func(*Options)
		then    func(w *world, gate *loadgate.Gate)
		held    int // how many of the two pods that ended keep theirs
	}{
		"as long as the urgent work goes on": {then: func(w *world, _ *loadgate.Gate) { w.pass(finalizerMaxDefer / 2) }, held: 2},
		"until the urgent work is done":      {then: func(w *world, gate *loadgate.Gate) { gate.EndUrgent(); w.pass(time.Second) }},
		"not for ever":                       {then: func(w *world, _ *loadgate.Gate) { w.pass(finalizerMaxDefer) }},
		"not for ever by a clock put back": {then: func(w *world, _ *loadgate.Gate) {
			w.clock.SetTime(start.Add(-time.Hour))
			must(w.t, w.syncJob("two"))
			w.pass(time.Second)
		}},
		"not when the Job is being deleted": {then: func(w *world, _ *loadgate.Gate) {
			must(w.t, w.api.Delete(w.t.Context(), w.job("two")))
			w.pass(time.Second)
		}},
		"not that of a pod that is deleted": {then: func(w *world, _ *loadgate.Gate) {
			must(w.t, w.api.Delete(w.t.Context(), ended(w)))
			w.pass(time.Second)
		}, held: 1},
		"not when more wait for room in the list of UIDs": {options: func(o *Options) { o.MaxUncounted = 1 }, then: func(w *world, _ *loadgate.Gate) { w.pass(time.Second) }, held: 1},
		"not in a process that has just begun":            {then: func(w *world, _ *loadgate.Gate) { w.opts.Gate = nil; w.restart(); w.pass(time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) {
				o.ProgressDeferPerPod = time.Millisecond
				if test.options != nil {
					test.options(o)
				}
			})
			gate := busy(w)
			j := make.Job(ns, "two").Completions(4).Parallelism(4).Obj()
			j.Finalizers = []string{"example.com/keep"} // deleted, it stays for a while
			w.add(j)
			w.pass(2 * startMaxDefer)
			for _, pod := range w.pods()[:2] {
				w.finish(pod, corev1.PodSucceeded)
			}
			w.pass(time.Second)
			test.then(w, gate)
			kept := 0
			for _, pod := range w.pods() {
				if job.HasFinalizer(&pod) && job.PodFinished(&pod) {
					kept++
				}
			}
			if kept != test.held {
				t.Errorf("%d pods that ended keep the finalizer, want %d", kept, test.held)
			}
			if test.held > 0 {
				gate.EndUrgent()
				w.finishAll(corev1.PodSucceeded)
				w.pass(time.Minute)
				w.wantStatus("two", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) && s.Succeeded == 4 }, "complete")
				w.wantHeld(0)
			}
		})
	}
}

// What is put off is looked at now and then, however much of it there is.
func TestPutOffFinalizersWakeSeldom(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxUncounted, o.ProgressDeferPerPod = 2, time.Millisecond })
	busy(w)
	w.add(make.Job(ns, "wide").Indexed(20).Parallelism(20).Obj())
	w.pass(2 * startMaxDefer)
	for _, pod := range w.pods()[:10] {
		w.finish(pod, corev1.PodSucceeded)
	}
	w.pass(time.Second)
	w.wantStatus("wide", func(s batchv1.JobStatus) bool { return s.Succeeded == 10 }, "all counted that ended")
	before := w.syncs
	w.pass(finalizerMaxDefer / 2)
	if n := w.syncs - before; n > 10 {
		t.Errorf("%d syncs in which nothing was done", n)
	}
	w.wantHeld(20)
}

// ended is a pod that has ended.
func ended(w *world) *corev1.Pod {
	for _, pod := range w.pods() {
		if job.PodFinished(&pod) {
			return &pod
		}
	}
	w.t.Fatal("no pod has ended")
	return nil
}

// A large Job creates its pods before it tidies up after those that ended
// meanwhile, and does not wait between its batches.
func TestLargeJobCreatesFirst(t *testing.T) {
	for name, mode := range map[string]func(make.JobBuilder) make.JobBuilder{
		"NonIndexed": func(b make.JobBuilder) make.JobBuilder { return b.Completions(20) },
		"Indexed":    func(b make.JobBuilder) make.JobBuilder { return b.Indexed(20) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) {
				o.MaxPodChanges, o.WindowLeast, o.ProgressDeferPerPod = 4, time.Minute, time.Nanosecond
			})
			w.add(mode(make.Job(ns, "wide")).Parallelism(20).Obj())
			for range 5 {
				w.run()
				w.finishAll(corev1.PodSucceeded)
			}
			if n := len(w.pods()); n != 20 {
				t.Errorf("%d pods at the instant at which the Job began, want 20", n)
			}
			w.pass(time.Hour)
			w.wantStatus("wide", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) && s.Succeeded == 20 }, "complete")
			w.wantHeld(0)
			tidied := false
			for _, c := range w.calls {
				switch {
				case c.verb == "patch" && c.kind == "Pod":
					tidied = true
				case c.verb == "create" && c.kind == "Pod" && tidied:
					t.Fatalf("pod %s was created after a finalizer was removed", c.name)
				}
			}
		})
	}
}
