// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kindbatch "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var now = time.Date(2026, 11, 23, 13, 2, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func input() *status.Input {
	return &status.Input{Now: now, Since: ago(24 * time.Hour), Within: time.Hour, Served: true}
}

func cronJob(t *testing.T, name, schedule string, edits ...func(*batchv1.CronJob)) *workload.Scheduled {
	t.Helper()
	c := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(ago(1000 * time.Hour))},
		Spec:       batchv1.CronJobSpec{Schedule: schedule},
		Status:     batchv1.CronJobStatus{LastScheduleTime: &metav1.Time{Time: now}},
	}
	for _, edit := range edits {
		edit(c)
	}
	all, err := workload.ReadTyped(kindbatch.Kind{}, []adapter.Object{c}, nil, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func timetable(t *testing.T, text string) *workload.Scheduled {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	all, err := workload.Read([]workload.Object{{Content: &unstructured.Unstructured{Object: content}}}, workload.Options{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return all.Scheduled[0]
}

func a(name string, began time.Duration, outcome run.Outcome, took time.Duration) run.Run {
	r := run.Run{
		UID: types.UID(name + began.String()), APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name + "-1",
		Owner:         run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: name, UID: types.UID(name)},
		ScheduledTime: ago(began), Created: ago(began), Started: ago(began), Outcome: outcome,
	}
	if outcome.Ended() {
		r.Ended = r.Started.Add(took)
	}
	return r
}

func TestRunning(t *testing.T) {
	usual := status.Usual{Runs: 20, Median: time.Minute, Most: 2 * time.Minute}
	suspended := a("held", time.Hour, run.Active, 0)
	suspended.Suspended, suspended.Started = true, time.Time{}
	own := a("x", time.Minute, run.Active, 0)
	own.Owner, own.Name = run.Owner{}, "import"
	for name, test := range map[string]struct {
		run   run.Run
		usual status.Usual
		pods  status.Pods
		want  string
		long  bool
		stuck bool
		waits string
	}{
		"as long as ever":             {run: a("x", 2*time.Minute+time.Second, run.Active, 0), usual: usual, want: "cronjob/x"},
		"longer than any":             {run: a("x", 2*time.Minute+2*time.Second, run.Active, 0), usual: usual, want: "cronjob/x", long: true},
		"too few to compare":          {run: a("x", time.Hour, run.Active, 0), usual: status.Usual{Runs: 2, Median: 1, Most: 1}, want: "cronjob/x"},
		"nothing to compare":          {run: a("x", time.Hour, run.Active, 0), want: "cronjob/x"},
		"stuck":                       {run: a("x", time.Hour, run.Active, 0), pods: status.Pods{Waits: "waits", Stuck: true}, want: "cronjob/x", stuck: true, waits: "waits"},
		"one of several is stuck":     {run: a("x", time.Hour, run.Active, 0), pods: status.Pods{Running: 1, Waits: "waits", Stuck: true}, want: "cronjob/x", stuck: true, waits: "waits"},
		"one of several begins":       {run: a("x", time.Hour, run.Active, 0), pods: status.Pods{Running: 1, Waits: "begins"}, want: "cronjob/x"},
		"suspended":                   {run: suspended, want: "cronjob/held", waits: "its Job is suspended"},
		"a Job that nobody schedules": {run: own, want: "job/import"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Active = []run.Run{test.run}
			in.Usual = map[types.UID]status.Usual{test.run.Owner.UID: test.usual}
			in.Pods = map[types.UID]status.Pods{test.run.UID: test.pods}
			got := status.Of(in).Running[0]
			if got.Reference != test.want || got.Long != test.long || got.Stuck != test.stuck || got.Waits != test.waits {
				t.Errorf("got %+v", got)
			}
		})
	}
	in := input()
	in.Active = []run.Run{a("new", time.Minute, run.Active, 0), a("old", time.Hour, run.Active, 0), a("stuck", 2*time.Minute, run.Active, 0)}
	in.Pods = map[types.UID]status.Pods{"stuck2m0s": {Waits: "waits", Stuck: true}}
	var order []string
	for _, r := range status.Of(in).Running {
		order = append(order, r.Reference)
	}
	if got := strings.Join(order, " "); got != "cronjob/stuck cronjob/old cronjob/new" {
		t.Errorf("the order is %s", got)
	}
}

func TestFailed(t *testing.T) {
	failed := func(began time.Duration) run.Run { return a("x", began, run.Failed, time.Second) }
	retry := func(r run.Run, n int) run.Run { r.Retry, r.UID = n, r.UID+types.UID("r"); return r }
	for name, test := range map[string]struct {
		failed, recent []run.Run
		schedule       func(*batchv1.CronJob)
		gone           bool
		count, inARow  int
		more, persists bool
	}{
		"the first one ever": {failed: []run.Run{failed(time.Hour)}, recent: []run.Run{failed(time.Hour)}, count: 1, inARow: 1, more: true, persists: true},
		"after a success":    {failed: []run.Run{failed(time.Hour)}, recent: []run.Run{failed(time.Hour), a("x", 2*time.Hour, run.Succeeded, 1)}, count: 1, inARow: 1, persists: true},
		"the third in a row": {
			failed: []run.Run{failed(1 * time.Hour), failed(2 * time.Hour), failed(3 * time.Hour)},
			recent: []run.Run{a("x", time.Minute, run.Active, 0), failed(1 * time.Hour), failed(2 * time.Hour), a("x", 150*time.Minute, run.Cancelled, 1), failed(3 * time.Hour),
				a("x", 4*time.Hour, run.Succeeded, 1), failed(5 * time.Hour)},
			count: 3, inARow: 3, persists: true,
		},
		"some failed before that": {failed: []run.Run{failed(time.Hour)}, recent: []run.Run{failed(time.Hour), failed(30 * time.Hour), failed(31 * time.Hour)}, count: 1, inARow: 3, more: true, persists: true},
		"attempts of one time":    {failed: []run.Run{retry(failed(time.Hour), 2), failed(time.Hour)}, recent: []run.Run{retry(failed(time.Hour), 2), failed(time.Hour), a("x", 2*time.Hour, run.Succeeded, 1)}, count: 1, inARow: 1, persists: true},
		"a later run succeeded":   {failed: []run.Run{failed(time.Hour)}, recent: []run.Run{a("x", time.Minute, run.Succeeded, 1), failed(time.Hour), failed(2 * time.Hour), a("x", 3*time.Hour, run.Succeeded, 1)}, count: 1, inARow: 2},
		"nothing was looked up":   {failed: []run.Run{failed(time.Hour), failed(2 * time.Hour)}, count: 2, inARow: 2, more: true, persists: true},
		"its status tells of success": {failed: []run.Run{failed(time.Hour)}, count: 1, inARow: 1, more: true,
			schedule: func(c *batchv1.CronJob) { c.Status.LastSuccessfulTime = &metav1.Time{Time: ago(time.Minute)} }},
		"its status tells of an older success": {failed: []run.Run{failed(time.Hour)}, count: 1, inARow: 1, more: true, persists: true,
			schedule: func(c *batchv1.CronJob) { c.Status.LastSuccessfulTime = &metav1.Time{Time: ago(2 * time.Hour)} }},
		"its CronJob is gone": {failed: []run.Run{failed(time.Hour)}, gone: true, count: 1, inARow: 1, more: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Failed = test.failed
			if test.recent != nil {
				in.Recent = map[types.UID][]run.Run{"x": test.recent}
			}
			if !test.gone {
				in.Schedules = []*workload.Scheduled{cronJob(t, "x", "@hourly", func(c *batchv1.CronJob) {
					if test.schedule != nil {
						test.schedule(c)
					}
				})}
			}
			all := status.Of(in).Failed
			if len(all) != 1 {
				t.Fatalf("got %d failures", len(all))
			}
			got := all[0]
			if got.Count != test.count || got.InARow != test.inARow || got.More != test.more || got.Persists() != test.persists || got.Deleted != test.gone {
				t.Errorf("count %d, in a row %d, more %v, persists %v, deleted %v", got.Count, got.InARow, got.More, got.Persists(), got.Deleted)
			}
		})
	}
	job := a("x", time.Minute, run.Failed, 1)
	job.Owner, job.Name = run.Owner{}, "import"
	other := job
	other.UID = "other"
	in := input()
	in.Failed = []run.Run{job, other, a("y", time.Hour, run.Failed, 1)}
	if got := status.Of(in); len(got.Failed) != 3 || got.Failed[0].More || got.Failed[0].Reference != "job/import" {
		t.Errorf("Jobs of their own: %+v", got.Failed)
	}
	if got := status.Owners(in.Failed); !cmp.Equal(got, []types.UID{"y"}) {
		t.Errorf("the owners are %v", got)
	}
}

