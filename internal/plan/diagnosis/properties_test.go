// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// anyTime is an instant of the days around the present, often a full hour.
func anyTime(t *rapid.T, label string) string {
	minutes := rapid.IntRange(-3*24*60, 60).Draw(t, label)
	if rapid.Bool().Draw(t, label+" is an hour") {
		minutes -= minutes%60 + 15
	}
	return now.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
}

func maybe(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

// anyJob is a Job in any state.
func anyJob(t *rapid.T, made func(scheduled, created string, change func(*batchv1.Job)) *batchv1.Job) *batchv1.Job {
	created := anyTime(t, "created")
	return made(anyTime(t, "scheduled"), created, func(j *batchv1.Job) {
		switch rapid.IntRange(0, 4).Draw(t, "state") {
		case 0:
			complete(anyTime(t, "ended"))(j)
		case 1:
			failed(anyTime(t, "ended"), rapid.SampledFrom([]string{"", "BackoffLimitExceeded", "DeadlineExceeded", "Strange"}).Draw(t, "reason"), "of course")(j)
		case 2:
			byHand(j)
		case 3:
			j.Spec.Suspend, j.Status = new(true), batchv1.JobStatus{}
		}
		if maybe(t, "without annotations") {
			j.Annotations = nil
		}
	})
}

func anyPod(t *rapid.T, j *batchv1.Job) *corev1.Pod {
	return podOf(j, rapid.SampledFrom([]func(*corev1.Pod){
		running, unschedulable, waiting("ImagePullBackOff", "no"), waiting("", ""), exited(1, "Error", ""), exited(0, "", ""),
		func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }, func(p *corev1.Pod) { p.DeletionTimestamp = atp("2026-11-23T08:00:00Z") },
	}).Draw(t, "pod"))
}

func anyEvent(t *rapid.T, kind, name string) *corev1.Event {
	reason := rapid.SampledFrom([]string{"SuccessfulCreate", "JobAlreadyActive", "FailedCreate", "MissSchedule", "SawCompletedJob", "RunStarted", "CreateFailed"}).Draw(t, "event")
	message := rapid.SampledFrom([]string{"", "Created job " + name + "-29923260", "of " + anyTime(t, "told"), "from " + anyTime(t, "first") + " to " + anyTime(t, "last") + ", reason outage: x", "exceeded quota: small, requested"}).Draw(t, "message")
	return said(kind, name, anyTime(t, "said"), "Normal", reason, message)
}

func anyCronJob(t *rapid.T) *batchv1.CronJob {
	return cronJob(func(c *batchv1.CronJob) {
		c.Spec.Schedule = rapid.SampledFrom([]string{"0 2 * * *", "*/10 * * * *", "@hourly", "@every 1h", "0 2 30 2 *", "nonsense", ""}).Draw(t, "schedule")
		c.Spec.TimeZone = rapid.SampledFrom([]*string{nil, new("Europe/Rome"), new("Asia/Kathmandu"), new("nowhere")}).Draw(t, "zone")
		c.Spec.ConcurrencyPolicy = rapid.SampledFrom([]batchv1.ConcurrencyPolicy{"Allow", "Forbid", "Replace", ""}).Draw(t, "policy")
		c.Spec.Suspend = new(maybe(t, "suspended"))
		if maybe(t, "has a deadline") {
			c.Spec.StartingDeadlineSeconds = new(rapid.SampledFrom([]int64{0, 60, 3600, 1 << 62}).Draw(t, "deadline"))
		}
		c.Status = batchv1.CronJobStatus{}
		if maybe(t, "has started") {
			c.Status.LastScheduleTime = atp(anyTime(t, "last schedule"))
		}
		if maybe(t, "has succeeded") {
			c.Status.LastSuccessfulTime = atp(anyTime(t, "last success"))
		}
		if maybe(t, "has no owner of fields") {
			c.ManagedFields = nil
		}
	})
}

func anyTimetable(t *rapid.T) *v1alpha1.Timetable {
	return timetableOf(func(tt *v1alpha1.Timetable) {
		tt.Spec.Schedules = rapid.SampledFrom([][]v1alpha1.Schedule{{{Cron: "0 * * * *"}}, {{Every: new(v1alpha1.Duration("90m"))}}, {{At: []v1alpha1.Moment{"2026-11-23T07:00"}}}, {{Cron: "x"}}, nil}).Draw(t, "schedules")
		tt.Spec.Concurrency.Policy = rapid.SampledFrom([]v1alpha1.ConcurrencyPolicy{"", "Forbid", "Queue", "Replace", "Allow"}).Draw(t, "policy")
		tt.Spec.Suspend = maybe(t, "suspended")
		if maybe(t, "has no status") {
			tt.Status = v1alpha1.TimetableStatus{}
		}
		for range rapid.IntRange(0, 3).Draw(t, "results") {
			entry := v1alpha1.LedgerEntry{ScheduledTime: at(anyTime(t, "of")), Result: rapid.SampledFrom([]v1alpha1.Result{"Succeeded", "Failed", "Cancelled", "Skipped", "Missed"}).Draw(t, "result"),
				Reason: rapid.SampledFrom([]string{"", "Outage", "Overlap", "Deadline", "Strange"}).Draw(t, "why")}
			if maybe(t, "tells its start") {
				entry.StartTime, entry.Run = atp(anyTime(t, "start")), "report-x"
			}
			tt.Status.Ledger = append(tt.Status.Ledger, entry)
		}
		if maybe(t, "waits") {
			tt.Status.Waiting = []v1alpha1.WaitingTime{{ScheduledTime: at(anyTime(t, "waiting")), Reason: rapid.SampledFrom([]string{"Overlap", "NotReady", "CreateFailed", ""}).Draw(t, "for")}}
		}
		if maybe(t, "is active") {
			tt.Status.Active = []v1alpha1.ActiveRun{{Name: "report-y", ScheduledTime: at(anyTime(t, "active")), Attempt: 1, StartTime: at(anyTime(t, "since"))}}
		}
	})
}

