// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package batchv1_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kind "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
)

func TestKind(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:     kind.Kind{},
		Stamp:    "batch.kubernetes.io/cronjob-scheduled-timestamp",
		Template: kindtest.JobTemplate,
		Children: kindtest.JobChildren,
		Cannot:   kindtest.Cannot{Conditions: true, UnknownFields: true, BeUnreadable: true},
	})
}

// What each sync pays to know what a CronJob asks for.
func BenchmarkRead(b *testing.B) {
	cj := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "*/10 * * * *", TimeZone: new("Europe/Rome")}}
	cj.Annotations = map[string]string{adapter.AnnotationTimetable: `{"schedules":["*/10 * * * *"],"timeZone":"Europe/Rome"}`}
	b.ReportAllocs()
	for b.Loop() {
		if _, policy, _, err := (kind.Kind{}).Read(cj, adapter.ReadOptions{}); err != nil || policy.Timing.Times == nil {
			b.Fatal(err)
		}
	}
}