// Of a scheduled time that is tried again the last try decides: one that succeeded is no failure, and one that is to
// come or goes on alarms nobody.
func TestFailedTries(t *testing.T) {
	try := func(n int, outcome run.Outcome) run.Run {
		r := a("flaky", time.Hour, outcome, time.Second)
		r.Owner.Kind, r.Retry, r.UID = "Timetable", n, types.UID(fmt.Sprint(n))
		return r
	}
	timetable := func(limit int, active ...cron.ActiveRun) *workload.Scheduled {
		s := cronJob(t, "flaky", "@hourly")
		s.Policy.Retry.Limit, s.Memory.Active = limit, active
		return s
	}
	soon := ago(-time.Minute)
	older := a("flaky", 2*time.Hour, run.Failed, time.Second)
	older.Owner.Kind = "Timetable"
	for name, test := range map[string]struct {
		failed, recent, active []run.Run
		schedule               *workload.Scheduled
		want                   string
	}{
		"the last try succeeded":       {failed: []run.Run{try(2, run.Failed), try(1, run.Failed)}, recent: []run.Run{try(3, run.Succeeded), try(2, run.Failed), try(1, run.Failed)}, schedule: timetable(3)},
		"it waits for the next try":    {failed: []run.Run{try(1, run.Failed)}, schedule: timetable(3, cron.ActiveRun{Time: ago(time.Hour), Attempt: 1, RetryAt: &soon}), want: "0 of 1, retrying"},
		"its status does not know yet": {failed: []run.Run{try(1, run.Failed)}, schedule: timetable(3, cron.ActiveRun{Time: ago(time.Hour), Attempt: 1}), want: "0 of 1, retrying"},
		"the next try goes on":         {failed: []run.Run{try(1, run.Failed)}, active: []run.Run{try(2, run.Active)}, schedule: timetable(3), want: "0 of 1, retrying"},
		"no try is left":               {failed: []run.Run{try(2, run.Failed), try(1, run.Failed)}, schedule: timetable(1, cron.ActiveRun{Time: ago(time.Hour), Attempt: 2}), want: "1 of 2, persists"},
		"another failed before":        {failed: []run.Run{try(1, run.Failed), older}, schedule: timetable(3, cron.ActiveRun{Time: ago(time.Hour), Attempt: 1, RetryAt: &soon}), want: "1 of 1, persists"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Failed, in.Active, in.Schedules = test.failed, test.active, []*workload.Scheduled{test.schedule}
			if test.recent != nil {
				in.Recent = map[types.UID][]run.Run{"flaky": test.recent}
			}
			got := ""
			s := status.Of(in)
			for _, f := range s.Failed {
				got = fmt.Sprintf("%d of %d", f.Count, f.Tries)
				if f.Persists() {
					got += ", persists"
				}
				if f.Retrying {
					got += ", retrying"
				}
			}
			if got != test.want || len(s.Failed) > 1 {
				t.Errorf("got %d failures: %s, want %s", len(s.Failed), got, test.want)
			}
		})
	}
}

