// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/internal/cli/planning"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// why asks the command, at the time of the world's clock, and gives its answer in one line.
func (w *world) why(kubeconfig string, args ...string) (string, error) {
	w.Helper()
	var out bytes.Buffer
	commands := planning.Commands(planning.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	cmd := commands[slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == "why" })]
	cmd.SetArgs(append(args, "--kubeconfig", kubeconfig, "-n", w.namespace, "--now", w.clock.Now().UTC().Format(time.RFC3339)))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(w.Context())
	return strings.Join(strings.Fields(out.String()), " "), err
}

// What the command why says of objects of a real API server, which controllers serve, and of those that nobody serves.
func TestWhy(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.CronJob, manager.Timetable}})
	kubeconfig := w.plane.Kubeconfig()

	forbidding := w.createCronJob(make.CronJob(w.namespace, "forbidding").Schedule("* * * * *").Policy(batchv1.ForbidConcurrent))
	w.createCronJob(make.CronJob(w.namespace, "suspended").Schedule("* * * * *").Suspend(true))
	image := w.createCronJob(make.CronJob(w.namespace, "image").Schedule("* * * * *").Policy(batchv1.ForbidConcurrent))
	w.createTimetable("queueing", "concurrency: {policy: Queue}")
	w.pass(1)
	first, broken := w.runs(forbidding, 1, 1)[0], w.runs(image, 1, 1)[0]
	w.breakImage(&broken)
	w.pass(1)
	w.step("times wait in the queue", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "queueing")
		if err != nil || s.WaitingCount == 0 || s.ActiveCount == 0 {
			return fmt.Errorf("%+v: %w", s, err)
		}
		return nil
	})
	w.said(forbidding, "JobAlreadyActive")

	started := first.Annotations[batchv1.CronJobScheduledTimestampAnnotation]
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"an overlap":                 {[]string{"cronjob/forbidding"}, []string{"cronjob/forbidding waits: Job " + first.Name + " is still active", "spec.concurrencyPolicy is Forbid", "event JobAlreadyActive"}},
		"a time that ran":            {[]string{"cronjob/forbidding", "--at", started}, []string{" ran on time: Job " + first.Name}},
		"a suspension":               {[]string{"cronjob/suspended"}, []string{"cronjob/suspended is suspended by integration.test: nothing starts until spec.suspend is false", "spec.suspend was written by integration.test"}},
		"an image that is not there": {[]string{"cronjob/image"}, []string{"cronjob/image waits: Job " + broken.Name + " is still active", "its image cannot be pulled (ImagePullBackOff)"}},
		"a Job":                      {[]string{"job/" + broken.Name}, []string{"is pending: its Pod image-pod waits", "cronjob/image started it for"}},
		"a queue":                    {[]string{"tt/queueing"}, []string{"timetable/queueing waits since", "status.waiting[0]", "spec.concurrency.policy is Queue"}},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := w.in(t).why(kubeconfig, test.args...)
			if err != nil {
				t.Errorf("%v: %s", err, said)
			}
			for _, text := range test.says {
				if !strings.Contains(said, text) {
					t.Errorf("it does not say %q: %s", text, said)
				}
			}
			t.Log(said) // for whoever reads the words of all of it
		})
	}
	if _, err := w.why(kubeconfig, "cronjob/forbiding"); err == nil || !strings.Contains(err.Error(), "did you mean cronjob/forbidding?") {
		t.Errorf("a name that is nearly one: %v", err)
	}
}

// breakImage gives a Job a Pod whose image cannot be pulled, as a kubelet tells it.
func (w *world) breakImage(job *batchv1.Job) {
	w.Helper()
	pods := w.client.CoreV1().Pods(w.namespace)
	pod, err := pods.Create(w.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "image-pod", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, NodeName: "somewhere", Containers: []corev1.Container{{Name: "main", Image: "registry.invalid/none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "registry.invalid/none",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}}}}
	if _, err := pods.UpdateStatus(w.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}
