// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// inputOf is the input for an object of an API server, in YAML.
func inputOf(t *testing.T, text string) Input {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	all, err := workload.Read([]workload.Object{{Content: object}}, workload.Options{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Now: at, Object: Object{Kind: object.GetKind(), Namespace: "shop", Name: object.GetName()}, Next: 5, Entries: 8, Places: 78}
	if object.GetKind() == "Job" {
		in.Evidence = diagnosis.Gather(all, nil, "shop", object.GetName())
	} else {
		in.Evidence = diagnosis.Gather(all, all.Scheduled[0], "", "")
	}
	in.Evidence.Now = at
	return in
}

const template = "{spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}"

// null is a field without a value, outside of texts.
var null = regexp.MustCompile(`[^\\]":null`)

// Whatever an object is, there is something to say of it, what is most important first.
func TestOf(t *testing.T) {
	cronJob := func(more string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, namespace: shop, uid: u, creationTimestamp: \"2026-10-18T00:00:00Z\"}\nspec: {jobTemplate: {spec: {template: " + template + "}}, " + more + "}"
	}
	timetable := func(more, status string) string {
		return "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a, namespace: shop, uid: u, generation: 1, creationTimestamp: \"2026-10-18T00:00:00Z\"}\nspec: {template: {spec: {template: " + template + "}}, " + more + "}\nstatus: {" + status + "}"
	}
	for name, test := range map[string]struct {
		object  string
		verdict diagnosis.Verdict
		first   string // "" for nothing
		next    int
		held    bool
		line    bool
	}{
		"hourly":              {object: cronJob(`schedule: "0 * * * *"`), verdict: diagnosis.CannotTell, next: 5, line: true},
		"an interval":         {object: cronJob(`schedule: "@every 3h"`), verdict: diagnosis.CannotTell, next: 5, line: true},
		"suspended":           {object: cronJob(`suspend: true, schedule: "0 * * * *"`), verdict: diagnosis.Suspended, next: 5, held: true, line: true},
		"no such schedule":    {object: cronJob(`schedule: "61 * * * *"`), verdict: diagnosis.NotReady, first: "Nothing is scheduled"},
		"no schedule":         {object: cronJob(`suspend: false`), verdict: diagnosis.NotReady, first: "Nothing is scheduled"},
		"no such zone":        {object: cronJob(`schedule: "0 * * * *", timeZone: Europe/Brelin`), verdict: diagnosis.NotReady, first: "Europe/Brelin"},
		"never in time":       {object: cronJob(`schedule: "0 * * * *", startingDeadlineSeconds: 0`), verdict: diagnosis.Missed, first: "Nothing starts as it is written"},
		"a Timetable":         {object: timetable(`schedules: [{cron: "0 * * * *"}]`, `cursor: "2026-10-19T08:00:00Z"`), verdict: diagnosis.NotDue, next: 5, line: true},
		"suspended until":     {object: timetable(`suspendUntil: "2026-10-20T00:00:00Z", schedules: [{cron: "0 * * * *"}]`, `cursor: "2026-10-19T08:00:00Z"`), verdict: diagnosis.Suspended, next: 5, held: true, line: true},
		"no cron":             {object: timetable(`schedules: [{cron: "x"}]`, ``), verdict: diagnosis.NotReady, first: "x"},
		"no schedules at all": {object: timetable(`suspend: false`, ``), verdict: diagnosis.NotReady, first: "schedule"},
		"all past":            {object: timetable(`schedules: [{at: ["2026-10-18T10:00"]}]`, `cursor: "2026-10-19T08:00:00Z"`), verdict: diagnosis.Completed, line: true},
		"with jitter":         {object: timetable(`jitter: 30m, schedules: [{cron: "0 * * * *"}]`, `cursor: "2026-10-19T08:00:00Z"`), verdict: diagnosis.NotDue, next: 5, line: true},
		"a Job":               {object: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: shop}\nspec: {template: " + template + "}", verdict: diagnosis.NotServed},
		"a Job that ends": {
			object:  "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: shop, deletionTimestamp: \"2026-10-19T08:00:00Z\", finalizers: [x/y]}\nspec: {template: " + template + "}",
			verdict: diagnosis.Deleting, first: "It is being deleted, since 20m ago; it waits for x/y.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Of(inputOf(t, test.object))
			if d.State.Verdict != test.verdict || d.State.Summary == "" {
				t.Errorf("state %+v, want %s", d.State, test.verdict)
			}
			if (test.first == "") != (len(d.First) == 0) || !strings.Contains(strings.Join(d.First, " "), test.first) {
				t.Errorf("first of all: %q, want %q", d.First, test.first)
			}
			if (d.Timeline != nil) != test.line {
				t.Errorf("timeline %+v", d.Timeline)
			}
			if (d.Schedule == nil) != (d.Object.Kind == "Job") || d.Schedule != nil && (len(d.Schedule.Next) != test.next || d.Schedule.Held != test.held) {
				t.Errorf("schedule %+v", d.Schedule)
			}
			if len(d.Steps) == 0 {
				t.Error("nothing leads on")
			}
			text, err := json.Marshal(d)
			if err != nil || null.Match(text) {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// Of what is gone all that is remembered is told, and why nobody could be asked.
func TestOfWhatIsGone(t *testing.T) {
	in := Input{Now: at, Object: Object{Kind: "CronJob", Namespace: "shop", Name: "a"}, Runs: []run.Run{ended(time.Hour, time.Minute, run.Failed)}, Entries: 8, Places: 78}
	d := Of(in)
	if !d.Gone || len(d.First) != 1 || !strings.Contains(d.First[0], "it was deleted") || d.Timeline == nil || len(d.Entries) != 1 || d.State.Summary != "1 run remembered; the last one, of 1h ago, failed" {
		t.Errorf("%+v", d)
	}
	in.NoServer = "it does not run"
	if d = Of(in); !strings.Contains(d.First[0], "it does not run") || strings.Contains(d.First[0], "deleted") {
		t.Errorf("%q", d.First)
	}
	in.Runs[0].Reason, in.Object.Kind = "DeadlineExceeded", "Job"
	if d = Of(in); d.State.Verdict != diagnosis.Failed || d.State.Summary != "failed 59m ago: DeadlineExceeded" || d.Timeline != nil {
		t.Errorf("%+v", d.State)
	}
	in.Runs = nil
	if d = Of(in); d.State.Summary != "0 runs remembered" {
		t.Errorf("%+v", d.State)
	}
}

// A run is overdue when it has run for longer than any of the last ones that succeeded, unless it is suspended.
func TestOverdue(t *testing.T) {
	active := func(ago time.Duration, suspended bool) run.Run {
		return run.Run{ScheduledTime: at.Add(-ago), Created: at.Add(-ago), Outcome: run.Active, Suspended: suspended}
	}
	in := Input{
		Now: at, Object: Object{Kind: "CronJob"}, Usual: Usual{Runs: 20, Median: time.Minute, Most: 2 * time.Minute}, Places: 78,
		Runs: []run.Run{active(time.Minute, false), active(time.Hour, false), active(2*time.Hour, true)},
	}
	var got []bool
	for _, a := range Of(in).Active { // the oldest first
		got = append(got, a.Overdue)
	}
	if len(got) != 3 || got[0] || !got[1] || got[2] {
		t.Errorf("overdue: %v", got)
	}
	in.Usual = Usual{}
	if d := Of(in); d.Usual != nil || d.Active[1].Overdue {
		t.Errorf("nobody knows what is usual: %+v", d)
	}
}
