// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kindbatch "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var statusNow = time.Date(2026, 11, 23, 13, 2, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return statusNow.Add(-d) }

// cronJob is one that started its last time.
func cronJob(namespace, name, schedule string, edit ...func(*batchv1.CronJob)) adapter.Object {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), CreationTimestamp: metav1.NewTime(ago(90 * 24 * time.Hour)),
	}, Spec: batchv1.CronJobSpec{Schedule: schedule}}
	last := metav1.NewTime(statusNow)
	c.Status.LastScheduleTime = &last
	for _, e := range edit {
		e(c)
	}
	return c
}

func scheduled(t testing.TB, objects ...adapter.Object) []*workload.Scheduled {
	t.Helper()
	all, err := workload.ReadTyped(kindbatch.Kind{}, objects, nil, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// runOf is a run of a CronJob that began so long ago.
func runOf(namespace, name string, began time.Duration) run.Run {
	return run.Run{
		UID: types.UID(fmt.Sprintf("%s/%s/%v", namespace, name, began)), APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: name + "-1",
		Owner:         run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: name, UID: types.UID(namespace + "/" + name)},
		ScheduledTime: ago(began), Created: ago(began), Started: ago(began), Outcome: run.Active,
	}
}

func failedRun(namespace, name string, began, took time.Duration, code int32) run.Run {
	r := runOf(namespace, name, began)
	r.Ended, r.Outcome, r.Reason, r.ExitCode = r.Started.Add(took), run.Failed, "BackoffLimitExceeded", &code
	return r
}

func health() status.Facts {
	return status.Facts{
		Carillon: &status.Carillon{DataDir: "/var/lib/carillon", Running: true, StoreBytes: 45 << 20, DiskFree: 12 << 30},
		API:      &status.API{Version: "v1.36.3"},
		Nodes:    []status.Node{{Name: "tower", Ready: true}},
		Journal:  &status.Journal{Dir: "/var/lib/carillon/journal", Runs: 100_000, Oldest: ago(89 * 24 * time.Hour), LogBytes: 600 << 20, DiskBytes: 650 << 20},
	}
}

func suspend(by string, at time.Duration) func(*batchv1.CronJob) {
	return func(c *batchv1.CronJob) {
		yes, when := true, metav1.NewTime(ago(at))
		c.Spec.Suspend = &yes
		c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: by, Time: &when, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`)}}
	}
}

// screens are what the command shows of several situations.
func screens(t testing.TB) map[string]*known {
	of := func(in *status.Input) *known {
		in.Now, in.Since, in.Within = statusNow, statusNow.Add(-24*time.Hour), dueWithin
		return &known{status: status.Of(in), origin: "the journal of the Carillon on /var/lib/carillon, since 2026-08-26", usual: "default"}
	}
	well := of(&status.Input{
		Served: true, Facts: health(),
		Schedules: scheduled(t, cronJob("default", "backup", "30 * * * *"), cronJob("default", "report", "6 13 * * 1-5"), cronJob("default", "nightly", "0 2 * * *")),
		Active:    []run.Run{runOf("default", "backup", 2*time.Minute)},
		Usual:     map[types.UID]status.Usual{"default/backup": {Runs: 20, Median: 4 * time.Minute, Most: 6 * time.Minute}},
	})

	berlin := func(c *batchv1.CronJob) { c.Spec.TimeZone = new("Europe/Berlin") }
	late := func(c *batchv1.CronJob) { c.Status.LastScheduleTime = &metav1.Time{Time: ago(2 * time.Hour)} }
	facts := health()
	facts.Nodes = []status.Node{{Name: "tower", Ready: true, Pressures: []string{"disk"}}}
	facts.Carillon.DiskFree = 90 << 20
	facts.Journal.Waiting, facts.Journal.OldestWaiting = 12, ago(7*time.Minute)
	fixed := failedRun("shop", "mirror", 5*time.Hour, time.Minute, 1)
	fixed.Owner.UID = "shop/mirror"
	job := failedRun("shop", "import", 3*time.Hour, 10*time.Second, 127)
	job.Owner, job.Name = run.Owner{}, "import-2026"
	much := of(&status.Input{
		Served: true, Facts: facts,
		Schedules: scheduled(t,
			cronJob("default", "backup", "30 * * * *"), cronJob("shop", "report", "*/5 * * * *", berlin), cronJob("shop", "mirror", "@hourly"),
			cronJob("shop", "invoices", "15 9 * * 1-5", suspend("kubectl-patch", 50*time.Hour)), cronJob("shop", "wrong", "0 25 * * *"),
			cronJob("team", "stopped", "0 * * * *", late), cronJob("shop", "sync", "*/2 * * * *"), cronJob("shop", "index", "20 14 * * *", berlin),
		),
		Active: []run.Run{runOf("default", "backup", 3*time.Hour), runOf("shop", "sync", 12*time.Minute), runOf("shop", "report", 40*time.Second)},
		Usual: map[types.UID]status.Usual{
			"default/backup": {Runs: 20, Median: 4 * time.Minute, Most: 6 * time.Minute}, "shop/report": {Runs: 20, Median: 50 * time.Second, Most: 55 * time.Second},
		},
		Pods: map[types.UID]status.Pods{"shop/sync/12m0s": {Waits: "waits: its image cannot be pulled (ImagePullBackOff): Back-off pulling image \"registry.example/sync:v9\"", Stuck: true}},
		Failed: []run.Run{
			failedRun("shop", "report", 5*time.Minute, 40*time.Second, 1), failedRun("shop", "report", 10*time.Minute, 40*time.Second, 1),
			failedRun("shop", "report", 15*time.Minute, 40*time.Second, 1), fixed, job,
		},
		Recent: map[types.UID][]run.Run{"shop/mirror": {
			func() run.Run {
				r := runOf("shop", "mirror", time.Hour)
				r.Outcome, r.Ended = run.Succeeded, ago(58*time.Minute)
				return r
			}(), fixed,
		}},
		Omissions: []run.Omission{
			{Namespace: "shop", Owner: run.Owner{Kind: "CronJob", Name: "sync"}, ScheduledTime: ago(10 * time.Minute), Until: ago(2 * time.Minute), Count: 5, Reason: "Overlap", Message: "a run was active, and concurrencyPolicy is Forbid"},
			{Namespace: "default", Owner: run.Owner{Kind: "CronJob", Name: "backup"}, ScheduledTime: ago(9 * time.Hour), Missed: true, Reason: "DeadlineExceeded", Message: "it could not be started within 60 seconds"},
		},
	})
	much.status.Failed[0].Output = []string{"Traceback (most recent call last):", "  File \"report.py\", line 12, in <module>", "ConnectionRefusedError: [Errno 111] Connection refused: db.shop.example:5432, after 3 tries in 30 s"}
	much.status.Failed[1].Output = []string{"/bin/sh: importt: not found"}

	evil := of(&status.Input{
		Served: true, Facts: health(),
		Schedules: scheduled(t, cronJob("default", "a\x1b[31mred", "*/10 * * * *"), cronJob("default", strings.Repeat("very-long-name-", 16), "*/10 * * * *"),
			cronJob("default", "漢字-夜間バックアップ", "*/20 * * * *"), cronJob("default", "n\u202eesrever", "@hourly", suspend("evil\x1b]0;title\x07", time.Hour))),
		Active: []run.Run{runOf("default", strings.Repeat("very-long-name-", 16), 30*time.Second)},
		Failed: []run.Run{failedRun("default", "a\x1b[31mred", time.Minute, time.Second, 3)},
	})
	evil.status.Failed[0].Output = []string{"\x1b]0;owned\x07\x1b[2Jprogress 10%\rprogress 100%", strings.Repeat("x", 300), "\x9b31mC1"}

	down := of(&status.Input{
		Facts: status.Facts{
			Carillon: &status.Carillon{DataDir: "/var/lib/carillon", LastSign: ago(100 * time.Minute)},
			Journal:  &status.Journal{Dir: "/var/lib/carillon/journal", Runs: 412, Oldest: ago(20 * 24 * time.Hour), DiskBytes: 3 << 20},
		},
		Active: []run.Run{runOf("default", "backup", 2*time.Hour)},
		Failed: []run.Run{failedRun("default", "report", 4*time.Hour, 2*time.Second, 1)},
	})
	down.origin += "; that Carillon does not run now"

	cluster := of(&status.Input{
		Served: true,
		Facts: status.Facts{
			API: &status.API{Version: "v1.36.3"}, NodesUnread: `not known: nodes is forbidden: User "dev" cannot list resource "nodes" in API group "" at the cluster scope`,
			Leases: []status.Lease{
				{Component: "carillon-manager", Namespace: "carillon-system", Holder: "carillon-manager-7d9_x", Renewed: ago(3 * time.Minute), Seconds: 15},
				{Component: "kube-controller-manager", Namespace: "kube-system", Holder: "cp-1_4711", Renewed: ago(time.Second), Seconds: 15},
			},
		},
		Schedules: scheduled(t, cronJob("shop", "backup", "30 * * * *")),
	})
	cluster.origin, cluster.usual, cluster.only, cluster.flags = "the objects of the cluster; Jobs that were cleaned up are not known", "shop", "shop", " --context production"
	cluster.server = cluster.flags

	var many []adapter.Object
	var failures []run.Run
	var omissions []run.Omission
	for n := range 10_000 {
		name := fmt.Sprintf("job-%05d", n)
		many = append(many, cronJob("batch", name, fmt.Sprintf("%d %d * * *", n%60, n%24)))
		if n%100 == 0 {
			failures = append(failures, failedRun("batch", name, time.Duration(n+60)*time.Second, time.Second, 1))
		}
		if n%50 == 0 {
			omissions = append(omissions, run.Omission{Namespace: "batch", Owner: run.Owner{Kind: "CronJob", Name: name}, ScheduledTime: ago(time.Duration(n+60) * time.Second), Count: 1, Missed: n%500 == 0, Reason: "Overlap"})
		}
	}
	fleet := of(&status.Input{Served: true, Facts: health(), Schedules: scheduled(t, many...), Failed: failures, Omissions: omissions})

	return map[string]*known{"well": well, "much": much, "evil": evil, "down": down, "cluster": cluster, "fleet": fleet, "empty": of(&status.Input{Served: true, Facts: health()})}
}

// The screens are as they were when somebody read them, at 80 columns on a small terminal and at 120 on a large one.
func TestStatusScreens(t *testing.T) {
	for name, k := range screens(t) {
		for _, size := range []struct{ columns, rows int }{{80, 24}, {120, 50}} {
			t.Run(fmt.Sprintf("%s%d", name, size.columns), func(t *testing.T) {
				text := statusText{known: k, columns: size.columns, rows: size.rows}
				got := text.String()
				for line := range strings.Lines(got) {
					if width := table.Width(strings.TrimSuffix(line, "\n")); width > size.columns {
						t.Errorf("%d columns: %s", width, line)
					}
				}
				if lines := strings.Count(got, "\n"); lines >= size.rows {
					t.Errorf("%d lines on a screen of %d", lines, size.rows)
				}
				golden(t, fmt.Sprintf("status-%s-%d.txt", name, size.columns), got)
			})
		}
	}
}
