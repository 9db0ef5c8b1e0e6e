// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
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
		"the zone of whoever reads":       {soundCronJob, []string{"--fix", "--fix-zone", "Local"}, 2},
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

// --fix writes the file in place, through a link, with its permissions, and shows it before with --dry-run.
func TestLintFix(t *testing.T) {
	before := strings.Replace(strings.Replace(soundCronJob, "batch/v1\n", "batch/v1beta1 # old\n", 1), "  timeZone: Etc/UTC\n", "", 1)
	after := strings.Replace(before, "batch/v1beta1", "batch/v1", 1)
	file := lintFile(t, before)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	content := func() string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	out, _, code := lintRun(t, "", "-f", link, "--fix", "--dry-run")
	if code != 0 || !strings.Contains(out, "-apiVersion: batch/v1beta1 # old\n+apiVersion: batch/v1 # old\n") || !strings.Contains(out, "\n--fix without --dry-run mends 1 of them.\n") || content() != before {
		t.Errorf("--dry-run: exit code %d\n%s\n%s", code, out, content())
	}
	out, _, code = lintRun(t, "", "-f", link, "--fix")
	if code != 0 || !strings.Contains(out, link+":1: CronJob sound: mended deprecated-api: apiVersion: batch/v1\n") || content() != after {
		t.Errorf("exit code %d\n%s\n%s", code, out, content())
	}
	out, _, _ = lintRun(t, "", "-f", link, "--fix", "--fix-zone", "Europe/Lisbon")
	if want := strings.Replace(after, "* *\"\n", "* *\"\n  timeZone: Europe/Lisbon\n", 1); content() != want {
		t.Errorf("with a zone: %s\n%s", out, content())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no more: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the permissions are %v", info.Mode())
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("beside it are %v", left)
	}
	if _, told, code := lintRun(t, before, "-f", "-", "--fix"); code != 2 || !strings.Contains(told, "standard input") {
		t.Errorf("standard input: exit code %d: %s", code, told)
	}
}

// What cannot be written is told by its name, and the other files are mended all the same.
func TestLintFixGoesOn(t *testing.T) {
	old := strings.Replace(soundCronJob, "batch/v1\n", "batch/v1beta1\n", 1)
	named := func(name string) string { return strings.Replace(old, "name: sound", "name: "+name, 1) }
	protected, linked, open := lintFile(t, named("protected")), lintFile(t, named("linked")), lintFile(t, named("open"))
	if err := os.Chmod(protected, 0o440); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Link(linked, other); err != nil {
		t.Fatal(err)
	}
	out, told, code := lintRun(t, "", "-f", protected, "-f", linked, "-f", open, "--fix")
	if code != 2 || !strings.Contains(told, "--fix "+protected+": nothing was written: it is read-only (mode 0440)") ||
		!strings.Contains(told, "--fix "+linked+": nothing was written: it has 2 names (hard links)") || strings.Contains(told, "lint-") {
		t.Errorf("exit code %d: %s", code, told)
	}
	if !strings.Contains(out, open+":1: CronJob open: mended deprecated-api: apiVersion: batch/v1\n") || !strings.Contains(out, "2 warnings in 3 objects.\n") {
		t.Errorf("got\n%s", out)
	}
	for file, want := range map[string]string{protected: named("protected"), linked: named("linked"), open: strings.Replace(named("open"), "v1beta1", "v1", 1)} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s is %s: %v", file, text, err)
		}
	}
}

