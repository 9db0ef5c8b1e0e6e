// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
)

// Runs of objects that may have any number of them are active from their start until they end.
func TestRunning(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var texts []string
		for n := range rapid.IntRange(0, 6).Draw(r, "objects") {
			texts = append(texts, cronJob(fmt.Sprintf("a-%d", n), minuteTexts.Draw(r, "minute")+" "+hourTexts.Draw(r, "hour")+" * * *", ""))
		}
		o := day(froms.Draw(r, "from"))
		o.Duration = time.Duration(rapid.IntRange(1, 40000).Draw(r, "seconds")) * time.Second
		objects := read(t, texts...)
		active := make([]int64, 1440*60)
		for _, s := range objects {
			for _, start := range planned(s, o.From.Add(-o.Duration), o.From.Add(o.Length)) {
				for sec := max(0, start.Unix()-o.From.Unix()); sec < min(int64(len(active)), start.Add(o.Duration).Unix()-o.From.Unix()); sec++ {
					active[sec]++
				}
			}
		}
		got := forecast.Of(objects, o).Running
		for minute := range 1440 {
			if want := slices.Max(active[minute*60 : minute*60+60]); got[minute] != want {
				r.Fatalf("in minute %d %d runs are active, want %d", minute, got[minute], want)
			}
		}
	})
}

