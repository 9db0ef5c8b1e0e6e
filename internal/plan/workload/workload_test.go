// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

func object(t *testing.T, text string) workload.Object {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return workload.Object{Content: &unstructured.Unstructured{Object: content}, Source: "a.yaml: document 1 (line 1)", File: "a.yaml", Line: 1}
}

func TestRead(t *testing.T) {
	now := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		text     string
		next     string
		obstacle string // a part of it
	}{
		"a CronJob": {
			text: "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '0 2 * * *', timeZone: Europe/Berlin}}",
			next: "2026-12-25T01:00:00Z",
		},
		"one of Volcano": {
			text: "{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: a}, spec: {schedule: '0 2 * * *'}}",
			next: "2026-12-25T02:00:00Z",
		},
		"one of the tutorial": {
			text: "{apiVersion: batch.tutorial.kubebuilder.io/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '@hourly'}}",
			next: "2026-12-24T13:00:00Z",
		},
		"a Timetable": {
			text: "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: a}, spec: {schedules: [{cron: '0 2 * * *'}], template: {spec: {}}}}",
			next: "2026-12-25T02:00:00Z",
		},
		"a Timetable with a Calendar": {
			text: "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: a}, spec: {schedules: [{cron: '0 2 * * *'}], exclude: [{calendar: feast}], template: {spec: {}}}}",
			next: "2026-12-27T02:00:00Z",
		},
		"a Calendar that is missing": {
			text:     "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: a}, spec: {schedules: [{cron: '0 2 * * *'}], exclude: [{calendar: other}], template: {spec: {}}}}",
			obstacle: "other",
		},
		"a schedule that is none": {
			text:     "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '61 2 * * *'}}",
			obstacle: "61",
		},
		"a spec of other types": {
			text:     "{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: a}, spec: {schedule: 5}}",
			obstacle: "schedule",
		},
	}
	feast := object(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Calendar, metadata: {name: feast}, spec: {periods: [{period: 2026-12-25/2026-12-26}]}}")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all, err := workload.Read([]workload.Object{object(t, test.text), feast}, workload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(all.Scheduled) != 1 || len(all.Others) != 1 || len(all.Jobs) != 0 {
				t.Fatalf("got %d scheduled, %d Jobs, %d others", len(all.Scheduled), len(all.Jobs), len(all.Others))
			}
			s := all.Scheduled[0]
			if got := s.Obstacle(); !strings.Contains(got, test.obstacle) || (test.obstacle == "") != (got == "") {
				t.Fatalf("the obstacle is %q, want one that names %q", got, test.obstacle)
			}
			if test.obstacle != "" {
				return
			}
			if got := s.Policy.Timing.Times.Next(now).UTC().Format(time.RFC3339); got != test.next {
				t.Errorf("the next time is %s, want %s", got, test.next)
			}
			if s.Owner.Namespace != "default" || *s.Policy.Succeeded.Limit != 3 {
				t.Errorf("namespace %q, %d successes are kept", s.Owner.Namespace, *s.Policy.Succeeded.Limit)
			}
			if s.Content.GetNamespace() != "" {
				t.Error("what was written was changed")
			}
		})
	}
}

// What an API server fills in counts, and what was written stays as it was.
func TestDefaults(t *testing.T) {
	all, err := workload.Read([]workload.Object{object(t, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '@daily'}}")}, workload.Options{Namespace: "team"})
	if err != nil {
		t.Fatal(err)
	}
	s := all.Scheduled[0]
	if s.Policy.Room != (cron.Room{WaitLimit: s.Policy.Room.WaitLimit}) || *s.Policy.Failed.Limit != 1 || s.Owner.Namespace != "team" {
		t.Errorf("got %+v in %s", s.Policy, s.Owner.Namespace)
	}
	if spec := s.Content.Object["spec"].(map[string]any); len(spec) != 1 {
		t.Errorf("the manifest got more fields: %v", spec)
	}
}

// Objects in the Go types of their kinds are read as written ones are.
func TestReadTyped(t *testing.T) {
	now := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
	feast := object(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Calendar, metadata: {name: feast, namespace: team}, spec: {periods: [{period: 2026-12-25/2026-12-26}]}}")
	for name, text := range map[string]string{
		"a CronJob":   "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: team}, spec: {schedule: '0 2 * * *', suspend: true}}",
		"a mistake":   "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: team}, spec: {schedule: '61 2 * * *'}}",
		"a Timetable": "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: a, namespace: team}, spec: {schedules: [{cron: '0 2 * * *'}], exclude: [{calendar: feast}], template: {spec: {}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			all, err := workload.Read([]workload.Object{object(t, text), feast}, workload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := all.Scheduled[0]
			typed, err := workload.ReadTyped(want.Kind, []adapter.Object{want.Typed}, []workload.Object{feast}, workload.Options{})
			if err != nil || len(typed) != 1 {
				t.Fatalf("got %d and %v", len(typed), err)
			}
			got := typed[0]
			if got.Reference() != want.Reference() || got.Obstacle() != want.Obstacle() || got.Policy.Suspend != want.Policy.Suspend ||
				len(got.Calendars) != len(want.Calendars) || !got.FirstAfter(now).Equal(want.FirstAfter(now)) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	if _, err := workload.ReadTyped(kind.Timetable{}, []adapter.Object{&batchv1.CronJob{}}, nil, workload.Options{}); err == nil {
		t.Error("a CronJob was read as a Timetable")
	}
	broken := object(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Calendar, metadata: {name: feast}, spec: {periods: 5}}")
	if _, err := workload.ReadTyped(kind.Timetable{}, nil, []workload.Object{broken}, workload.Options{}); err == nil || !strings.Contains(err.Error(), "feast") {
		t.Errorf("a Calendar that cannot be read: %v", err)
	}
	if _, err := workload.ReadTyped(kind.Timetable{}, nil, []workload.Object{broken}, workload.Options{KeepUnreadable: true}); err != nil {
		t.Errorf("a Calendar that cannot be read, and is to be left out: %v", err)
	}
}
