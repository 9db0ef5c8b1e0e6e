// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
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
			if got := strings.Join(lintErrors(objects, nil, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)), "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A comment suppresses for up and run what it suppresses for lint, and an object that cannot be read hides no other.
func TestLintErrorsOfFiles(t *testing.T) {
	const job = "  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}\n"
	const text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: lived-with}\nspec:\n  schedule: \"0 2 30 2 *\" # carillon-lint ignore=never-fires: one day\n" + job +
		"---\napiVersion: batch.carillon.dev/v1alpha1\nkind: Calendar\nmetadata: {name: broken}\nspec:\n  periods: never\n" +
		"---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: night}\nspec:\n  schedule: \"0 2 31 6 *\"\n" + job
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a file": file, "standard input": "-"} {
		t.Run(name, func(t *testing.T) {
			var texts manifestTexts
			objects, err := manifest.Load(t.Context(), []string{path}, texts.reading(strings.NewReader(text)), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := lintErrors(objects, texts.of(objects), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
			if len(got) != 2 || !strings.Contains(got[0], "[lint: never-fires]") && !strings.Contains(got[1], "[lint: never-fires]") ||
				!strings.Contains(strings.Join(got, "\n"), "Calendar broken: spec.periods: its API takes no string there. ") {
				t.Errorf("got %q", got)
			}
		})
	}
}