// Two names of one file are one file.
func TestLintFixOfTwoNames(t *testing.T) {
	file := lintFile(t, strings.Replace(soundCronJob, "batch/v1\n", "batch/v1beta1\n", 1))
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	out, told, _ := lintRun(t, "", "-f", file, "-f", link, "--fix", "--ignore", "duplicate")
	if strings.Contains(told, "--fix") || strings.Count(out, "mended") != 1 {
		t.Errorf("got\n%s%s", out, told)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != soundCronJob {
		t.Errorf("the file is %s: %v", text, err)
	}
}

// What somebody else writes meanwhile stays.
func TestReplaceFileThatChanged(t *testing.T) {
	file := lintFile(t, "new\n")
	if err := replaceFile(file, "old\n", "mended\n"); err == nil || !strings.Contains(err.Error(), "has changed meanwhile") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "new\n" {
		t.Errorf("the file is %q: %v", text, err)
	}
}

// A stranger reads what is wrong in words, in a terminal of 80 columns.
func TestLintText(t *testing.T) {
	for name, args := range map[string][]string{
		"surprises": {"-f", "testdata/lint/surprises.yaml"},
		"infos":     {"-f", "testdata/lint/surprises.yaml", "--level", "info", "--ignore", "no-requests"},
		"clean":     {"-f", "testdata/lint/clean.yaml", "--level", "info"},
		"rules":     {"--rules"},
		"rule":      {"--rules", "backoff-on-failure", "no-time-zone"},
	} {
		t.Run(name, func(t *testing.T) {
			out, told, _ := lintRun(t, "", args...)
			if told != "" {
				out += "told: " + told + "\n"
			}
			golden := filepath.Join("testdata", "lint", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if out != string(want) {
				t.Errorf("got\n%s\nwant\n%s", out, want)
			}
			for line := range strings.Lines(out) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 && !strings.HasPrefix(line, "told: ") {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

// Each surprise that is planted is named by the rule that is meant for it.
func TestLintPlantedSurprises(t *testing.T) {
	out, _, _ := lintRun(t, "", "-f", "testdata/lint/surprises.yaml", "-o", "json", "--level", "info")
	var doc lintDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, f := range doc.Findings {
		found[f.Object.Name] = append(found[f.Object.Name], f.Rule)
	}
	for name, rule := range map[string]string{
		"friday-13th": "day-of-month-and-week", "every-40": "uneven-step", "two-days-a-year": "clock-change", "drifting": "every-drifts",
		"midnight-1": "herd", "piling-up": "overlap-without-limit", "hanging": "no-run-deadline", "forgotten": "ttl-below-history",
		"unseen": "failures-not-kept", "never": "never-fires", "clock-days": "clock-change-days-only", "restarted": "backoff-on-failure",
		"newest": "image-latest", "hungry": "no-requests", "old": "deprecated-api", "whose-hour": "no-time-zone", "ignored": "ignored-metadata",
	} {
		if !slices.Contains(found[name], rule) {
			t.Errorf("%s: %s is not among %q", name, rule, found[name])
		}
	}
}

func TestLintForCI(t *testing.T) {
	file := lintFile(t, strings.Replace(soundCronJob, "sound:1.2", "sound", 1))
	sarif, _, code := lintRun(t, "", "-f", file, "-o", "sarif", "--fail-on", "warning")
	if code != 1 || !json.Valid([]byte(sarif)) || !strings.Contains(sarif, `"ruleId": "image-latest"`) {
		t.Errorf("exit code %d\n%s", code, sarif)
	}
	junit, _, code := lintRun(t, "", "-f", file, "-o", "junit")
	if code != 0 || !strings.HasPrefix(junit, "<?xml") || !strings.Contains(junit, `failures="0"`) {
		t.Errorf("exit code %d\n%s", code, junit)
	}
}

// A Calendar of another shape is a finding with its line and field, and no reason to say nothing of the others.
func TestLintUnreadableCalendar(t *testing.T) {
	file := lintFile(t, soundCronJob+"---\napiVersion: batch.carillon.dev/v1alpha1\nkind: Calendar\nmetadata:\n  name: holidays\nspec:\n  periods: christmas\n")
	out, told, code := lintRun(t, "", "-f", file)
	want := file + ":26: Calendar holidays\n  error: spec.periods: its API takes no string there [spec-unreadable]\n"
	if code != 1 || !strings.Contains(out, want) || !strings.Contains(out, "1 error in 2 objects.\n") {
		t.Errorf("exit code %d\n%s%s", code, out, told)
	}
}
