// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
)

// up and run tell errors only: what cannot work, not what a careful person would write otherwise.
func TestLintErrors(t *testing.T) {
	const text = `apiVersion: batch/v1
kind: CronJob
metadata: {name: NAME}
spec:
  schedule: "SCHEDULE"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}
`
	tests := map[string]struct{ schedule, want string }{
		"a schedule that works": {"0 2 * * *", ""},
		"a day that does not exist": {"0 2 30 2 *", `jobs.yaml: document 1 (line 1), CronJob night: .spec.schedule "0 2 30 2 *" names no date that exists. ` +
			"Write a date that exists; 30 February and 31 June do not. [lint: never-fires]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := manifest.Parse("jobs.yaml", []byte(strings.NewReplacer("NAME", "night", "SCHEDULE", test.schedule).Replace(text)), func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(lintErrors(objects, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)), "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
