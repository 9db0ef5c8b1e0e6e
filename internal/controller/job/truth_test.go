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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// Whatever fails, whoever dies, and however late the caches are: when a Job has
// ended, each pod that was ever made is in exactly one counter, no pod holds the
// finalizer, and every status on the way was one that the server accepts
// (guarantee 5, JOB-085, A6, A7).
func TestCountersEqualTheTruth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.clock.SetTime(time.Now()) // the fake stamps deletions with it
		completions := int32(rapid.IntRange(1, 5).Draw(rt, "completions"))
		b := make.Job(ns, "j").Completions(completions).Parallelism(int32(rapid.IntRange(1, 3).Draw(rt, "parallelism"))).
			BackoffLimit(int32(rapid.IntRange(0, 4).Draw(rt, "backoffLimit")))
		if rapid.Bool().Draw(rt, "replace only failed") {
			b = b.ReplaceOnlyFailed()
		}
		indexed := rapid.Bool().Draw(rt, "indexed")
		if indexed {
			b = b.Indexed(completions)
		}
		w.add(b.Obj())

		made := 0
		// succeeded are the pods that did, by index: one that is replaced because it is being deleted may succeed
		// all the same, and so may its replacement. For an index that counts once (4.3); otherwise it is a surplus.
		succeeded, surplus := map[string]sets.Set[types.UID]{}, false
		succeed := func(pod corev1.Pod) {
			surplus = surplus || pod.DeletionTimestamp != nil
			index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
			if succeeded[index] == nil {
				succeeded[index] = sets.New[types.UID]()
			}
			succeeded[index].Insert(pod.UID)
			w.finish(pod, corev1.PodSucceeded)
		}
		broken := 0 // calls that will fail
		dead := false
		fails := func(c call) error {
			switch {
			case dead:
				return context.Canceled
			case broken > 0 && c.verb != "get":
				broken--
				return fmt.Errorf("injected: %w", errors.New("connection reset by peer"))
			}
			return nil
		}
		w.fault = func(c call) error {
			if c.verb == "create" && c.kind == "Pod" {
				return nil // it may have happened all the same: see below
			}
			return fails(c)
		}
		w.lost = func(c call) error {
			if c.verb != "create" || c.kind != "Pod" {
				return nil
			}
			made++
			return fails(c)
		}
		ended := func() bool {
			s := w.job("j").Status
			return condition(s, batchv1.JobComplete) || condition(s, batchv1.JobFailed)
		}
		pick := func() *corev1.Pod {
			var running []corev1.Pod
			for _, pod := range w.pods() {
				// Also one that is being deleted, and perhaps counted as failed for that (JOB-069).
				if !job.PodFinished(&pod) {
					running = append(running, pod)
				}
			}
			if len(running) == 0 {
				return nil
			}
			return &running[rapid.IntRange(0, len(running)-1).Draw(rt, "which")]
		}
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 8).Draw(rt, "what") {
			case 0, 1:
				w.clock.Step(time.Duration(rapid.IntRange(1, 15000).Draw(rt, "ms")) * time.Millisecond)
				w.run()
			case 2, 3:
				if pod := pick(); pod != nil {
					succeed(*pod)
				}
			case 4:
				if pod := pick(); pod != nil {
					w.finish(*pod, corev1.PodFailed)
				}
			case 5: // the process dies at some call, and another one starts
				broken, dead = 0, false
				until := rapid.IntRange(0, 6).Draw(rt, "until")
				fault := w.fault
				w.fault = func(c call) error {
					if until--; until < 0 {
						dead = true
					}
					if dead {
						return context.Canceled
					}
					return fault(c)
				}
				w.deliver()
				_ = w.syncJob("j")
				w.fault, dead = fault, false
				w.restart()
			case 6:
				broken = rapid.IntRange(1, 4).Draw(rt, "broken")
			case 7:
				w.blindPods, w.blindJobs = rapid.Bool().Draw(rt, "no pods"), rapid.Bool().Draw(rt, "no Jobs")
			case 8: // somebody deletes a pod; what is finished and free vanishes
				pods := w.pods()
				if len(pods) > 0 {
					_ = w.api.Delete(context.Background(), &pods[rapid.IntRange(0, len(pods)-1).Draw(rt, "victim")])
				}
			}
		}
		w.blindPods, w.blindJobs, broken = false, false, 0
		for i := 0; i < 60 && !ended(); i++ {
			w.pass(time.Minute)
			for _, pod := range w.pods() {
				switch {
				case job.PodFinished(&pod):
				case pod.DeletionTimestamp != nil:
					w.finish(pod, corev1.PodFailed) // a kubelet ends what is being deleted
				default:
					succeed(pod)
				}
			}
		}
		w.pass(10 * time.Minute)
		s := w.job("j").Status
		if !ended() {
			for _, pod := range w.pods() {
				rt.Logf("pod %s: %s %v %v", pod.Name, pod.Status.Phase, pod.Finalizers, pod.DeletionTimestamp)
			}
			rt.Fatalf("the Job does not end: %+v; expectations %+v, next %v at %v", s, w.ctl.expectations.byJob[w.job("j").UID], w.next(), w.clock.Now())
		}
		if condition(s, batchv1.JobComplete) && s.Succeeded != completions && (indexed || s.Succeeded < completions || !surplus) {
			rt.Fatalf("complete with %d of %d: %+v", s.Succeeded, completions, s)
		}
		again := 0
		for index, pods := range succeeded {
			if index != "" {
				again += len(pods) - 1
			}
		}
		if got := int(s.Succeeded + s.Failed); got > made || got < made-again {
			rt.Fatalf("%d pods were made, %d of them succeeded once more for their index, %d are counted: %+v", made, again, got, s)
		}
		for _, pod := range w.pods() {
			if job.HasFinalizer(&pod) {
				rt.Fatalf("pod %s of an ended Job holds the finalizer", pod.Name)
			}
		}
		if w.next() != (time.Time{}) {
			rt.Fatalf("something is due at %v although the Job has ended", w.next())
		}
	})
}
