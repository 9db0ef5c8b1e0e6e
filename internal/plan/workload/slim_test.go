// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// What the decisions and the words need of an object is still there when it is slim.
func TestSlim(t *testing.T) {
	const template = "metadata: {annotations: {a: b}}, spec: {template: {metadata: {name: secret}, spec: {restartPolicy: Never, containers: [{name: main, image: secret}]}}}"
	applied := "annotations: {kubectl.kubernetes.io/last-applied-configuration: secret, note: kept}"
	fields := "managedFields: [{manager: mia, operation: Update, time: '2026-11-01T00:00:00Z', fieldsV1: {'f:spec': {'f:suspend': {}}}}, {manager: controller, subresource: status, operation: Update}]"
	tests := map[string]struct {
		text   string
		fields int
	}{
		"a CronJob":           {"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, " + applied + ", " + fields + "}, spec: {schedule: '0 2 * * *', jobTemplate: {spec: {activeDeadlineSeconds: 7, template: {spec: {containers: [{name: main, image: secret}]}}}}}}", 0},
		"a suspended CronJob": {"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, " + fields + "}, spec: {schedule: '0 2 * * *', suspend: true, jobTemplate: {spec: {activeDeadlineSeconds: 7, template: {spec: {containers: [{name: main, image: secret}]}}}}}}", 1},
		"one of Volcano":      {"{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: a, " + fields + "}, spec: {schedule: '0 2 * * *', jobTemplate: {" + template + "}}}", 0},
		"one of the tutorial": {"{apiVersion: batch.tutorial.kubebuilder.io/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '0 2 * * *', jobTemplate: {" + template + "}}}", 0},
		"a Timetable":         {"{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: a, " + fields + "}, spec: {schedules: [{cron: '0 2 * * *'}], template: {" + template + "}}}", 0},
	}
	now := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			all, err := workload.Read([]workload.Object{object(t, tt.text)}, workload.Options{})
			if err != nil || len(all.Scheduled) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			s := all.Scheduled[0]
			before := explanation.OfObject(s, nil, now)
			next, text := s.FirstAfter(now), s.ScheduleText()
			seconds, limited := s.RunDeadline()
			s.Slim()
			after := explanation.OfObject(s, nil, now)
			if diff := cmp.Diff(before.Schedules, after.Schedules); diff != "" || len(after.Schedules) == 0 {
				t.Errorf("it is explained otherwise (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, after.Object); diff != "" {
				t.Errorf("it is named otherwise (-before +after):\n%s", diff)
			}
			if !s.FirstAfter(now).Equal(next) || s.ScheduleText() != text {
				t.Errorf("next %v, schedule %q", s.FirstAfter(now), s.ScheduleText())
			}
			if n, ok := s.RunDeadline(); s.ScheduleText() != "" && strings.Contains(name, "CronJob") && (n != seconds || ok != limited || n != 7) {
				t.Errorf("the deadline is %d, %v", n, ok)
			}
			if got := len(s.Typed.GetManagedFields()); got != tt.fields {
				t.Errorf("%d managed fields", got)
			}
			left, err := yaml.Marshal(s.Written().Object)
			if err != nil || strings.Contains(string(left), "secret") || !strings.Contains(string(left), "name: a") || s.Written().GetKind() != s.Kind.Info().Owner.Kind {
				t.Errorf("left (%v):\n%s", err, left)
			}
			if strings.Contains(tt.text, "note: kept") && s.Typed.GetAnnotations()["note"] != "kept" {
				t.Error("the annotations are gone")
			}
		})
	}
}
