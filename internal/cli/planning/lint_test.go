// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/exitcode"
)

var lintNow = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// lintRun runs lint as a user does, and gives what it writes and its exit code.
func lintRun(t *testing.T, stdin string, args ...string) (out, told string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := newLintAt(Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr}, func() time.Time { return lintNow })
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	var coded *exitcode.Error
	switch {
	case errors.As(err, &coded):
		code = coded.Code
	case err != nil:
		code = exitcode.Usage
	}
	if err != nil && (coded == nil || coded.Err != nil) {
		stderr.WriteString(err.Error())
	}
	return stdout.String(), stderr.String(), code
}

// lintFile writes a manifest into a directory of the test.
func lintFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const soundCronJob = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: sound
spec:
  schedule: "17 3 * * *"
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 3600
  jobTemplate:
    spec:
      activeDeadlineSeconds: 3600
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: c
            image: registry.example.com/sound:1.2
            resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 64Mi}}
`

func TestLintExitCodes(t *testing.T) {
	broken := strings.Replace(soundCronJob, `"17 3 * * *"`, `"61 3 * * *"`, 1)
	careless := strings.Replace(soundCronJob, "sound:1.2", "sound:latest", 1)
	tests := map[string]struct {
		text string
		args []string
		code int
	}{
		"nothing":                         {soundCronJob, nil, 0},
		"nothing, of any level":           {soundCronJob, []string{"--level", "info", "--fail-on", "info"}, 0},
		"an error":                        {broken, nil, 1},
		"an error that fails nothing":     {broken, []string{"--fail-on", "none"}, 0},
		"an error of a rule not asked":    {broken, []string{"--ignore", "schedule-unreadable"}, 0},
		"an error, another rule is asked": {broken, []string{"--select", "image-latest"}, 0},
		"a warning":                       {careless, nil, 0},
		"a warning is enough":             {careless, []string{"--fail-on", "warning"}, 1},
		"a warning that is not shown":     {careless, []string{"--level", "error", "--fail-on", "warning"}, 1},
		"a manifest that is none":         {"kind: CronJob", nil, 2},
		"a rule that is none":             {soundCronJob, []string{"--ignore", "image-latests"}, 2},
		"a level that is none":            {soundCronJob, []string{"--level", "fatal"}, 2},
		"a zone that is none":             {soundCronJob, []string{"--fix", "--fix-zone", "Mars/Olympus"}, 2},
		"a fix that is only shown":        {soundCronJob, []string{"--dry-run"}, 2},
		"a zone without a fix":            {soundCronJob, []string{"--fix-zone", "Etc/UTC"}, 2},
		"a fix for a program":             {soundCronJob, []string{"--fix", "-o", "json"}, 2},
		"a file without -f":               {soundCronJob, []string{"other.yaml"}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, told, code := lintRun(t, "", append([]string{"-f", lintFile(t, test.text)}, test.args...)...)
			if code != test.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, test.code, out, told)
			}
		})
	}
}

// What is misspelled names what may be meant.
func TestLintNamesTheNearestRule(t *testing.T) {
	_, told, code := lintRun(t, "", "--rules", "no-timezone")
	if code != 2 || !strings.Contains(told, "did you mean no-time-zone?") {
		t.Errorf("exit code %d: %s", code, told)
	}
}

func TestLintReadsStandardInput(t *testing.T) {
	out, told, code := lintRun(t, strings.Replace(soundCronJob, "sound:1.2", "sound", 1), "-f", "-")
	if code != 0 || !strings.Contains(out, "stdin:18: CronJob sound\n") {
		t.Errorf("exit code %d\n%s%s", code, out, told)
	}
}

func TestLintJSON(t *testing.T) {
	file := lintFile(t, strings.Replace(soundCronJob, `"17 3 * * *"`, `"0 3 31 * *"`, 1))
	out, _, _ := lintRun(t, "", "-f", file, "-o", "json")
	var doc lintDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.APIVersion != apiVersion || doc.Kind != "LintReport" || doc.Objects != 1 || doc.Warnings != 1 || len(doc.Findings) != 1 {
		t.Fatalf("got %+v", doc)
	}
	want := lintFinding{
		Rule: "day-missing-in-months", Level: "warning", Object: lintObject{APIVersion: "batch/v1", Kind: "CronJob", Name: "sound"},
		Path: "spec.schedule", File: file, Line: 6, Column: 3, Message: doc.Findings[0].Message, Cure: doc.Findings[0].Cure,
	}
	if doc.Findings[0] != want {
		t.Errorf("got %+v, want %+v", doc.Findings[0], want)
	}
	if !strings.Contains(out, `"suppressed": []`) {
		t.Error("an empty list is null")
	}
}
