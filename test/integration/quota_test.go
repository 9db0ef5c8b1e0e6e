// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/manager"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// limit sets what a quota called small allows, and waits until the server counts by it.
func (w *world) limit(resource corev1.ResourceName, n string) {
	w.Helper()
	api := w.client.CoreV1().ResourceQuotas(w.namespace)
	want := corev1.ResourceList{resource: *quantity(n)}
	patch := fmt.Appendf(nil, `{"spec":{"hard":{%q:%q}}}`, resource, n) // an update would compete with the counting
	_, err := api.Patch(w.Context(), "small", types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = api.Create(w.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: want}}, metav1.CreateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
	w.eventually("the quota is in force", func(ctx context.Context) error {
		quota, err := api.Get(ctx, "small", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if hard := quota.Status.Hard[resource]; hard.Cmp(want[resource]) != 0 {
			return fmt.Errorf("status %+v", quota.Status)
		}
		return nil
	})
}

// tellsOfQuota checks that an event names the quota and the cure.
func tellsOfQuota(t *testing.T, message string) {
	t.Helper()
	for _, words := range []string{"exceeded quota: small", "raise the quota"} {
		if !strings.Contains(message, words) {
			t.Errorf("the event does not say %q: %s", words, message)
		}
	}
}

// forbidden counts creates that were refused.
func forbidden(resource string) func(write) bool {
	return func(w write) bool {
		return w.verb == "create" && w.resource == resource && w.code == http.StatusForbidden
	}
}

// A Job whose pods a quota forbids says which quota and what to do, tries without a storm, keeps its status true, goes
// on with each pod that is allowed again, and with all of them by itself when the quota is raised. Other Jobs are
// finished and cleaned up meanwhile (A9).
func TestPodQuota(t *testing.T) {
	t.Parallel()
	var seen traffic
	j := newJobs(t)
	j.kubelet.end(func(pod *corev1.Pod) (corev1.PodPhase, int32) {
		if strings.HasPrefix(pod.Name, "large-") && !strings.HasSuffix(pod.Labels["end"], "now") {
			return "", 0
		}
		return corev1.PodSucceeded, 0
	})
	j.limit(corev1.ResourcePods, "2")
	const retryMost = 400 * time.Millisecond
	j.control(seenBy(&seen), func(c *controls) { c.job.RetryMax = retryMost })
	begun := time.Now()
	large := j.create(build.Job("", "large").Parallelism(5).Completions(6))
	j.until("large", "two pods run", func(s *batchv1.JobStatus) bool { return s.Active == 2 && *s.Ready == 2 })
	tellsOfQuota(t, j.said(large, "FailedCreate").Message)

	first := j.pods(t.Context())[0]
	first.Labels["end"] = "now"
	if _, err := j.client.CoreV1().Pods(j.namespace).Update(t.Context(), &first, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	j.until("large", "one has ended and another one runs", func(s *batchv1.JobStatus) bool {
		return s.Succeeded == 1 && s.Active == 2 && *s.Ready == 2
	})
	j.edit("large", func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(1)) })
	j.until("large", "one runs", func(s *batchv1.JobStatus) bool { return s.Active == 1 })
	j.create(build.Job("", "small").TTL(0))
	j.gone("small")

	j.edit("large", func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(5)) })
	j.until("large", "two run again", func(s *batchv1.JobStatus) bool { return s.Active == 2 && *s.Ready == 2 })
	refused := len(seen.in(j.namespace, forbidden("pods")))
	// Beside the retries each change of the Job and of its four pods so far is a reason to try.
	most := 2*retries(retryBase, retryMost, time.Since(begun)) + 4*4
	if refused > most {
		t.Errorf("%d pods were tried in vain, want at most %d", refused, most)
	}
	j.limit(corev1.ResourcePods, "10")
	j.until("large", "all run", func(s *batchv1.JobStatus) bool { return s.Active == 5 && *s.Ready == 5 })
	j.kubelet.endWith(corev1.PodSucceeded, 0)
	j.until("large", "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.Succeeded == 6 && s.Failed == 0
	})
	j.noFinalizers()
	if got, _, err := j.events(t.Context(), large.UID); err != nil || got["FailedCreate"] > most {
		t.Errorf("FailedCreate was told %d times, %v", got["FailedCreate"], err)
	}
}

// A CronJob whose Jobs a quota forbids says which quota and what to do, once for each scheduled time, tries without a
// storm, keeps status and history true, and starts the run that is due by itself when the quota is raised (A9, CJ-090).
func TestJobQuota(t *testing.T) {
	var seen traffic
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, Config: seen.on(plane.Start(t).Config())})
	w.limit("count/jobs.batch", "2")
	cj := w.createCronJob(build.CronJob(w.namespace, "tick").Schedule("* * * * *").History(1, 1))
	w.pass(1)
	first := w.runs(cj, 1, 1)[0]
	stranger, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), build.Job(w.namespace, "stranger").New(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	w.pass(1)
	tellsOfQuota(t, w.said(cj, "FailedCreate").Message)
	w.runs(cj, 1, 1)

	w.complete(&first)
	w.eventually("the status is true", func(ctx context.Context) error {
		s := w.cronJob(ctx, "tick").Status
		if len(s.Active) != 0 || s.LastSuccessfulTime == nil {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	w.pass(1)
	due := w.clock.Now().Truncate(time.Minute)
	w.eventually("this one is told too", func(ctx context.Context) error {
		got, _, err := w.events(ctx, cj.UID)
		if err == nil && got["FailedCreate"] < 2 {
			err = errors.New("not yet")
		}
		return err
	})
	refused := len(seen.in(w.namespace, forbidden("jobs")))
	if most := 4 * retries(5*time.Millisecond, 1000*time.Second, time.Since(begun)); refused > most {
		t.Errorf("%d Jobs were tried in vain, want at most %d", refused, most)
	}
	w.limit("count/jobs.batch", "3")
	jobs := w.runs(cj, 2, 1)
	if want := fmt.Sprintf("tick-%d", due.Unix()/60); jobs[1].Name != want {
		t.Errorf("started %s, want the latest, %s", jobs[1].Name, want)
	}
	if got, _, err := w.events(t.Context(), cj.UID); err != nil || got["FailedCreate"] != 2 {
		t.Errorf("FailedCreate was told %d times for two scheduled times, %v", got["FailedCreate"], err)
	}
	if _, err := w.client.BatchV1().Jobs(w.namespace).Get(t.Context(), stranger.Name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
