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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

func TestDue(t *testing.T) {
	yes := true
	in := input()
	in.Schedules = []*workload.Scheduled{
		cronJob(t, "later", "30 13 * * *", func(c *batchv1.CronJob) { c.Spec.TimeZone = new("Europe/Berlin") }), // 12:30Z
		cronJob(t, "often", "*/10 * * * *"),
		cronJob(t, "berlin", "30 14 * * *", func(c *batchv1.CronJob) { c.Spec.TimeZone = new("Europe/Berlin") }),
		cronJob(t, "every", "@every 25m", func(c *batchv1.CronJob) { c.Status.LastScheduleTime = &metav1.Time{Time: ago(20 * time.Minute)} }),
		cronJob(t, "edge", "2 14 * * *"),
		cronJob(t, "after", "3 14 * * *"),
		cronJob(t, "held", "*/10 * * * *", func(c *batchv1.CronJob) { c.Spec.Suspend = &yes }),
		cronJob(t, "wrong", "61 * * * *"),
		timetable(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: tt, uid: u}, spec: {schedules: [{cron: '15 13 * * *'}], jitter: 10m, template: {spec: {}}}}"),
	}
	s := status.Of(in)
	var got []string
	for _, d := range s.Due {
		got = append(got, fmt.Sprint(d.Reference, " ", d.At.Format("15:04"), " ", d.Zone, " ", d.Count, " ", d.Every, " ", !d.StartsAt.IsZero()))
	}
	want := []string{
		"cronjob/every 13:07  3 25m0s false",
		"cronjob/often 13:10  6 0s false",
		"timetable/tt 13:15  1 0s true",
		"cronjob/berlin 14:30 Europe/Berlin 1 0s false",
		"cronjob/edge 14:02  1 0s false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := now.Add(5 * time.Minute); !s.Next.Equal(want) {
		t.Errorf("next is %v, want %v", s.Next, want)
	}
	if len(s.Blocked) != 1 || s.Blocked[0].Reference != "cronjob/wrong" || s.Blocked[0].Message == "" {
		t.Errorf("what cannot run: %+v", s.Blocked)
	}
	if v := s.Verdict(); v.Well() || v.String() != "1 cannot run: 0 running, 9 schedules, next in 5m" {
		t.Errorf("the verdict is %q", v)
	}
}

