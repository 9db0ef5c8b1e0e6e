// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// scheduled reads one object from YAML.
func scheduled(t testing.TB, text string) *workload.Scheduled {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	all, err := workload.Read([]workload.Object{{Content: &unstructured.Unstructured{Object: content}}}, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Scheduled) != 1 {
		t.Fatalf("no object with a schedule: %s", text)
	}
	return all.Scheduled[0]
}

// A year of a schedule that fires every minute: half a million runs.
func BenchmarkYear(b *testing.B) {
	for name, text := range map[string]string{
		"CronJob":   "{apiVersion: batch/v1, kind: CronJob, metadata: {name: tick}, spec: {schedule: '* * * * *', concurrencyPolicy: Forbid, jobTemplate: {spec: {template: {spec: {containers: []}}}}}}",
		"Timetable": "{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: tick}, spec: {schedules: [{cron: '* * * * *'}], template: {spec: {template: {spec: {containers: []}}}}}}",
	} {
		b.Run(name, func(b *testing.B) {
			durations, err := simulation.ParseDurations("p50=20s,p99=2m")
			if err != nil {
				b.Fatal(err)
			}
			object, from := scheduled(b, text), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			b.ReportAllocs()
			for b.Loop() {
				result := simulation.Simulate(object, simulation.Options{From: from, To: from.AddDate(1, 0, 0), Model: simulation.Model{Durations: durations, Fail: 0.01}})
				if n := len(result.Runs); n < 400_000 {
					b.Fatalf("%d runs", n)
				}
				b.ReportMetric(float64(result.Decisions), "decisions/op")
			}
		})
	}
}
