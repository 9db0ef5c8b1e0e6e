// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

var cronOnly = manager.Options{Controllers: []string{manager.CronJob}}

func (w *world) createCronJob(b make.CronJobBuilder) *batchv1.CronJob {
	w.Helper()
	cj, err := w.client.BatchV1().CronJobs(w.namespace).Create(w.Context(), b.New(), metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return cj
}

func (w *world) cronJob(ctx context.Context, name string) *batchv1.CronJob {
	w.Helper()
	cj, err := w.client.BatchV1().CronJobs(w.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return cj
}

// pass lets the clock run past the next n full minutes: of its own, or of the server, which stamps creations, should
// that be ahead.
func (w *world) pass(n int) {
	now := w.clock.Now()
	if server := time.Now(); server.After(now) {
		now = server
	}
	w.clock.SetTime(now.Truncate(time.Minute).Add(time.Duration(n)*time.Minute + 50*time.Millisecond))
}

// runs waits until the CronJob has exactly the wanted number of Jobs and its status agrees, and returns them by age.
func (w *world) runs(cj *batchv1.CronJob, jobs, active int) []batchv1.Job {
	w.Helper()
	var found []batchv1.Job
	w.eventually(fmt.Sprintf("%d Jobs of %s, %d active", jobs, cj.Name, active), func(ctx context.Context) error {
		found = w.jobsOf(ctx, cj)
		if n := len(w.cronJob(ctx, cj.Name).Status.Active); n != active || len(found) != jobs {
			return fmt.Errorf("%d Jobs, %d active", len(found), n)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b batchv1.Job) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// noted waits until the controller has seen a schedule, and returns the annotation that says so: an edit counts from
// when it is seen, so whoever edits must not move the clock before.
func (w *world) noted(name, schedule string) (annotation string) {
	w.T.Helper()
	w.eventually("the schedule "+schedule+" is noted", func(ctx context.Context) error {
		got := w.cronJob(ctx, name)
		if annotation = got.Annotations[adapter.AnnotationTimetable]; !strings.Contains(annotation, schedule) {
			return fmt.Errorf("schedule %q, annotation %q", got.Spec.Schedule, annotation)
		}
		return nil
	})
	return annotation
}

// said waits for an event about the object.
func (w *world) said(about metav1.Object, reason string) corev1.Event {
	w.Helper()
	var found corev1.Event
	w.eventually("event "+reason, func(ctx context.Context) error {
		events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var others []string
		for _, e := range events.Items {
			if e.InvolvedObject.UID == about.GetUID() {
				if e.Reason == reason {
					found = e
					return nil
				}
				others = append(others, e.Reason)
			}
		}
		return fmt.Errorf("only %v", others)
	})
	return found
}

// A CronJob's life as a user sees it: runs on time, one after the other, with status, events and history.
func TestCronJobRuns(t *testing.T) {
	w := newWorld(t, cronOnly)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *").History(1, 1))

	w.pass(1)
	due := w.clock.Now().Truncate(time.Minute)
	first := w.runs(cj, 1, 1)[0]
	if want := fmt.Sprintf("tick-%d", due.Unix()/60); first.Name != want {
		t.Errorf("the Job is called %s, want %s", first.Name, want)
	}
	if got, want := first.Annotations[batchv1.CronJobScheduledTimestampAnnotation], due.UTC().Format(time.RFC3339); got != want {
		t.Errorf("scheduled time %s, want %s", got, want)
	}
	if last := w.cronJob(t.Context(), "tick").Status.LastScheduleTime; last == nil || !last.Time.Equal(due) {
		t.Errorf("lastScheduleTime %v, want %v", last, due)
	}
	e := w.said(cj, "SuccessfulCreate")
	if e.Source.Component != "cronjob-controller" || e.Type != corev1.EventTypeNormal || !strings.Contains(e.Message, first.Name) {
		t.Errorf("event %+v", e)
	}

	w.complete(&first)
	w.runs(cj, 1, 0)
	w.said(cj, "SawCompletedJob")
	if last := w.cronJob(t.Context(), "tick").Status.LastSuccessfulTime; last == nil {
		t.Error("lastSuccessfulTime is not set")
	}

	w.pass(1)
	second := w.runs(cj, 2, 1)[1]
	w.complete(&second)
	kept := w.runs(cj, 1, 0)
	if kept[0].UID != second.UID {
		t.Errorf("history of one keeps %s, want the newer one %s", kept[0].Name, second.Name)
	}
	w.said(cj, "SuccessfulDelete")
}

// An outage of any length starts the latest missed run, and only that one (CJ-005, CJ-006).
func TestCronJobAfterOutage(t *testing.T) {
	w := newWorld(t, cronOnly)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
	w.pass(1)
	w.runs(cj, 1, 1)
	w.pass(500)
	due := w.clock.Now().Truncate(time.Minute)
	jobs := w.runs(cj, 2, 2)
	if want := fmt.Sprintf("tick-%d", due.Unix()/60); jobs[1].Name != want {
		t.Errorf("started %s, want %s", jobs[1].Name, want)
	}
	w.said(cj, "TooManyMissedTimes")
}

// `kubectl create job --from=cronjob/tick`: the Job belongs to the CronJob, blocks Forbid while it runs (B1), and lets
// the skipped run start late when it ends.
func TestCronJobManualRun(t *testing.T) {
	w := newWorld(t, cronOnly)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *").Policy(batchv1.ForbidConcurrent))
	manual := make.Job(w.namespace, "by-hand").Annotation("cronjob.kubernetes.io/instantiate", "manual").Of(cj).New()
	manual, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), manual, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.said(cj, "UnexpectedJob")
	w.pass(1)
	w.said(cj, "JobAlreadyActive")
	w.runs(cj, 1, 0)
	w.complete(manual)
	w.runs(cj, 2, 1)
}

// Replace deletes what runs, and starts the new one.
func TestCronJobReplace(t *testing.T) {
	w := newWorld(t, cronOnly)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *").Policy(batchv1.ReplaceConcurrent))
	w.pass(1)
	first := w.runs(cj, 1, 1)[0]
	w.pass(1)
	w.eventually("the second run alone", func(ctx context.Context) error {
		jobs := w.jobsOf(ctx, cj)
		if len(jobs) != 1 || jobs[0].UID == first.UID {
			return fmt.Errorf("%d Jobs", len(jobs))
		}
		return nil
	})
	w.runs(cj, 1, 1)
	w.said(cj, "SuccessfulDelete")
}

// While suspended nothing starts; on resume the latest missed run starts, once (CJ-120, CJ-121).
func TestCronJobSuspendAndResume(t *testing.T) {
	w := newWorld(t, cronOnly)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
	witness := w.createCronJob(make.CronJob(w.namespace, "witness").Schedule("* * * * *").Suspend(true))
	w.pass(1)
	w.runs(cj, 1, 1)
	suspend := func(name string, v bool) {
		patch := fmt.Appendf(nil, `{"spec":{"suspend":%v}}`, v)
		if _, err := w.client.BatchV1().CronJobs(w.namespace).Patch(t.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	suspend("tick", true)
	// What the controller does for a second CronJob, edited later, proves what it has seen of the first.
	suspend("witness", false)
	w.runs(witness, 1, 1)
	w.pass(7)
	w.runs(witness, 2, 2)
	w.runs(cj, 1, 1)
	w.pass(1)
	suspend("tick", false)
	due := w.clock.Now().Truncate(time.Minute)
	jobs := w.runs(cj, 2, 2)
	if want := fmt.Sprintf("tick-%d", due.Unix()/60); jobs[1].Name != want {
		t.Errorf("resumed with %s, want the latest missed run %s", jobs[1].Name, want)
	}
}

// A schedule that is edited, here by server-side apply, starts nothing for times before the edit (B2); the next time
// of the new schedule does start.
func TestCronJobEditBySSA(t *testing.T) {
	w := newWorld(t, cronOnly)
	apply := func(schedule string) *batchv1.CronJob {
		cj := make.CronJob(w.namespace, "tick").Schedule(schedule).New()
		cj.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}
		data := w.json(cj)
		got, err := w.client.BatchV1().CronJobs(w.namespace).Patch(t.Context(), "tick", types.ApplyYAMLPatchType, data,
			metav1.PatchOptions{FieldManager: "somebody", Force: ptr.To(true)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	cj := apply("* * * * *")
	w.pass(1)
	w.runs(cj, 1, 1)
	if again := apply("* * * * *"); again.Generation != 1 {
		t.Errorf("applying the same again made generation %d", again.Generation)
	}
	now := w.clock.Now().UTC()
	past := now.Add(-10 * time.Minute)
	edited := fmt.Sprintf("%d %d * * *", past.Minute(), past.Hour()) // ten minutes ago, and tomorrow
	apply(edited)
	w.noted("tick", edited)
	w.runs(cj, 1, 1)
	soon := now.Add(3 * time.Minute)
	edited = fmt.Sprintf("%d %d * * *", soon.Minute(), soon.Hour())
	apply(edited)
	w.noted("tick", edited)
	w.pass(3)
	jobs := w.runs(cj, 2, 2)
	if want := fmt.Sprintf("tick-%d", soon.Unix()/60); jobs[1].Name != want {
		t.Errorf("started %s, want %s", jobs[1].Name, want)
	}
}

// Deleting a CronJob takes its Jobs along in the background and in the foreground, and leaves them when orphaned.
func TestCronJobDelete(t *testing.T) {
	for policy, left := range map[metav1.DeletionPropagation]int{
		metav1.DeletePropagationBackground: 0,
		metav1.DeletePropagationForeground: 0,
		metav1.DeletePropagationOrphan:     1,
	} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t, cronOnly)
			cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
			w.pass(1)
			job := w.runs(cj, 1, 1)[0]
			if err := w.client.BatchV1().CronJobs(w.namespace).Delete(t.Context(), "tick", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			w.eventually(fmt.Sprintf("CronJob deleted, %d Jobs left", left), func(ctx context.Context) error {
				if _, err := w.client.BatchV1().CronJobs(w.namespace).Get(ctx, "tick", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("the CronJob is still there"), err)
				}
				got, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, job.Name, metav1.GetOptions{})
				switch {
				case apierrors.IsNotFound(err) && left == 0:
					return nil
				case err == nil && left == 1 && len(got.OwnerReferences) == 0:
					return nil
				}
				return errors.Join(fmt.Errorf("the Job has %d owners", len(got.OwnerReferences)), err)
			})
		})
	}
}

// A CronJob that is deleted and made again under the same name is another one: it starts afresh (A16).
func TestCronJobRecreated(t *testing.T) {
	w := newWorld(t, cronOnly)
	background := metav1.DeletePropagationBackground
	for range 3 {
		cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
		w.pass(1)
		name := fmt.Sprintf("tick-%d", w.clock.Now().Unix()/60)
		w.eventually("the run of the new one", func(ctx context.Context) error {
			job, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil && !metav1.IsControlledBy(job, cj) {
				return fmt.Errorf("controlled by %v", job.OwnerReferences)
			}
			return err
		})
		if err := w.client.BatchV1().CronJobs(w.namespace).Delete(t.Context(), "tick", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Fatal(err)
		}
	}
}

// A namespace that is deleted takes everything along, whatever the controller tries in it meanwhile (CJ-088).
func TestCronJobNamespaceGoes(t *testing.T) {
	w := newWorld(t, cronOnly)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
	w.pass(1)
	w.runs(cj, 1, 1)
	if err := w.client.CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.pass(1)
	w.eventually("the namespace is gone", func(ctx context.Context) error {
		if _, err := w.client.CoreV1().Namespaces().Get(ctx, w.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the namespace is still there"), err)
		}
		return nil
	})
}

// With a quota of one Job, history is pruned before the start is tried again, so the CronJob never locks itself out
// (A9, CJ-090).
func TestCronJobQuota(t *testing.T) {
	w := newWorld(t, cronOnly)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": *quantity("1")}},
	}
	if _, err := w.client.CoreV1().ResourceQuotas(w.namespace).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *").History(0, 0))
	var last types.UID
	for range 3 {
		w.pass(1)
		var job batchv1.Job
		w.eventually("one run", func(ctx context.Context) error {
			jobs := w.jobsOf(ctx, cj)
			if len(jobs) != 1 || jobs[0].UID == last {
				return fmt.Errorf("%d Jobs", len(jobs))
			}
			job = jobs[0]
			return nil
		})
		last = job.UID
		w.complete(&job)
	}
	w.runs(cj, 0, 0)
}
