// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// What the contract asks lint to say of Timetables (TT-256).
func TestContract(t *testing.T) {
	const hello = `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: NAME}
spec:
  schedules: [{cron: "*/5 * * * *"}]
  RETRY
  template: TEMPLATE
`
	const job = `{spec: {LIMIT template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [date]}]}}}}`
	const jobSet = `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [{name: workers, replicas: 10, template: {spec: {parallelism: 10, completions: 10, template: {spec: {containers: []}}}}}]}}`
	tests := map[string]struct {
		name, retry, template string
		rule, message         string // what is found; "" for a rule that finds nothing
	}{
		"14.1 with retry": {
			"hello", "retry: {limit: 2}", strings.Replace(job, "LIMIT", "", 1),
			"backoff-times-retry", "retry makes up to 3 attempts, and without backoffLimit it is 6: up to 21 Pods for one run",
		},
		"14.1 with retry and backoffLimit":         {"hello", "retry: {limit: 2}", strings.Replace(job, "LIMIT", "backoffLimit: 0,", 1), "backoff-times-retry", ""},
		"14.1 without retry":                       {"hello", "", strings.Replace(job, "LIMIT", "", 1), "backoff-times-retry", ""},
		"a JobSet whose names fit":                 {"hello", "", jobSet, "child-name-too-long", ""},
		"a JobSet whose names fit to the last":     {strings.Repeat("a", 30), "", strings.Replace(jobSet, "workers", "twelve-chars", 1), "child-name-too-long", ""},
		"a JobSet whose names fit without retries": {strings.Repeat("a", 30), "retry: {limit: 9}", strings.Replace(jobSet, "workers", "twelve-chars", 1), "child-name-too-long", "its Pods' host names may have 67 characters: 50 of the run, 17 of \"twelve-chars\" and its numbers; 63 is the most"},
		"a long name is cut before it counts":      {strings.Repeat("a", 60), "", jobSet, "child-name-too-long", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("NAME", test.name, "RETRY", test.retry, "TEMPLATE", test.template).Replace(hello)
			message := ""
			for _, f := range check(t, "t.yaml", text, lint.Options{}).Findings {
				if f.Rule.ID == test.rule {
					message = f.Message
				}
			}
			if message != test.message {
				t.Errorf("%s says %q, want %q", test.rule, message, test.message)
			}
		})
	}
}
