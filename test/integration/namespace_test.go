// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/manager"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// A namespace with running Jobs and CronJobs that is deleted ends, although its Pods take their time and scheduled
// times pass meanwhile, and we add little to its end: each Pod is freed once, what cannot be made is not tried in a
// storm, and when it is gone there is silence (A6, CJ-088, Q-02).
func TestNamespaceEndsWithoutStorm(t *testing.T) {
	t.Parallel() // beside tests of Jobs: no other test with a CronJob controller does that
	const cronJobs, plainJobs, pods = 4, 4, 2
	var crons, own traffic
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, Config: crons.on(plane.Start(t).Config())})
	j := &jobs{world: w, managedBy: "test.carillon.dev/" + w.namespace, kubelet: startKubelet(w)}
	j.kubelet.keepRunning()
	j.control(seenBy(&own))
	work := build.Job(w.namespace, "x").ManagedBy(j.managedBy).Parallelism(pods).Completions(pods)
	// The namespace controller looks again after as much time as pods may need for their end.
	short := func(template *corev1.PodTemplateSpec) { template.Spec.TerminationGracePeriodSeconds = new(int64(1)) }
	for i := range cronJobs {
		cj := build.CronJob(w.namespace, fmt.Sprintf("tick-%d", i)).Schedule("* * * * *").Template(work).New()
		short(&cj.Spec.JobTemplate.Spec.Template)
		if _, err := w.client.BatchV1().CronJobs(w.namespace).Create(t.Context(), cj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range plainJobs {
		job := work.New()
		job.Name = fmt.Sprintf("plain-%d", i)
		short(&job.Spec.Template)
		if _, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// A CronJob in another namespace shows how far the controller has come.
	elsewhere := &world{T: t, plane: w.plane, client: w.client, namespace: w.plane.Namespace(t), clock: w.clock}
	witness := elsewhere.createCronJob(build.CronJob(elsewhere.namespace, "witness").Schedule("* * * * *"))
	w.pass(1)
	j.eventually("all pods run", func(ctx context.Context) error {
		ready := 0
		list, err := w.client.BatchV1().Jobs(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, job := range list.Items {
			if job.Status.Ready != nil {
				ready += int(*job.Status.Ready)
			}
		}
		if want := (cronJobs + plainJobs) * pods; ready != want {
			return fmt.Errorf("%d of %d", ready, want)
		}
		return nil
	})
	elsewhere.runs(witness, 1, 1)

	before, cronsBefore := len(own.in(w.namespace, nil)), len(crons.in(w.namespace, nil))
	begun := time.Now()
	j.kubelet.beSlow(true)
	if err := w.client.CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	const ticks = 3
	for i := range ticks {
		w.pass(1)
		elsewhere.runs(witness, 2+i, 2+i)
	}
	j.eventually("all pods are on their way out", func(ctx context.Context) error {
		for _, pod := range j.pods(ctx) {
			if pod.DeletionTimestamp == nil {
				return fmt.Errorf("pod %s is not", pod.Name)
			}
		}
		return nil
	})
	j.kubelet.beSlow(false)
	j.eventually("the namespace is gone", func(ctx context.Context) error {
		if _, err := w.client.CoreV1().Namespaces().Get(ctx, w.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
	elapsed := time.Since(begun)
	writes, cronWrites := own.in(w.namespace, nil)[before:], crons.in(w.namespace, nil)[cronsBefore:]
	t.Logf("ended in %v; the Job controller wrote %s; the CronJob controller %s", elapsed, verbs(writes), verbs(cronWrites))
	// For each pod a patch and a create in vain, for each Job a few statuses.
	if most := (cronJobs + plainJobs) * (3*pods + 4); len(writes) > most {
		t.Errorf("%d writes of the Job controller, want at most %d: %s", len(writes), most, verbs(writes))
	}
	// For each CronJob and tick a start in vain with its retries, and a status.
	if most := cronJobs * (ticks*retries(5*time.Millisecond, 1000*time.Second, elapsed) + ticks + 2); len(cronWrites) > most {
		t.Errorf("%d writes of the CronJob controller, want at most %d: %s", len(cronWrites), most, verbs(cronWrites))
	}

	after, cronsAfter := len(own.in(w.namespace, nil)), len(crons.in(w.namespace, nil))
	w.pass(2)
	elsewhere.runs(witness, 2+ticks, 2+ticks)
	if n, m := len(own.in(w.namespace, nil))-after, len(crons.in(w.namespace, nil))-cronsAfter; n+m > 0 {
		t.Errorf("%d and %d writes after the end", n, m)
	}
}
