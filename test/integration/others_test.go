// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	builtincronjob "k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// startBuiltinCronJobs runs Kubernetes' own CronJob controller, as kube-controller-manager does, until stop is called.
// It serves the namespace of the test: objects of old API servers that other tests have left make it panic.
func (w *world) startBuiltinCronJobs() (stop func()) {
	w.Helper()
	config := w.plane.Config()
	config.QPS = -1
	config.UserAgent = "kube-controller-manager/v1.36.3 (linux/amd64)"
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(w.namespace))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	crons, err := builtincronjob.NewControllerV2(ctx, factory.Batch().V1().Jobs(), factory.Batch().V1().CronJobs(), client)
	if err != nil {
		cancel()
		w.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { crons.Run(ctx, 5) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	w.Cleanup(stop)
	return stop
}

// overdue makes a CronJob whose last full minute has not been served.
func (w *world) overdue(name string) *batchv1.CronJob {
	w.Helper()
	cj := w.createCronJob(make.CronJob(w.namespace, name).Schedule("* * * * *").Suspend(true))
	patch := fmt.Appendf(nil, `{"status":{"lastScheduleTime":%q}}`, time.Now().Add(-10*time.Minute).Truncate(time.Minute).UTC().Format(time.RFC3339))
	crons := w.client.BatchV1().CronJobs(w.namespace)
	if _, err := crons.Patch(w.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{FieldManager: "kubectl-patch"}, "status"); err != nil {
		w.Fatal(err)
	}
	if _, err := crons.Patch(w.Context(), name, "application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
	return cj
}

// started waits for a Job of the CronJob and returns it with the name of its maker.
func (w *world) started(cj *batchv1.CronJob) (job batchv1.Job, maker string) {
	w.Helper()
	w.eventually("a Job of "+cj.Name, func(ctx context.Context) error {
		jobs := w.jobsOf(ctx, cj)
		if len(jobs) == 0 {
			return errors.New("none")
		}
		job = jobs[0]
		return nil
	})
	for _, e := range job.ManagedFields {
		if e.Subresource == "" {
			maker = e.Manager
		}
	}
	return job, maker
}

// CJ-194: where the cluster's own CronJob controller is at work we pause as soon as it shows: nothing is started
// or deleted, and readiness, a metric and an event say so. When it is gone we go on (docs/start.md).
func TestAnotherCronJobController(t *testing.T) {
	p := plane.Start(t)
	var ours traffic
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t), clock: clocktesting.NewFakeClock(time.Now())}
	// What this test leaves would be a fresh trace for the next one.
	t.Cleanup(func() {
		crons := w.client.BatchV1().CronJobs(w.namespace)
		if err := crons.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	})
	stopBuiltin := w.startBuiltinCronJobs()
	options := manager.Options{
		Config: ours.on(p.Config()), Controllers: []string{manager.CronJob}, Clock: clock.RealClock{}, Zone: time.UTC,
		HealthAddr: freeAddr(t), MetricsAddr: freeAddr(t), MetricsInsecure: true, TakeoverAfter: 3 * time.Second,
	}
	w.run(options)
	state := func(status int, text, metric string) error {
		got, body, err := get("http://" + options.HealthAddr + "/readyz?verbose")
		if err == nil && (got != status || !strings.Contains(body, text)) {
			return fmt.Errorf("/readyz: %d %s", got, body)
		}
		_, metrics, metricsErr := get("http://" + options.MetricsAddr + "/metrics")
		if err = errors.Join(err, metricsErr); err == nil && !strings.Contains(metrics, "\n"+metric+"\n") {
			return fmt.Errorf("no %s in the metrics", metric)
		}
		return err
	}

	// Both may start it: the name of the Job lets only one.
	rounds := 0
	w.eventually("we pause", func(context.Context) error {
		rounds++
		cj := w.overdue(fmt.Sprintf("both-%d", rounds))
		job, _ := w.started(cj)
		w.complete(&job)
		if n := len(w.jobsOf(t.Context(), cj)); n != 1 {
			t.Fatalf("%d Jobs for one scheduled time", n)
		}
		return state(http.StatusInternalServerError, "kinds failed", `carillon_cronjob_standing_back{kind="cronjobs.batch"} 1`)
	})
	t.Logf("seen after %d runs that both wanted to start", rounds)
	w.eventually("an event", func(ctx context.Context) error {
		events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=AnotherController"})
		if err == nil && (len(events.Items) != 1 || events.Items[0].Type != corev1.EventTypeWarning ||
			!strings.Contains(events.Items[0].Message, "--controllers=*,-cronjob-controller")) {
			err = fmt.Errorf("%v", events.Items)
		}
		return err
	})

	since := time.Now()
	job, maker := w.started(w.overdue("theirs"))
	w.complete(&job)
	if maker != "kube-controller-manager" {
		t.Errorf("started by %s", maker)
	}
	for _, write := range ours.in(w.namespace, func(made write) bool { return made.resource == "jobs" && made.begun.After(since) }) {
		t.Errorf("we wrote: %v", write)
	}

	stopBuiltin()
	cj := w.overdue("ours")
	if _, maker := w.started(cj); maker != "carillon-manager" {
		t.Errorf("started by %s", maker)
	}
	w.said(cj, "SuccessfulCreate")
	w.eventually("we serve", func(context.Context) error {
		return state(http.StatusOK, "kinds ok", `carillon_cronjob_standing_back{kind="cronjobs.batch"} 0`)
	})
	w.eventually("an event", func(ctx context.Context) error {
		events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=NoOtherController"})
		if err == nil && len(events.Items) == 0 {
			err = apierrors.NewNotFound(corev1.Resource("events"), "NoOtherController")
		}
		return err
	})
}

// What the cluster's own controller did shortly before us shows too: nothing is started by us before it has let a start
// pass.
func TestAnotherControllerBeforeUs(t *testing.T) {
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t), clock: clocktesting.NewFakeClock(time.Now())}
	t.Cleanup(func() {
		crons := w.client.BatchV1().CronJobs(w.namespace)
		if err := crons.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	})
	stop := w.startBuiltinCronJobs()
	cj := w.overdue("theirs")
	w.eventually("it is served", func(ctx context.Context) error {
		if len(w.cronJob(ctx, cj.Name).Status.Active) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	var ours traffic
	health := freeAddr(t)
	w.run(manager.Options{
		Config: ours.on(p.Config()), Controllers: []string{manager.CronJob}, Clock: clock.RealClock{}, Zone: time.UTC, HealthAddr: health,
	})
	w.eventually("we pause", func(context.Context) error {
		status, body, err := get("http://" + health + "/readyz?verbose")
		if err == nil && (status != http.StatusInternalServerError || !strings.Contains(body, "kinds failed")) {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
	if job, maker := w.started(w.overdue("next")); maker != "kube-controller-manager" {
		t.Errorf("%s was started by %s", job.Name, maker)
	}
	if n := len(ours.in(w.namespace, nil)); n > 0 {
		t.Errorf("%d writes of ours", n)
	}
	stop()
}