// The concurrency policy says how many runs there are at once.
func TestRunningPolicies(t *testing.T) {
	tests := map[string]struct {
		text     string
		duration time.Duration
		want     string // active runs of the first ten minutes
	}{
		"Allow":                    {cronJob("a", "*/2 0 * * *", ""), 5 * time.Minute, "1 1 2 2 3 2 3 2 3 2"},
		"Forbid":                   {cronJob("a", "*/2 0 * * *", ", concurrencyPolicy: Forbid"), 5 * time.Minute, "1 1 1 1 1 1 1 1 1 1"},
		"Forbid, late is too late": {cronJob("a", "*/4 0 * * *", ", concurrencyPolicy: Forbid, startingDeadlineSeconds: 30"), 6 * time.Minute, "1 1 1 1 1 1 0 0 1 1"},
		"Replace":                  {cronJob("a", "*/4 0 * * *", ", concurrencyPolicy: Replace"), 6 * time.Minute, "1 1 1 1 1 1 1 1 1 1"},
		"two at once": {simpleTimetable("a", "*/2 0 * * *", ", concurrency: {policy: Queue, limit: 2, queueLimit: 1}"), 5 * time.Minute,
			"1 1 2 2 2 2 2 2 2 2"},
		"nothing waits": {simpleTimetable("a", "*/4 0 * * *", ", concurrency: {policy: Queue, limit: 1, queueLimit: 0}"), 5 * time.Minute,
			"1 1 1 1 1 0 0 0 1 1"},
		"the day before": {cronJob("a", "58 23 * * *", ""), 5 * time.Minute, "1 1 1 0 0 0 0 0 0 0"},
		"a second":       {cronJob("a", "*/5 0 * * *", ""), time.Second, "1 0 0 0 0 1 0 0 0 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := day(from)
			o.Duration = test.duration
			made := forecast.Of(read(t, test.text), o)
			if got := strings.Trim(fmt.Sprint(made.Running[:10]), "[]"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// How long a run takes is measured where something tells, and assumed elsewhere.
func TestDurations(t *testing.T) {
	ledger := `{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: t, namespace: ops}, spec: {schedules: [{cron: "0 0 * * *"}], template: {spec: {}}},
	  status: {ledger: [{scheduledTime: "2026-11-22T00:00:00Z", result: Succeeded, startTime: "2026-11-22T00:00:00Z", endTime: "2026-11-22T00:20:00Z"},
	                    {scheduledTime: "2026-11-21T00:00:00Z", result: Failed, startTime: "2026-11-21T00:00:00Z", endTime: "2026-11-21T05:00:00Z"}]}}`
	runs := func(minutes ...int) (runs []forecast.Run) {
		for _, m := range minutes {
			runs = append(runs, forecast.Run{Kind: "CronJob", Namespace: "ops", Name: "a", Took: time.Duration(m) * time.Minute})
		}
		return append(runs, forecast.Run{Kind: "CronJob", Namespace: "other", Name: "a", Took: time.Hour})
	}
	limited := ", jobTemplate: {spec: {activeDeadlineSeconds: 1200}}"
	tests := map[string]struct {
		text      string
		runs      []forecast.Run
		deadlines bool
		want      forecast.Durations
		minutes   int // with an active run
	}{
		"nothing is known":        {cronJob("a", "0 0 * * *", ""), nil, false, forecast.Durations{Assumed: 1}, 5},
		"of others":               {cronJob("a", "0 0 * * *", ""), runs(), false, forecast.Durations{Assumed: 1}, 5},
		"one run":                 {cronJob("a", "0 0 * * *", ""), runs(7), false, forecast.Durations{Measured: 1}, 7},
		"the one in the middle":   {cronJob("a", "0 0 * * *", ""), runs(90, 7, 1), false, forecast.Durations{Measured: 1}, 7},
		"a deadline":              {cronJob("a", "0 0 * * *", limited), nil, true, forecast.Durations{Deadline: 1}, 20},
		"a deadline is not asked": {cronJob("a", "0 0 * * *", limited), nil, false, forecast.Durations{Assumed: 1}, 5},
		"measured first":          {cronJob("a", "0 0 * * *", limited), runs(3), true, forecast.Durations{Measured: 1}, 3},
		"a timeout":               {simpleTimetable("a", "0 0 * * *", ", timeout: 30m"), nil, true, forecast.Durations{Deadline: 1}, 30},
		"a ledger":                {ledger, nil, false, forecast.Durations{Measured: 1}, 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := day(from)
			o.Runs, o.DeadlineAsDuration = test.runs, test.deadlines
			made := forecast.Of(read(t, test.text), o)
			if made.Durations != test.want {
				t.Errorf("got %+v, want %+v", made.Durations, test.want)
			}
			minutes := 0
			for _, n := range made.Running {
				minutes += int(n)
			}
			if minutes != test.minutes {
				t.Errorf("a run is active in %d minutes, want %d", minutes, test.minutes)
			}
		})
	}
}

func TestRunOf(t *testing.T) {
	const controlled = "{name: a-1, namespace: ops, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: a, uid: u, controller: true}]}"
	tests := map[string]struct {
		text string
		want forecast.Run
		ok   bool
	}{
		"a run":          {"{metadata: " + controlled + ", status: {startTime: '2026-11-22T00:00:00Z', completionTime: '2026-11-22T00:07:30Z'}}", forecast.Run{Kind: "CronJob", Namespace: "ops", Name: "a", Took: 450 * time.Second}, true},
		"still active":   {"{metadata: " + controlled + ", status: {startTime: '2026-11-22T00:00:00Z'}}", forecast.Run{}, false},
		"never started":  {"{metadata: " + controlled + "}", forecast.Run{}, false},
		"of nobody":      {"{metadata: {name: a}, status: {startTime: '2026-11-22T00:00:00Z', completionTime: '2026-11-22T00:07:30Z'}}", forecast.Run{}, false},
		"back in time":   {"{metadata: " + controlled + ", status: {startTime: '2026-11-22T00:07:00Z', completionTime: '2026-11-22T00:00:00Z'}}", forecast.Run{}, false},
		"no time at all": {"{metadata: " + controlled + ", status: {startTime: 7, completionTime: yesterday}}", forecast.Run{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			content := map[string]any{}
			if err := yaml.Unmarshal([]byte(test.text), &content); err != nil {
				t.Fatal(err)
			}
			if got, ok := forecast.RunOf(&unstructured.Unstructured{Object: content}); got != test.want || ok != test.ok {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}
