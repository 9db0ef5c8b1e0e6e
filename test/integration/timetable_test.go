// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// timetableStatus reads the status of the Timetable.
func (w *world) timetableStatus(ctx context.Context, name string) (*v1alpha1.TimetableStatus, error) {
	obj, err := w.objects(timetables).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	tt := &v1alpha1.Timetable{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, tt); err != nil {
		return nil, err
	}
	return &tt.Status, nil
}

// jobsLabelled lists the Jobs of a Timetable.
func (w *world) jobsLabelled(ctx context.Context, name string) ([]batchv1.Job, error) {
	list, err := w.client.BatchV1().Jobs(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelTimetableName + "=" + name})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// A Timetable starts Jobs against a real API server, which takes what is written, and tells how they end; one that
// names a Calendar waits for it (TT-002, TT-004, TT-014, TT-053, TT-119).
func TestTimetable(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	addr := freeAddr(t)
	w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable},
		MetricsAddr: addr, MetricsInsecure: true})
	for name, exclude := range map[string][]any{"plain": nil, "careful": {map[string]any{"calendar": "holidays"}}} {
		obj := w.here(vectors.Timetable(t), name)
		spec := obj.Object["spec"].(map[string]any)
		spec["schedules"] = []any{map[string]any{"cron": "* * * * *"}}
		if exclude != nil {
			spec["exclude"] = exclude
		}
		if _, err := w.objects(timetables).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ready := func(ctx context.Context, name, reason string) error {
		s, err := w.timetableStatus(ctx, name)
		if err != nil {
			return err
		}
		if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != reason {
			return fmt.Errorf("condition Ready is %+v", c)
		}
		return nil
	}
	w.step("the missing Calendar is told", func(ctx context.Context) error { return ready(ctx, "careful", "CalendarNotFound") })

	var first batchv1.Job
	w.step("a Job is started", func(ctx context.Context) error {
		jobs, err := w.jobsLabelled(ctx, "plain")
		if err != nil || len(jobs) != 1 {
			return fmt.Errorf("%d Jobs: %w", len(jobs), err)
		}
		first = jobs[0]
		return nil
	})
	w.step("the next time waits", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "plain")
		if err != nil {
			return err
		}
		if s.ActiveCount != 1 || s.WaitingCount != 1 || s.Active[0].Name != first.Name || s.Waiting[0].Reason != "Overlap" {
			return fmt.Errorf("active %+v, waiting %+v", s.Active, s.Waiting)
		}
		return nil
	})
	w.complete(&first)
	w.eventually("its end is told, and the one that waits is started", func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, "plain")
		if err != nil {
			return err
		}
		if s.Counts.Succeeded != 1 || s.Counts.Started != 2 || len(s.Ledger) == 0 || s.LastSuccessfulTime == nil {
			return fmt.Errorf("counts %+v, ledger %+v", s.Counts, s.Ledger)
		}
		return nil
	})

	if jobs, err := w.jobsLabelled(t.Context(), "careful"); err != nil || len(jobs) > 0 {
		t.Errorf("%d Jobs without the Calendar, %v", len(jobs), err)
	}
	calendar := w.here(vectors.Decode(t, `{apiVersion: batch.carillon.dev/v1alpha1, kind: Calendar, metadata: {name: holidays}, spec: {periods: [{period: "1999-12-25"}]}}`), "")
	if _, err := w.objects(calendars).Create(t.Context(), calendar, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is ready with the Calendar", func(ctx context.Context) error { return ready(ctx, "careful", "Accepted") })
	w.step("it starts a Job", func(ctx context.Context) error {
		if jobs, err := w.jobsLabelled(ctx, "careful"); err != nil || len(jobs) == 0 {
			return fmt.Errorf("no Job: %w", err)
		}
		return nil
	})
	w.seesTimetableMetrics(addr)
}

// seesTimetableMetrics compares what the manager serves with what has happened, in the form that Prometheus likes.
func (w *world) seesTimetableMetrics(addr string) {
	w.Helper()
	want := []string{
		`carillon_timetable_start_lateness_seconds_count{trigger="Schedule"}`,
		`carillon_timetable_times_total{reason="",result="Succeeded"} 1`,
		`carillon_timetable_times_total{reason="Outage",result="Missed"}`,
		`carillon_timetable_runs_total{result="Succeeded",trigger="Schedule"} 1`,
		`carillon_timetable_active 2`,
		`carillon_timetable_waiting{reason="Overlap"}`,
		`carillon_timetable_conditions{status="True",type="Ready"} 2`,
		`carillon_timetable_template_checks_total{result="Accepted"}`,
		`carillon_timetable_outcome_errors_total 0`,
		`carillon_timetable_sync_failures_total`,
	}
	w.eventually("the metrics tell it", func(context.Context) error {
		status, body, err := get("http://" + addr + "/metrics")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("status %d: %w", status, err)
		}
		for _, line := range want {
			if !strings.Contains(body, "\n"+line) {
				return fmt.Errorf("there is no %s", line)
			}
		}
		problems, err := promlint.New(strings.NewReader(body)).Lint()
		for _, problem := range problems {
			if strings.HasPrefix(problem.Metric, "carillon_timetable_") {
				w.Errorf("%s: %s", problem.Metric, problem.Text)
			}
		}
		return err
	})
}

// The shortest Timetable of the contract (timetable.md 14.1) is served on a cluster as it stands (TT-224).
func TestTimetableOfSixLinesOnACluster(t *testing.T) {
	text, err := os.ReadFile("../../docs/contract/timetable.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "14.1 Six lines.\n```yaml\n")
	shortest, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("the contract has no section 14.1")
	}
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	w.run(manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}})
	obj := w.here(vectors.Decode(t, shortest), "hello")
	if _, err := w.objects(timetables).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is accepted", func(ctx context.Context) error { return w.readyIs(ctx, "hello", "Accepted", "") })
	w.step("it runs", func(ctx context.Context) error {
		jobs, err := w.jobsLabelled(ctx, "hello")
		if err != nil || len(jobs) != 1 {
			return fmt.Errorf("%d Jobs: %w", len(jobs), err)
		}
		if c := jobs[0].Spec.Template.Spec.Containers[0]; c.Image != "busybox" || len(c.Command) != 1 || c.Command[0] != "date" {
			t.Errorf("the Job runs %+v", c)
		}
		w.complete(&jobs[0])
		return nil
	})
	w.ended("hello", 1)
}

// ended waits until so many runs of a Timetable have succeeded, of as many that were started.
func (w *world) ended(name string, runs int64) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d runs of %s have ended", runs, name), func(ctx context.Context) error {
		s, err := w.timetableStatus(ctx, name)
		if err != nil || s.Counts.Succeeded != runs || s.Counts.Started != runs {
			return fmt.Errorf("counts %+v: %w", s, err)
		}
		return nil
	})
}

// deleteJobs deletes the Jobs of a Timetable, as their time to live does.
func (w *world) deleteJobs(name string) {
	w.Helper()
	now := metav1.DeletePropagationBackground
	if err := w.client.BatchV1().Jobs(w.namespace).DeleteCollection(w.Context(), metav1.DeleteOptions{PropagationPolicy: &now},
		metav1.ListOptions{LabelSelector: v1alpha1.LabelTimetableName + "=" + name}); err != nil {
		w.Fatal(err)
	}
	w.eventually("the Jobs of "+name+" are gone", func(ctx context.Context) error {
		if jobs, err := w.jobsLabelled(ctx, name); err != nil || len(jobs) > 0 {
			return fmt.Errorf("%d Jobs: %w", len(jobs), err)
		}
		return nil
	})
}