// anyObjects are a CronJob or Timetable and what may be around it.
func anyObjects(t *rapid.T) (all []any, names map[string]bool) {
	names = map[string]bool{}
	made, kind, name := run, "CronJob", "backup"
	if maybe(t, "a Timetable") {
		all, kind, name = append(all, anyTimetable(t)), "Timetable", "report"
		made = func(scheduled, created string, change func(*batchv1.Job)) *batchv1.Job {
			return reportRun(scheduled, created, rapid.SampledFrom([]string{"schedule", "catch-up", "manual"}).Draw(t, "trigger"), rapid.IntRange(1, 3).Draw(t, "attempt"), change)
		}
	} else {
		all = append(all, anyCronJob(t))
	}
	for range rapid.IntRange(0, 4).Draw(t, "jobs") {
		j := anyJob(t, made)
		if names["Job "+j.Name] {
			continue
		}
		all, names["Job "+j.Name] = append(all, j), true
		if maybe(t, "has a pod") {
			p := anyPod(t, j)
			all, names["Pod "+p.Name] = append(all, p), true
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		e := anyEvent(t, kind, name)
		all, names["event "+e.Reason] = append(all, e), true
	}
	for _, o := range []any{kubernetesWorks, nobodyWorks, carillonWorks, quota, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "data"}}} {
		if maybe(t, "there is one more") {
			all = append(all, o)
		}
	}
	return all, names
}

// shownWithoutObjects are sources that are the object itself, or what follows from it.
var shownWithoutObjects = []string{"spec", "status", "metadata", "managedFields", "schedule", "decision", "condition ", "annotation ", "API server", "Lease ", "Namespace ", "ResourceQuota "}

// Whatever there is, an answer comes; it says that something ran only if something shows it, and each piece of evidence
// is from what there is.
func TestAnswersRestOnEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects, names := anyObjects(t)
		all := read(t, objects...)
		e := diagnosis.Gather(all, all.Scheduled[0], "data", "")
		e.Now = now
		e.Read = diagnosis.Kinds{Jobs: maybe(t, "Jobs"), Pods: maybe(t, "Pods"), Events: maybe(t, "Events"), Leases: maybe(t, "Leases")}
		question := diagnosis.Question{}
		if maybe(t, "about a time") {
			at, err := diagnosis.ParseAt(anyTime(t, "asked"), now, e.Zone())
			if err != nil {
				t.Fatal(err)
			}
			question.At = &at
		}
		answer := diagnosis.Explain(e, question)
		check(t, answer, names)
		if again := diagnosis.Explain(e, question); fmt.Sprint(again) != fmt.Sprint(answer) && again.Text(80) != answer.Text(80) {
			t.Error("the same question has two answers")
		}
	})
}

func TestAnswersAboutJobsRestOnEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects, names := anyObjects(t)
		j := anyJob(t, run)
		objects, names["Job "+j.Name] = append(objects, j), true
		e := diagnosis.Gather(read(t, objects...), nil, "data", j.Name)
		e.Now = now
		check(t, diagnosis.Explain(e, diagnosis.Question{}), names)
	})
}

func check(t *rapid.T, answer diagnosis.Answer, names map[string]bool) {
	if answer.Verdict == "" || answer.Summary == "" {
		t.Errorf("no verdict: %+v", answer)
	}
	ran := slices.Contains([]diagnosis.Verdict{diagnosis.RanOnTime, diagnosis.RanLate, diagnosis.RanByHand, diagnosis.Ran}, answer.Verdict)
	shown := false
	for _, p := range answer.Evidence {
		if p.Text == "" {
			t.Errorf("%s shows nothing", p.Source)
		}
		known := names[p.Source] || slices.ContainsFunc(shownWithoutObjects, func(prefix string) bool { return strings.HasPrefix(p.Source, prefix) })
		if !known {
			t.Errorf("nothing that there is is called %q", p.Source)
		}
		for _, of := range []string{"Job ", "journal", "event ", "status.active", "status.ledger", "status.lastScheduleTime"} {
			shown = shown || strings.HasPrefix(p.Source, of)
		}
	}
	if ran && !shown {
		t.Errorf("it is said to have run, and nothing shows it: %+v", answer.Evidence)
	}
	if text := answer.Text(80); !strings.Contains(text, "\n") || strings.Contains(text, "%!") {
		t.Errorf("not a text: %s", text)
	}
}