func TestPaused(t *testing.T) {
	yes := true
	entry := func(manager, fields string, at time.Time) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}
		if !at.IsZero() {
			e.Time = &metav1.Time{Time: at}
		}
		return e
	}
	held := func(entries ...metav1.ManagedFieldsEntry) func(*batchv1.CronJob) {
		return func(c *batchv1.CronJob) { c.Spec.Suspend, c.ManagedFields = &yes, entries }
	}
	const suspend, other = `{"f:spec":{"f:suspend":{}}}`, `{"f:spec":{"f:schedule":{}}}`
	ofStatus := entry("controller", suspend, ago(time.Second))
	ofStatus.Subresource = "status"
	for name, test := range map[string]struct {
		schedule *workload.Scheduled
		want     status.Paused
	}{
		"nobody tells": {cronJob(t, "x", "@hourly", held()), status.Paused{Cause: cron.PauseSuspended}},
		"who, and when at the latest": {
			cronJob(t, "x", "@hourly", held(entry("helm", other, ago(time.Minute)), entry("kubectl", suspend, ago(time.Hour)), ofStatus)),
			status.Paused{Cause: cron.PauseSuspended, By: "kubectl", Since: ago(time.Hour), AtLatest: true},
		},
		"the last of two": {
			cronJob(t, "x", "@hourly", held(entry("helm", suspend, ago(time.Hour)), entry("kubectl", suspend, ago(time.Minute)))),
			status.Paused{Cause: cron.PauseSuspended, By: "kubectl", Since: ago(time.Minute), AtLatest: true},
		},
		"who, and not when": {cronJob(t, "x", "@hourly", held(entry("helm", suspend, time.Time{}))), status.Paused{Cause: cron.PauseSuspended, By: "helm"}},
		"until then": {
			timetable(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: x}, spec: {schedules: [{cron: '@hourly'}], suspendUntil: '2026-11-24T00:00:00Z', template: {spec: {}}}}"),
			status.Paused{Cause: cron.PauseSuspendedUntil, Until: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)},
		},
		"by failures": {
			timetable(t, `{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: x, generation: 2}, spec: {schedules: [{cron: '@hourly'}], pauseAfterFailures: 3, template: {spec: {}}},
status: {cursor: "2026-11-23T13:00:00Z", consecutiveFailures: 3, pause: {since: "2026-11-23T12:00:05Z", generation: 2}, conditions: [{type: Paused, status: "True", reason: Failures, lastTransitionTime: "2026-11-23T12:00:05Z", message: x}]}}`),
			status.Paused{Cause: cron.PauseFailures, Since: time.Date(2026, 11, 23, 12, 0, 5, 0, time.UTC), Failures: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Schedules = []*workload.Scheduled{test.schedule}
			got := status.Of(in).Paused
			if len(got) != 1 {
				t.Fatalf("%d are paused", len(got))
			}
			test.want.Object = got[0].Object
			if diff := cmp.Diff(test.want, got[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
	over := timetable(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: x}, spec: {schedules: [{cron: '@hourly'}], suspendUntil: '2026-11-23T00:00:00Z', template: {spec: {}}}}")
	in := input()
	in.Schedules = []*workload.Scheduled{over}
	if got := status.Of(in).Paused; len(got) != 0 {
		t.Errorf("what was suspended until today is paused: %+v", got)
	}
}

func TestHealth(t *testing.T) {
	here := func(edit func(*status.Facts)) status.Facts {
		f := status.Facts{
			Carillon: &status.Carillon{DataDir: "/data", Running: true, StoreBytes: 1 << 20, DiskFree: 1 << 30}, API: &status.API{Version: "v1.36.3"},
			Nodes: []status.Node{{Name: "a", Ready: true}}, Journal: &status.Journal{Runs: 1},
		}
		edit(&f)
		return f
	}
	for name, test := range map[string]struct {
		facts status.Facts
		part  string
		state status.State
		text  string // a part of it
		cure  string
	}{
		"all is well":             {here(func(*status.Facts) {}), "control plane", status.Well, "ready, v1.36.3, store 1.0 MiB, 1.0 GiB of disk free", ""},
		"the node is well":        {here(func(*status.Facts) {}), "node", status.Well, "a is ready", ""},
		"the journal is well":     {here(func(*status.Facts) {}), "journal", status.Well, "1 run, 0 B", ""},
		"sizes are not known":     {here(func(f *status.Facts) { f.Carillon.StoreBytes, f.Carillon.DiskFree = -1, -1 }), "control plane", status.Well, "ready, v1.36.3", ""},
		"the disk is full":        {here(func(f *status.Facts) { f.Carillon.DiskFree = 1 << 20 }), "control plane", status.Wrong, "only 1.0 MiB of disk free", "free some space"},
		"the server is not ready": {here(func(f *status.Facts) { f.API.Failing = []string{"etcd", "informer-sync"} }), "control plane", status.Wrong, "because of etcd, informer-sync", "/data/log/carillon.log"},
		"no server answers":       {here(func(f *status.Facts) { f.API = &status.API{Error: "refused"} }), "control plane", status.Wrong, "does not answer: refused", "/data/log"},
		"it does not run":         {status.Facts{Carillon: &status.Carillon{DataDir: "/data", LastSign: ago(time.Hour)}}, "control plane", status.Wrong, "does not run since 2026-11-23 12:02Z (1h ago)", "carillon up --data-dir /data"},
		"the node is not ready": {here(func(f *status.Facts) {
			f.Nodes = []status.Node{{Name: "a", Reason: "KubeletNotReady", Message: "no disk", Since: ago(time.Minute)}}
		}), "node", status.Wrong, "a is not ready for 1m (KubeletNotReady): no disk", "kubectl describe nodes"},
		"the node is short of disk": {here(func(f *status.Facts) { f.Nodes[0].Pressures = []string{"disk", "memory"} }), "node", status.Wrong, "a is short of disk and memory", "image prune"},
		"the node is cordoned":      {here(func(f *status.Facts) { f.Nodes[0].Cordoned = true }), "node", status.Wrong, "cordoned", "kubectl uncordon a"},
		"no node":                   {here(func(f *status.Facts) { f.Nodes = nil }), "node", status.Wrong, "there is none", ""},
		"many nodes": {here(func(f *status.Facts) {
			f.Nodes = []status.Node{{Name: "a", Ready: true}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}
		}), "nodes", status.Wrong, "1 of 5 are ready: b is not ready; c is not ready; d is not ready; and 1 more", "describe nodes"},
		"all nodes are ready":          {here(func(f *status.Facts) { f.Nodes = append(f.Nodes, f.Nodes[0]) }), "nodes", status.Well, "2 are ready", ""},
		"nodes may not be read":        {here(func(f *status.Facts) { f.Nodes, f.NodesUnread = nil, "not known: forbidden" }), "node", status.Unknown, "forbidden", ""},
		"no journal":                   {here(func(f *status.Facts) { f.Journal.None = true }), "journal", status.Unknown, "none is kept", ""},
		"the journal cannot be read":   {here(func(f *status.Facts) { f.Journal.Error = "damaged" }), "journal", status.Wrong, "damaged", ""},
		"the journal lags":             {here(func(f *status.Facts) { f.Journal.Waiting, f.Journal.OldestWaiting = 1, ago(61*time.Second) }), "journal", status.Wrong, "it lags: 1 ended container is not in it yet, the oldest ended 1m1s ago", "disk full"},
		"the journal is a bit late":    {here(func(f *status.Facts) { f.Journal.Waiting, f.Journal.OldestWaiting = 1, ago(time.Minute) }), "journal", status.Well, "1 run", ""},
		"a lease":                      {status.Facts{API: &status.API{}, NodesUnread: "forbidden", Leases: []status.Lease{{Component: "c", Holder: "h", Renewed: ago(time.Second), Seconds: 15}}}, "c", status.Well, "h leads, renewed 1s ago", ""},
		"a lease that ran out":         {status.Facts{API: &status.API{}, NodesUnread: "forbidden", Leases: []status.Lease{{Component: "c", Namespace: "n", Holder: "h", Renewed: ago(31 * time.Second), Seconds: 15}}}, "c", status.Wrong, "has not renewed its lease for 31s", "kubectl get lease c -n n"},
		"a lease of nobody":            {status.Facts{API: &status.API{}, NodesUnread: "forbidden", Leases: []status.Lease{{Component: "c", Namespace: "n"}}}, "c", status.Wrong, "nobody holds", "kubectl get lease"},
		"a lease that may not be read": {status.Facts{API: &status.API{}, NodesUnread: "forbidden", Leases: []status.Lease{{Component: "c", Unread: "not known: forbidden"}}}, "c", status.Unknown, "forbidden", ""},
		"no lease":                     {status.Facts{API: &status.API{}, NodesUnread: "forbidden", Leases: []status.Lease{{Component: "c", Missing: true}}}, "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.Facts = test.facts
			s := status.Of(in)
			found := false
			for _, p := range s.Health {
				if p.Name == "c" && test.part == "" {
					t.Errorf("a lease that is not there is told: %+v", p)
				}
				if p.Name != test.part {
					continue
				}
				found = true
				if p.State != test.state || !strings.Contains(p.Text, test.text) || !strings.Contains(p.Cure, test.cure) || (test.cure == "") != (p.Cure == "") {
					t.Errorf("got %+v", p)
				}
			}
			if found != (test.part != "") {
				t.Errorf("got %+v", s.Health)
			}
			if wrong := test.state == status.Wrong; s.Verdict().Well() == wrong {
				t.Errorf("the verdict is %v", s.Verdict())
			}
			for _, w := range s.Verdict().Wrong {
				if w == "" {
					t.Error("the verdict has no word for it")
				}
			}
		})
	}
}

// A Carillon that does not run has nothing that is longer than usual, and what ran is told as such.
func TestStopped(t *testing.T) {
	in := input()
	in.Served, in.Facts = false, status.Facts{Carillon: &status.Carillon{DataDir: "/data"}}
	in.Active = []run.Run{a("x", 100*time.Hour, run.Active, 0)}
	s := status.Of(in)
	if !s.Stopped || s.Running[0].Long || !s.Running[0].Run.Left || s.Verdict().String() != "Carillon does not run: 1 not ended when Carillon stopped" {
		t.Errorf("got %+v, %q", s.Running, s.Verdict())
	}
}

// Lists are never null, and a program reads back what there is to see.
func TestDocument(t *testing.T) {
	text, err := json.Marshal(status.Of(input()).Document())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("it has null: %s", text)
	}
	in := input()
	in.Active, in.Failed = []run.Run{a("x", time.Minute, run.Active, 0)}, []run.Run{a("y", time.Hour, run.Failed, time.Second)}
	in.Omissions = []run.Omission{{Namespace: "shop", Owner: run.Owner{Kind: "Timetable", Name: "t"}, ScheduledTime: ago(time.Hour), Missed: true, Reason: "Outage"}}
	in.Schedules = []*workload.Scheduled{cronJob(t, "x", "0 * * * *"), cronJob(t, "bad", "x"), cronJob(t, "late", "0 * * * *", func(c *batchv1.CronJob) { c.Status.LastScheduleTime = nil })}
	d := status.Of(in).Document()
	if d.Well || len(d.Wrong) != 3 || d.Running[0].AgeSeconds != 60 || d.Failed[0].Reference != "cronjob/y" || d.Missed[0].Reference != "timetable/t" ||
		!d.Failed[0].Deleted || len(d.Due) != 2 || len(d.Blocked) != 1 || len(d.Late) != 1 || d.Due[0].Count != 1 || d.Failed[0].Run.Outcome != run.Failed {
		text, _ := json.MarshalIndent(d, "", " ")
		t.Errorf("got %s", text)
	}
}
