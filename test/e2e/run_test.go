// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// "carillon run" is the Job as a command: its output on stdout, everything else
// on stderr, its outcome as the exit code, and nothing left afterwards.
func TestRun(t *testing.T) {
	marker := "31.4159003"
	cronJob := "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: nightly\nspec:\n  schedule: \"0 3 * * *\"\n  jobTemplate:\n    spec:\n      backoffLimit: 0\n" +
		"      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - name: main\n            image: none\n            command: [\"/bin/sh\", \"-c\", \"echo nightly work\"]\n"
	timetable := "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: nightly}\nspec:\n  schedules: [{cron: \"0 3 * * *\"}]\n" +
		"  parameters: [{name: table, default: orders}]\n  template: {spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: none,\n" +
		"    command: [echo, $(carillon.trigger), work, \"on\", $(carillon.parameters.table)]}]}}}}\n"
	tests := map[string]struct {
		manifest string
		args     []string
		code     int
		stdout   string
		stderr   string // part of it
	}{
		"complete":           {shellJob{name: "ok", script: "echo out; echo err >&2"}.String(), nil, 0, "out\nerr\n", "complete"},
		"failed":             {shellJob{name: "bad", script: "echo before; exit 7"}.String(), nil, 1, "before\n", "BackoffLimitExceeded"},
		"timed out":          {shellJob{name: "slow", script: "echo begin; exec sleep " + marker}.String(), []string{"--timeout", "3s"}, 124, "begin\n", "did not end within 3s"},
		"quiet":              {shellJob{name: "ok", script: "echo out"}.String(), []string{"-q"}, 0, "out\n", ""},
		"a CronJob's work":   {cronJob, nil, 0, "nightly work\n", "complete"},
		"a Timetable's work": {timetable, nil, 0, "Manual work on orders\n", "complete"},
		"one of two by name": {cronJob + "---\n" + shellJob{name: "other", script: "echo other"}.String(), []string{"other"}, 0, "other\n", "complete"},
		"with a ConfigMap": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: words\ndata:\n  greeting: good morning\n---\n" +
			shellJob{name: "greet", script: "cat /words/greeting; echo", pod: "volumes:\n- name: words\n  configMap:\n    name: words", mounts: "- name: words\n  mountPath: /words"}.String(),
			nil, 0, "good morning\n", "complete"},
		"retried until it succeeds": {shellJob{name: "flaky", restart: "OnFailure", job: "backoffLimit: 3",
			script: "if [ -e /state/again ]; then echo second; else touch /state/again; echo first; exit 1; fi",
			pod:    "volumes:\n- name: state\n  emptyDir: {}", mounts: "- name: state\n  mountPath: /state"}.String(), nil, 0, "first\nsecond\n", "complete"},
		"which of two is not said": {cronJob + "---\n" + shellJob{name: "other", script: "true"}.String(), nil, 2, "", "say which to run"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Dir(newDataDir(t))
			t.Setenv("TMPDIR", dir)
			got := command(t, tt.manifest, append([]string{"run", "-f", "-"}, tt.args...)...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d", got.code, tt.code)
			}
			if !sameLines(got.stdout, tt.stdout) {
				t.Errorf("stdout %q, want %q", got.stdout, tt.stdout)
			}
			if !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("stderr does not say %q", tt.stderr)
			}
			if t.Failed() {
				t.Logf("stderr:\n%s", got.stderr)
			}
			wantNothingLeft(t, dir, marker)
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the directory for temporary files: %v, %v", left, err)
			}
		})
	}
}

// sameLines compares without order: a container's two streams are one file each
// way, and which of two writes comes first is not promised across them.
func sameLines(got, want string) bool {
	if len(got) != len(want) {
		return false
	}
	for line := range strings.Lines(want) {
		if strings.Count(got, line) != strings.Count(want, line) {
			return false
		}
	}
	return true
}

// Without any network but loopback Jobs run as they do with one.
func TestRunOffline(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network of its own")
	}
	for _, tool := range []string{"unshare", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs", tool)
		}
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "sh", "-c", "ip link set lo up && exec \"$0\" run -f -", carillon)
	cmd.Env = setEnv(environment(), "TMPDIR", filepath.Dir(newDataDir(t)))
	cmd.Stdin = strings.NewReader(shellJob{name: "offline", script: "echo alone"}.String())
	got, err := cmd.Output()
	if err != nil || string(got) != "alone\n" {
		t.Errorf("wrote %q, %v", got, err)
	}
}

// When "carillon run" is killed its Job's processes end, too: nobody would ever
// look after them.
func TestRunKilled(t *testing.T) {
	marker := "31.4159006"
	dir := filepath.Dir(newDataDir(t))
	cmd := exec.Command(carillon, "run", "-f", "-")
	cmd.Env = setEnv(environment(), "TMPDIR", dir)
	cmd.Stdin = strings.NewReader(shellJob{name: "orphan", script: "sleep " + marker + " & echo begin; exec sleep " + marker}.String())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "begin\n" {
		t.Fatalf("first line %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, dir, marker)
}

// "carillon run" on a Carillon that is up runs a CronJob there, now, and leaves
// its Job to be looked at.
func TestRunOnARunningCarillon(t *testing.T) {
	u := startReady(t, newDataDir(t))
	got := command(t, shellJob{name: "here", script: "echo ran here"}.String(), "run", "-f", "-", "--data-dir", u.dataDir)
	if got.code != 0 || got.stdout != "ran here\n" {
		t.Errorf("got %+v", got)
	}
	u.job("here", "complete", complete)
}

// What is wrong with the user's input is said before anything starts, with exit
// code 2.
func TestBadInput(t *testing.T) {
	tests := map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"no such file":      {"", []string{"run", "-f", "/does/not/exist.yaml"}, "/does/not/exist.yaml"},
		"no YAML":           {"{[", []string{"run", "-f", "-"}, "carillon:"},
		"no kind":           {"a: b\n", []string{"run", "-f", "-"}, "apiVersion is missing"},
		"nothing to run":    {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n", []string{"run", "-f", "-"}, "no Job, CronJob or Timetable"},
		"no such name":      {shellJob{name: "a", script: "true"}.String(), []string{"run", "-f", "-", "b"}, "\"b\""},
		"unknown flag":      {"", []string{"run", "--frobnicate"}, "frobnicate"},
		"unknown command":   {"", []string{"frobnicate"}, "frobnicate"},
		"up with no YAML":   {"{[", []string{"up", "-f", "-", "--exit-after", "1s", "--data-dir", "/tmp/never-made"}, "carillon:"},
		"up with arguments": {"", []string{"up", "x"}, "carillon:"},
		"bad output format": {"", []string{"up", "-o", "xml"}, "json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := command(t, tt.stdin, tt.args...)
			if got.code == 0 || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("got %+v, want %q on stderr", got, tt.want)
			}
			if got.code != 2 {
				t.Errorf("exit code %d, want 2", got.code)
			}
			if strings.Contains(got.stderr, "panic") || strings.Contains(got.stderr, "goroutine") {
				t.Errorf("stderr:\n%s", got.stderr)
			}
		})
	}
}
