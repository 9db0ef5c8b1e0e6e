// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/conversion"
	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var now = time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)

// A failer is a test, or a draw of one.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func node(t failer, text string) *yaml.Node {
	t.Helper()
	var whole yaml.Node
	if err := yaml.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return whole.Content[0]
}

func text(t failer, r conversion.Result) string {
	t.Helper()
	text, err := document.Write(nil, []document.Document{r.Document()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// read gives what decisions know of an object.
func read(t failer, text string) *workload.Scheduled {
	t.Helper()
	loaded, err := manifest.Parse("test", []byte(text), func(string) {})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all, err := workload.Read([]workload.Object{{Content: loaded[0].Unstructured}}, workload.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return all.Scheduled[0]
}

func cronJob(spec string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: backup}\nspec:\n  " + spec +
		"\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}\n"
}

func timetable(spec string) string {
	return "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: backup}\nspec:\n  " + spec +
		"\n  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}\n"
}

// wantSameTimes wants two objects to have the same times in a year.
func wantSameTimes(t failer, a, b *workload.Scheduled) {
	t.Helper()
	if a.Obstacle() != b.Obstacle() && b.Obstacle() != "" && a.Policy.Timing.Obstacle == nil {
		t.Fatalf("the new one says %q", b.Obstacle())
	}
	if b.Policy.Timing.Times == nil || a.Policy.Timing.Times == nil {
		return
	}
	end := now.AddDate(1, 0, 0)
	at, other := now, now
	for n := 0; ; n++ {
		at, other = a.Policy.Timing.Times.Next(at), b.Policy.Timing.Times.Next(other)
		inA, inB := !at.IsZero() && at.Before(end), !other.IsZero() && other.Before(end)
		if inA != inB || inA && !at.Equal(other) {
			t.Fatalf("time %d is %v, and %v in the new one", n, at, other)
		}
		if !inA {
			return
		}
	}
}

// TT-225: a CronJob with every field becomes a Timetable with the same times for a year, and with the same policies.
func TestEveryField(t *testing.T) {
	const every = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: every.field
  namespace: team
  labels: {a: b}
  annotations: {note: kept, carillon.dev/timetable: "0 0 * * *"}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u}]
spec:
  schedule: "*/20 1-3 * * 0,6"
  timeZone: Europe/Berlin
  startingDeadlineSeconds: 3723
  concurrencyPolicy: Replace
  suspend: true
  successfulJobsHistoryLimit: 0
  failedJobsHistoryLimit: 5
  jobTemplate:
    metadata:
      name: ignored
      labels: {app: x, carillon.dev/trigger: mine}
      annotations: {why: so}
    spec: {backoffLimit: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
status: {lastScheduleTime: "2026-12-24T11:00:00Z"}
`
	got, err := conversion.Convert(node(t, every), conversion.Options{To: conversion.Timetable, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	before, after := read(t, every), read(t, text(t, got))
	wantSameTimes(t, before, after)
	spec := after.Timetable().Spec
	have := fmt.Sprint(after.Owner.Namespace, " ", after.Owner.Name, " ", after.Content.GetLabels(), " ", after.Content.GetAnnotations(), " ", after.Content.GetOwnerReferences(),
		" ", spec.TimeZone, " ", spec.DST, " ", *spec.StartingDeadline, " ", spec.Concurrency.Policy, " ", spec.Suspend, " ", spec.OnResume,
		" ", *spec.History.Succeeded.Limit, " ", *spec.History.Failed.Limit, " ", spec.Template.Metadata, " ", string(spec.Template.Spec.Raw))
	want := `team every-field map[a:b] map[note:kept] [] Europe/Berlin {Skip Both} 1h2m3s Replace true CatchUp 0 5 {map[app:x] map[why:so]} ` +
		`{"backoffLimit":2,"template":{"spec":{"containers":[{"image":"x","name":"c"}],"restartPolicy":"Never"}}}`
	if have != want {
		t.Errorf("got\n%s, want\n%s", have, want)
	}
	if _, ok := after.Content.Object["status"]; ok {
		t.Error("the status came along")
	}
	notes := strings.Join(got.Notes, "\n")
	for _, want := range []string{"the name was every.field", "ownerReferences", "jobTemplate.metadata.name", "carillon.dev/trigger", "Replace"} {
		if !strings.Contains(notes, want) {
			t.Errorf("nothing is told of %s:\n%s", want, notes)
		}
	}
}

// fieldText draws the text of a field of a CronJob's schedule, with all that is taken by accident.
func fieldText(low, high int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var items []string
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			from := rapid.IntRange(low, high).Draw(t, "from")
			item := rapid.SampledFrom([]string{"*", "?", "", "*-3", "+" + fmt.Sprint(from), fmt.Sprint(from),
				fmt.Sprintf("%d-%d", from, rapid.IntRange(from, high).Draw(t, "to")), fmt.Sprintf("0%d", from)}).Draw(t, "item")
			if item != "" && rapid.Bool().Draw(t, "stepped") {
				item += "/" + fmt.Sprint(rapid.IntRange(1, high).Draw(t, "step"))
			}
			items = append(items, item)
		}
		if slices.Max(items) == "" {
			return "*"
		}
		return strings.Join(items, ",")
	})
}

// TT-225: whatever a CronJob's schedule is, the Timetable has its times, and the CronJob made of that has them, too.
func TestSameTimes(t *testing.T) {
	generators := []*rapid.Generator[string]{fieldText(0, 59), fieldText(0, 23), fieldText(1, 31), fieldText(1, 12), fieldText(0, 6)}
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		for n, name := range []string{"minute", "hour", "day", "month", "weekday"} {
			texts = append(texts, generators[n].Draw(t, name))
		}
		if rapid.Bool().Draw(t, "few") {
			texts[0], texts[1] = "30", "2" // or a year has too many times to look at
		} else if strings.Contains(texts[0], "*") {
			texts[0] = "7,37"
		}
		zone := rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")
		spec := "schedule: " + fmt.Sprintf("%q", strings.Join(texts, " "))
		if zone != "" {
			spec += "\n  timeZone: " + zone
		}
		before := cronJob(spec)
		there, err := conversion.Convert(node(t, before), conversion.Options{To: conversion.Timetable, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		wantSameTimes(t, read(t, before), read(t, text(t, there)))
		back, err := conversion.Convert(there.Content, conversion.Options{To: conversion.CronJob, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		wantSameTimes(t, read(t, before), read(t, text(t, back)))
	})
}

// Of a schedule of its own kind the Timetable gets the same times, and what differs is told.
func TestSchedules(t *testing.T) {
	tests := map[string]struct {
		spec string
		want string // in the Timetable
		note string
	}{
		"every":                   {"schedule: '@every 1h30m'", "every: 1h30m", "the multiples of 1h30m since 1970"},
		"every few seconds":       {"schedule: '@every 5s'", "every: 1m", "one Job a minute at most"},
		"a zone in the text":      {"schedule: 'CRON_TZ=Asia/Tokyo 0 6 * * *'", "timeZone: Asia/Tokyo", ""},
		"a word":                  {"schedule: '@daily'\n  timeZone: UTC", `cron: "@daily"`, ""},
		"no zone":                 {"schedule: '0 6 * * *'", "timeZone: UTC", "names no time zone"},
		"never":                   {"schedule: '0 6 30 2 *'", `cron: "0 6 30 2 *"`, "never runs"},
		"deadline 0":              {"schedule: '0 6 * * *'\n  startingDeadlineSeconds: 0\n  suspend: false", "suspend: true", "suspend: true"},
		"deadline without limit":  {"schedule: '0 6 * * *'\n  startingDeadlineSeconds: 99999999999", "", "no limit"},
		"history beyond":          {"schedule: '0 6 * * *'\n  successfulJobsHistoryLimit: 5000", "limit: 1000", "cut to 1000"},
		"null for what is absent": {"schedule: '0 6 * * *'\n  timeZone: null\n  suspend: null", "timeZone: UTC", "names no time zone"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := conversion.Convert(node(t, cronJob(test.spec)), conversion.Options{To: conversion.Timetable, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			if written := text(t, got); !strings.Contains(written, test.want) || strings.Count(written, "\n  suspend:") > 1 {
				t.Errorf("%q is not in\n%s", test.want, written)
			}
			if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, test.note) || test.note == "" && notes != "" {
				t.Errorf("told %q, want %q", notes, test.note)
			}
			read(t, text(t, got))
		})
	}
}

// The grid of "@every" goes on from the last run, or from the creation.
func TestAnchor(t *testing.T) {
	for more, want := range map[string]string{
		"status: {lastScheduleTime: '2026-12-24T11:07:00Z'}\n": `anchor: "2026-12-24T11:07:00Z"`,
		"":             "",
		"status: {}\n": "",
	} {
		got, err := conversion.Convert(node(t, cronJob("schedule: '@every 10m'")+more), conversion.Options{To: conversion.Timetable, Now: now})
		if err != nil || !strings.Contains(text(t, got), want) || strings.Contains(text(t, got), "anchor:") != (want != "") {
			t.Errorf("%q: %v\n%s", more, err, text(t, got))
		}
	}
	created := strings.Replace(cronJob("schedule: '@every 10m'"), "{name: backup}", "{name: backup, creationTimestamp: '2026-12-01T00:03:00Z'}", 1)
	got, err := conversion.Convert(node(t, created), conversion.Options{To: conversion.Timetable, Now: now})
	if err != nil || !strings.Contains(text(t, got), `anchor: "2026-12-01T00:03:00Z"`) {
		t.Errorf("%v\n%s", err, text(t, got))
	}
}

// With Defaults only what the CronJob chose is written.
func TestDefaults(t *testing.T) {
	o := conversion.Options{To: conversion.Timetable, Defaults: true, Now: now}
	got, err := conversion.Convert(node(t, cronJob("schedule: '0 6 * * *'\n  concurrencyPolicy: Allow\n  failedJobsHistoryLimit: 1\n  successfulJobsHistoryLimit: 9")), o)
	if err != nil {
		t.Fatal(err)
	}
	written := text(t, got)
	for _, without := range []string{"dst", "onResume", "concurrency", "timeZone", "failed"} {
		if strings.Contains(written, without) {
			t.Errorf("%s is in\n%s", without, written)
		}
	}
	if !strings.Contains(written, "succeeded: {limit: 9}") {
		t.Errorf("what was chosen is not in\n%s", written)
	}
}

// A Timetable that says more than a CronJob can is refused with all that would be lost; one that does not becomes one.
func TestToCronJob(t *testing.T) {
	tests := map[string]struct {
		spec string
		lost []string // parts of what would be lost, in order
		want string   // in the CronJob
	}{
		"nothing special":       {"schedules: [{cron: '0 6 * * *'}]", nil, "timeZone: UTC"},
		"defaults":              {"schedules: [{cron: '0 6 * * *'}]", nil, "concurrencyPolicy: Forbid\n  successfulJobsHistoryLimit: 3\n  failedJobsHistoryLimit: 3"},
		"a deadline":            {"schedules: [{cron: '0 6 * * *'}]\n  startingDeadline: 1h1s", nil, "startingDeadlineSeconds: 3601"},
		"both, without matter":  {"schedules: [{cron: '0 6 * * 1', dayRule: Both}]", nil, `schedule: "0 6 * * 1"`},
		"both":                  {"schedules: [{cron: '0 6 13 * 5', dayRule: Both}]", []string{"schedules[0].dayRule"}, ""},
		"two":                   {"schedules: [{name: a, cron: '0 6 * * *'}, {name: b, cron: '0 7 * * *'}]", []string{"schedules: there are 2"}, ""},
		"every":                 {"schedules: [{every: 10m}]", []string{"schedules[0].every"}, ""},
		"at":                    {"schedules: [{at: ['2027-01-01T00:00']}]", []string{"schedules[0].at"}, ""},
		"seconds":               {"schedules: [{cron: '0 0 6 * * *'}]", []string{"schedules[0].cron"}, ""},
		"a hash":                {"schedules: [{cron: 'H 6 * * *'}]", []string{"schedules[0].cron"}, ""},
		"in a gap":              {"schedules: [{cron: '30 2 * * *'}]\n  timeZone: Europe/Berlin", []string{"dst: on days"}, ""},
		"in no gap":             {"schedules: [{cron: '30 4 * * *'}]\n  timeZone: Europe/Berlin", nil, "timeZone: Europe/Berlin"},
		"in a gap, skipped":     {"schedules: [{cron: '30 2 * * *'}]\n  timeZone: Europe/Berlin\n  dst: {gap: Skip, overlap: Both}", nil, "timeZone: Europe/Berlin"},
		"it flows":              {"schedules: [{cron: '30 * * * *'}]\n  timeZone: Europe/Berlin", nil, "timeZone: Europe/Berlin"},
		"a limit":               {"schedules: [{cron: '0 6 * * *'}]\n  concurrency: {limit: 2}", []string{"concurrency.limit"}, ""},
		"a queue":               {"schedules: [{cron: '0 6 * * *'}]\n  concurrency: {policy: Queue}", []string{"concurrency.policy"}, ""},
		"skip on resume":        {"schedules: [{cron: '0 6 * * *'}]\n  onResume: Skip", []string{"onResume"}, ""},
		"no catching up":        {"schedules: [{cron: '0 6 * * *'}]\n  catchUp: {policy: None}", []string{"catchUp"}, ""},
		"an age":                {"schedules: [{cron: '0 6 * * *'}]\n  history: {failed: {maxAge: 1h}, ledger: 5}", []string{"history.failed.maxAge", "history.ledger"}, ""},
		"all that has no match": {"schedules: [{cron: '0 6 * * *'}]\n  window: {notAfter: '2028-01-01T00:00:00Z'}\n  exclude: [{period: 12-25}]\n  jitter: 5m\n  lateAfter: 5m\n  timeout: 1h", []string{"window", "exclude", "jitter", "timeout", "lateAfter"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := conversion.Convert(node(t, timetable(test.spec)), conversion.Options{To: conversion.CronJob, Now: now})
			loss, refused := errors.AsType[*conversion.Loss](err)
			if refused != (test.lost != nil) || err != nil && !refused {
				t.Fatalf("got %v", err)
			}
			if refused {
				for n, want := range test.lost {
					if len(loss.Lost) != len(test.lost) || !strings.HasPrefix(loss.Lost[n], "spec."+want) {
						t.Errorf("lost %q, want %q", loss.Lost, test.lost)
						break
					}
				}
				return
			}
			if !strings.Contains(text(t, got), test.want) {
				t.Errorf("%q is not in\n%s", test.want, text(t, got))
			}
			wantSameTimes(t, read(t, timetable(test.spec)), read(t, text(t, got)))
		})
	}
}

// What is none of its API is refused, with the field at fault.
func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		cronJob("schedule: '61 * * * *'"):                                                        "spec.schedule: ",
		cronJob("timeZone: UTC"):                                                                 "spec.schedule is missing",
		cronJob("schedule: '@daily'\n  timeZone: Mars"):                                          "spec.timeZone: ",
		cronJob("schedule: 'TZ=UTC @daily'\n  timeZone: UTC"):                                    "another",
		cronJob("schedule: '@daily'\n  concurrencyPolicy: Never"):                                "spec.concurrencyPolicy: ",
		cronJob("schedule: '@daily'\n  startingDeadlineSeconds: soon"):                           "no whole number",
		cronJob("schedule: '@daily'\n  startingDeadlineSeconds: -1"):                             "negative",
		cronJob("schedule: '@daily'\n  failedJobsHistoryLimit: -1"):                              "negative",
		cronJob("schedule: '@daily'\n  colour: red"):                                             "spec.colour is no field",
		"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}}":                             "spec is missing",
		"{apiVersion: batch/v1, kind: CronJob, spec: {}}":                                        "metadata is missing",
		"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '@daily'}}": "spec.jobTemplate is missing",
	} {
		if _, err := conversion.Convert(node(t, text), conversion.Options{To: conversion.Timetable, Now: now}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q of\n%s", err, want, text)
		}
	}
	if _, err := conversion.Convert(node(t, "metadata: &m {name: a, labels: *m}"), conversion.Options{To: conversion.V1}); err == nil {
		t.Error("an alias that stands for what it is in is taken")
	}
	if _, err := conversion.Convert(node(t, timetable("timeZone: UTC")), conversion.Options{To: conversion.CronJob, Now: now}); err == nil || !strings.Contains(err.Error(), "spec.schedules") {
		t.Errorf("got %v", err)
	}
}

// CronJobs of Volcano and of the tutorial become Timetables of their kind of Job.
func TestOtherKinds(t *testing.T) {
	for api, want := range map[string]string{"batch.volcano.sh/v1alpha1": "apiVersion: batch.volcano.sh/v1alpha1\n    kind: Job", "batch.tutorial.kubebuilder.io/v1": "template:\n", "batch/v1beta1": "template:\n"} {
		object := strings.Replace(cronJob("schedule: '@daily'\n  timeZone: UTC"), "apiVersion: batch/v1\n", "apiVersion: "+api+"\n", 1)
		object = strings.Replace(object, "jobTemplate: {spec: {template:", "jobTemplate:\n    spec: {template:", 1)
		object = strings.Replace(object, "}}}}\n", "}}}\n", 1)
		got, err := conversion.Convert(node(t, object), conversion.Options{To: conversion.Timetable, Now: now})
		if err != nil || !strings.Contains(text(t, got), want) {
			t.Errorf("%s: %v\n%s", api, err, text(t, got))
			continue
		}
		read(t, text(t, got))
	}
}

// No manifest makes it panic, and what it makes of one that is valid is valid.
func FuzzConvert(f *testing.F) {
	f.Add(cronJob("schedule: '@every 1h'\n  suspend: true"))
	f.Add(cronJob("schedule: '+1,,2 *-4 ? * *'\n  timeZone: UTC"))
	f.Add(timetable("schedules: [{cron: '0 6 * * 1'}]\n  history: {failed: {limit: 2}}"))
	f.Add("apiVersion: batch/v1\nkind: CronJob\nmetadata: &m {name: a, labels: *m}\nspec: {}")
	f.Add("apiVersion: &a batch/v1\nkind: CronJob\nmetadata: *a\nspec: [1]")
	f.Fuzz(func(t *testing.T, text string) {
		var whole yaml.Node
		if len(text) > 4000 || yaml.Unmarshal([]byte(text), &whole) != nil || len(whole.Content) == 0 {
			return
		}
		for _, to := range []conversion.Target{conversion.Timetable, conversion.CronJob, conversion.V1} {
			got, err := conversion.Convert(whole.Content[0], conversion.Options{To: to, Now: now})
			if err != nil || !got.Changed {
				continue
			}
			if _, err := document.Write(nil, []document.Document{got.Document()}, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}
