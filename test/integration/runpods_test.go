// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/manager"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// The Pods of a run that is deleted while it runs, by Replace (CJ-065) or by hand (CJ-082, R6), are told to end,
// without our finalizer to hold them, and take the time that they need. The next run does not wait for them, under
// Forbid neither: a Job that is gone is not unfinished. But its own counters know nothing of them, it loses none of its
// Pods when they go, and a time whose Job was deleted does not run again (what guarantee 2 says about Pods).
func TestPodsOfDeletedRuns(t *testing.T) {
	for name, byHand := range map[string]bool{"by Replace": false, "by hand under Forbid": true} {
		t.Run(name, func(t *testing.T) {
			var crons traffic
			w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, Config: crons.on(plane.Start(t).Config())})
			j := &jobs{world: w, managedBy: "test.carillon.dev/" + w.namespace, kubelet: startKubelet(w)}
			j.kubelet.keepRunning()
			j.kubelet.beSlow(true)
			j.control()
			policy := map[bool]batchv1.ConcurrencyPolicy{false: batchv1.ReplaceConcurrent, true: batchv1.ForbidConcurrent}[byHand]
			work := build.Job(w.namespace, "x").ManagedBy(j.managedBy).Parallelism(2).Completions(2)
			cj := w.createCronJob(build.CronJob(w.namespace, "tick").Schedule("* * * * *").Policy(policy).Template(work))
			w.pass(1)
			first := w.runs(cj, 1, 1)[0]
			j.twoPodsRun(first.Name)
			old := j.pods(t.Context())

			if byHand {
				how := metav1.DeletePropagationBackground // kubectl's
				if err := w.client.BatchV1().Jobs(w.namespace).Delete(t.Context(), first.Name, metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
					t.Fatal(err)
				}
				w.said(cj, "MissingJob")
				w.runs(cj, 0, 0)
			}
			w.pass(1)
			w.eventually("the second run alone", func(ctx context.Context) error {
				if found := w.jobsOf(ctx, cj); len(found) != 1 || found[0].UID == first.UID {
					return fmt.Errorf("%d Jobs", len(found))
				}
				return nil
			})
			second := w.runs(cj, 1, 1)[0]
			j.twoPodsRun(second.Name)
			if s := j.get(t.Context(), second.Name).Status; s.Failed != 0 || s.Succeeded != 0 || s.Terminating != nil && *s.Terminating != 0 {
				t.Errorf("the second run counts what is not its own: %+v", s)
			}
			w.eventually("the first run's Pods are told to end", func(ctx context.Context) error {
				for _, pod := range j.ownedBy(ctx, &first) {
					if pod.DeletionTimestamp == nil || tracked(&pod) {
						return fmt.Errorf("pod %s, deleted at %v, finalizers %v", pod.Name, pod.DeletionTimestamp, pod.Finalizers)
					}
				}
				return nil
			})
			if n := len(j.ownedBy(t.Context(), &first)); n != len(old) {
				t.Errorf("%d of %d Pods of the first run still end, so nothing is shown", n, len(old))
			}

			j.kubelet.beSlow(false)
			w.eventually("the first run's Pods are gone", func(ctx context.Context) error {
				if n := len(j.ownedBy(ctx, &first)); n > 0 {
					return fmt.Errorf("%d are left", n)
				}
				return nil
			})
			for _, pod := range j.ownedBy(t.Context(), &second) {
				if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
					t.Errorf("the second run's pod %s is %s, deleted at %v", pod.Name, pod.Status.Phase, pod.DeletionTimestamp)
				}
			}
			j.kubelet.endWith(corev1.PodSucceeded, 0)
			j.until(second.Name, "complete", func(s *batchv1.JobStatus) bool {
				return has(s, batchv1.JobComplete) && s.Succeeded == 2 && s.Failed == 0
			})

			var writes []string
			for _, each := range crons.in(w.namespace, func(each write) bool { return each.accepted() && each.resource == "jobs" }) {
				writes = append(writes, each.verb+" "+each.name)
			}
			want := []string{"create " + first.Name, "delete " + first.Name, "create " + second.Name}
			if byHand {
				want = slices.Delete(want, 1, 2)
			}
			if !slices.Equal(writes, want) {
				t.Errorf("Jobs were written so: %v, want %v", writes, want)
			}
			if first.Name == second.Name {
				t.Errorf("the time of %s runs twice", first.Name)
			}
		})
	}
}

// twoPodsRun waits until two Pods of the Job run, and its status says so.
func (j *jobs) twoPodsRun(name string) {
	j.Helper()
	j.until(name, "two Pods run", func(s *batchv1.JobStatus) bool { return s.Active == 2 && s.Ready != nil && *s.Ready == 2 })
}

// ownedBy are the Pods that the Job controls, or controlled while it was there.
func (j *jobs) ownedBy(ctx context.Context, job *batchv1.Job) (pods []corev1.Pod) {
	j.Helper()
	for _, pod := range j.pods(ctx) {
		if metav1.IsControlledBy(&pod, job) {
			pods = append(pods, pod)
		}
	}
	return pods
}