func TestMissed(t *testing.T) {
	o := func(name string, at time.Duration, missed bool, reason string, count int64) run.Omission {
		return run.Omission{Namespace: "shop", Owner: run.Owner{Kind: "CronJob", Name: name}, ScheduledTime: ago(at), Missed: missed, Reason: reason, Count: count, Message: reason + at.String()}
	}
	in := input()
	span := o("x", 10*time.Hour, false, "Overlap", 5)
	span.Until = ago(9 * time.Hour)
	in.Omissions = []run.Omission{o("x", time.Hour, false, "Overlap", 0), o("y", 2*time.Hour, true, "Outage", 3), span, o("held", time.Minute, false, "Suspended", 1), o("x", time.Minute, false, "Suspended", 1)}
	yes := true
	in.Schedules = []*workload.Scheduled{cronJob(t, "held", "@hourly", func(c *batchv1.CronJob) { c.Spec.Suspend = &yes }), cronJob(t, "x", "@hourly")}
	var got []string
	s := status.Of(in)
	for _, m := range s.Missed {
		text, err := json.Marshal([]any{m.Reference, m.Missed, m.Reason, m.Message, m.Count, m.First.Format("15:04"), m.Last.Format("15:04")})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	want := []string{
		`["cronjob/y",true,"Outage","Outage2h0m0s",3,"11:02","11:02"]`,
		`["cronjob/x",false,"Suspended","Suspended1m0s",1,"13:01","13:01"]`,
		`["cronjob/x",false,"Overlap","Overlap1h0m0s",6,"03:02","12:02"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v := s.Verdict().String(); !strings.HasPrefix(v, "3 missed: 0 running, 2 schedules, next in ") {
		t.Errorf("the verdict is %q", v)
	}
}

// What nobody started is late only where nothing explains it.
func TestLate(t *testing.T) {
	last := func(d time.Duration) func(*batchv1.CronJob) {
		return func(c *batchv1.CronJob) { c.Status.LastScheduleTime = &metav1.Time{Time: ago(d)} }
	}
	yes, deadline, short := true, int64(600), int64(60)
	for name, test := range map[string]struct {
		schedule string
		edits    []func(*batchv1.CronJob)
		want     string
	}{
		"started":          {"0 * * * *", []func(*batchv1.CronJob){last(2 * time.Minute)}, ""},
		"not started":      {"0 * * * *", []func(*batchv1.CronJob){last(62 * time.Minute)}, "13:00"},
		"due a moment ago": {"1 * * * *", []func(*batchv1.CronJob){last(61 * time.Minute)}, ""},
		"long ago":         {"0 9 * * *", []func(*batchv1.CronJob){last(28 * time.Hour)}, ""},
		"suspended":        {"0 * * * *", []func(*batchv1.CronJob){last(62 * time.Minute), func(c *batchv1.CronJob) { c.Spec.Suspend = &yes }}, ""},
		"made after it": {"0 * * * *", []func(*batchv1.CronJob){func(c *batchv1.CronJob) {
			c.Status.LastScheduleTime, c.CreationTimestamp = nil, metav1.NewTime(ago(time.Minute))
		}}, ""},
		"made before it": {"0 * * * *", []func(*batchv1.CronJob){func(c *batchv1.CronJob) {
			c.Status.LastScheduleTime, c.CreationTimestamp = nil, metav1.NewTime(ago(time.Hour))
		}}, "13:00"},
		"one runs":                    {"0 * * * *", []func(*batchv1.CronJob){last(62 * time.Minute), func(c *batchv1.CronJob) { c.Status.Active = []corev1.ObjectReference{{Name: "x-1"}} }}, ""},
		"it may still start":          {"0 * * * *", []func(*batchv1.CronJob){last(62 * time.Minute), func(c *batchv1.CronJob) { c.Spec.StartingDeadlineSeconds = &deadline }}, "13:00"},
		"it may not start any more":   {"0 * * * *", []func(*batchv1.CronJob){last(62 * time.Minute), func(c *batchv1.CronJob) { c.Spec.StartingDeadlineSeconds = &short }}, ""},
		"nobody can read it":          {"0 25 * * *", []func(*batchv1.CronJob){last(62 * time.Minute)}, ""},
		"the next one of an interval": {"@every 5m", []func(*batchv1.CronJob){last(12 * time.Minute)}, "13:00"},
		"it is being deleted":         {"0 * * * *", []func(*batchv1.CronJob){last(62 * time.Minute), func(c *batchv1.CronJob) { c.DeletionTimestamp = &metav1.Time{Time: now} }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Schedules = []*workload.Scheduled{cronJob(t, "x", test.schedule, test.edits...)}
			got := ""
			if all := status.Of(in).Late; len(all) > 0 {
				got = all[0].Due.Format("15:04")
			}
			if got != test.want {
				t.Errorf("late since %q, want %q", got, test.want)
			}
		})
	}
	in := input()
	in.Schedules = []*workload.Scheduled{timetable(t, `{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: sync}, spec: {schedules: [{cron: '0 * * * *'}], template: {spec: {}}},
status: {cursor: "2026-11-23T13:00:00Z", waiting: [{scheduledTime: "2026-11-23T12:00:00Z", startsAt: "2026-11-23T12:00:00Z", trigger: Schedule, reason: Overlap, message: one runs},
{scheduledTime: "2026-11-23T13:00:00Z", startsAt: "2026-11-23T13:00:00Z", trigger: Schedule, reason: Overlap}]}}`)}
	got := status.Of(in).Late
	if len(got) != 1 || got[0].Reference != "timetable/sync" || got[0].Reason != "Overlap" || got[0].Message != "one runs" || got[0].Others != 1 {
		t.Errorf("a Timetable whose times wait: %+v", got)
	}
}
