// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// apply sends fields of the CronJob tick by server-side apply, as that field manager.
func (w *world) apply(manager string, fields string) *batchv1.CronJob {
	w.Helper()
	data := fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}%s}`, fields)
	cj, err := w.client.BatchV1().CronJobs(w.namespace).Patch(w.Context(), "tick", types.ApplyPatchType, []byte(data),
		metav1.PatchOptions{FieldManager: manager, Force: ptr.To(true)})
	if err != nil {
		w.Fatal(err)
	}
	return cj
}

// idle is a namespace of the plane that no manager serves, and the options for one.
func idle(t *testing.T) (*world, manager.Options) {
	t.Helper()
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t), clock: clocktesting.NewFakeClock(time.Now())}
	options := cronOnly
	options.Config, options.Clock, options.Zone = p.Config(), w.clock, time.UTC
	return w, options
}

// template is the part of a CronJob that does not matter.
func template(image string) string {
	return fmt.Sprintf(`"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": %q}]}}}}`, image)
}

// A manager that owns nothing but the time zone takes it away: its entry in managed fields is gone, and what is left
// tells of earlier changes. No run starts for a time that the schedule now names in the past, whether the controller
// sees the edit while it runs or finds it after a restart; then it says what that may have passed over. The next time
// does start (B2).
func TestTimeZoneRemovedByItsOnlyManager(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("the controller runs: %v", running), func(t *testing.T) {
			w, options := idle(t)
			stop := w.run(options)
			w.apply("author", `, "spec": {"schedule": "* * * * *", `+template("i")+`}`)
			w.pass(1)
			cj := w.cronJob(t.Context(), "tick")
			w.runs(cj, 1, 1)

			// In the zone that day's time is over or far; in UTC it is in five minutes.
			past := w.clock.Now().UTC().Truncate(time.Minute).Add(5 * time.Minute)
			w.apply("author", fmt.Sprintf(`, "spec": {"schedule": "%d %d * * *", "timeZone": "Etc/GMT-5", %s}`, past.Minute(), past.Hour(), template("i")))
			w.apply("zones", `, "spec": {"timeZone": "Etc/GMT-5"}`)
			w.apply("author", fmt.Sprintf(`, "spec": {"schedule": "%d %d * * *", %s}`, past.Minute(), past.Hour(), template("i")))
			recorded := func(zone bool) {
				t.Helper()
				w.eventually(fmt.Sprintf("the schedule is recorded, with its zone: %v", zone), func(ctx context.Context) error {
					got := w.cronJob(ctx, "tick").Annotations["carillon.dev/timetable"]
					if !strings.Contains(got, fmt.Sprintf("%d %d * * *", past.Minute(), past.Hour())) || strings.Contains(got, "Etc/GMT-5") != zone {
						return fmt.Errorf("annotation %q", got)
					}
					return nil
				})
			}
			recorded(true)
			if !running {
				stop()
			}
			w.clock.SetTime(past.Add(5 * time.Minute))

			after := w.apply("zones", "")
			if after.Spec.TimeZone != nil || slices.ContainsFunc(after.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == "zones" }) {
				t.Fatalf("time zone %v, managed fields %v", after.Spec.TimeZone, after.ManagedFields)
			}
			if !running {
				w.run(options)
			}
			recorded(false)
			if n := len(w.jobsOf(t.Context(), cj)); n != 1 {
				t.Errorf("%d runs, want the one before the edit", n)
			}
			if !running {
				if e := w.said(cj, "MissSchedule"); !strings.Contains(e.Message, past.Format(time.RFC3339)) || !strings.Contains(e.Message, "reason edit") {
					t.Errorf("event %s, want %v with reason edit", e.Message, past)
				}
			}
			next := past.AddDate(0, 0, 1)
			w.clock.SetTime(next.Add(50 * time.Millisecond))
			jobs := w.runs(cj, 2, 2)
			if want := fmt.Sprintf("tick-%d", next.Unix()/60); jobs[1].Name != want {
				t.Errorf("started %s, want %s", jobs[1].Name, want)
			}
		})
	}
}

// Labels that are applied while nothing runs, by the manager that owns the schedule, lose no run: the first record of
// the CronJob says that the schedule is the old one.
func TestLabelsAppliedWhileNothingRuns(t *testing.T) {
	w, options := idle(t)
	stop := w.run(options)
	spec := func(image string) string { return `"spec": {"schedule": "* * * * *", ` + template(image) + `}` }
	w.apply("author", ", "+spec("one"))
	cj := w.apply("author", ", "+spec("two")) // generation 2
	w.pass(1)
	w.runs(cj, 1, 1)
	stop()

	w.pass(5)
	due := w.clock.Now().Truncate(time.Minute)
	labelled := fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick", "labels": {"team": "night"}}, %s}`, spec("two"))
	if _, err := w.client.BatchV1().CronJobs(w.namespace).Patch(t.Context(), "tick", types.ApplyPatchType, []byte(labelled),
		metav1.PatchOptions{FieldManager: "author", Force: ptr.To(true)}); err != nil {
		t.Fatal(err)
	}
	w.clock.SetTime(due.Add(40 * time.Second)) // managed fields tell of a change after the run was due
	w.run(options)
	jobs := w.runs(cj, 2, 2)
	if want := fmt.Sprintf("tick-%d", due.Unix()/60); jobs[1].Name != want {
		t.Errorf("started %s, want %s", jobs[1].Name, want)
	}
	if e := w.said(cj, "MissSchedule"); e.Type != corev1.EventTypeWarning || !strings.Contains(e.Message, "4 scheduled times") {
		t.Errorf("event %s %s, want the four that were missed", e.Type, e.Message)
	}
}

// Replace starts beside a run that somebody started by hand, and says so.
func TestCronJobReplaceLeavesManualRuns(t *testing.T) {
	w := newWorld(t, cronOnly)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *").Policy(batchv1.ReplaceConcurrent))
	manual := make.Job(w.namespace, "by-hand").Annotation("cronjob.kubernetes.io/instantiate", "manual").Of(cj).New()
	if _, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), manual, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.said(cj, "UnexpectedJob")
	w.pass(1)
	w.runs(cj, 2, 1)
	w.said(cj, "ManualJobActive")
	w.pass(1)
	w.said(cj, "SuccessfulDelete") // of the first scheduled one
	if _, err := w.client.BatchV1().Jobs(w.namespace).Get(t.Context(), "by-hand", metav1.GetOptions{}); err != nil {
		t.Errorf("the manual run: %v", err)
	}
}
