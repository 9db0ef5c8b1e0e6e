// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// "carillon up -f" runs a Job: what it writes is shown, then how it ended; and
// a clean stop within five seconds leaves nothing behind.
func TestUpRunsAJob(t *testing.T) {
	dataDir := newDataDir(t)
	u := startUp(t, dataDir, "-f", write(t, shellJob{name: "hello", script: "echo to-stdout; echo to-stderr >&2"}.String()))
	if end := u.finished("hello"); end.Outcome != "complete" {
		t.Errorf("the job ended %+v", end)
	}
	for _, want := range []string{"to-stdout", "to-stderr"} {
		if got := u.outputs("hello"); !slices.Contains(got, want) {
			t.Errorf("output %q has no line %q", got, want)
		}
	}
	u.wait("ready", func(l line) bool { return l.Message == "ready" })
	u.wantCleanStop(u.stop())
	wantNothingLeft(t, dataDir, "")
}

// A failed Job is told as one, with Kubernetes' own reason, and is no reason
// for Carillon to end.
func TestUpTellsFailure(t *testing.T) {
	u := startUp(t, newDataDir(t), "-f", write(t, shellJob{name: "broken", script: "exit 3"}.String()))
	if end := u.finished("broken"); end.Outcome != "failed" || end.Reason != "BackoffLimitExceeded" {
		t.Errorf("the job ended %+v", end)
	}
	pods := u.pods("broken")
	if len(pods) != 1 || exitCode(&pods[0]) != 3 {
		t.Errorf("pods: %+v", pods)
	}
	if code, _ := u.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A CronJob is shown with its next time and runs then, once.
func TestUpRunsACronJob(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	manifest := strings.NewReplacer("DIR", dir, "VOLUMES", indent(volumes, 10), "MOUNTS", indent(mounts, 12)).Replace(`apiVersion: batch/v1
kind: CronJob
metadata:
  name: tick
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
VOLUMES
          containers:
          - name: main
            image: none
            command: ["/bin/sh", "-c", "echo run >> DIR/runs"]
            volumeMounts:
MOUNTS
`)
	u := startUp(t, newDataDir(t), "-f", write(t, manifest))
	u.wait("the next time", func(l line) bool { return l.Type == "due" && l.Object == "cronjob/default/tick" })
	end := u.wait("a run", func(l line) bool { return l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/tick-") })
	if end.Outcome != "complete" {
		t.Errorf("the run ended %+v", end)
	}
	// The Job is named after the minute that it was due, and was started in it.
	job := u.job(strings.TrimPrefix(end.Object, "job/default/"), "complete", complete)
	if want := fmt.Sprintf("tick-%d", job.CreationTimestamp.Unix()/60); job.Name != want {
		t.Errorf("the run is %s, want %s", job.Name, want)
	}
	if code, _ := u.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	told := 0
	for _, l := range u.lines {
		if l.Type == "finished" {
			told++
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	if runs := strings.Count(string(data), "\n"); runs != told {
		t.Errorf("%d runs told, %d done", told, runs)
	}
}

// Two Jobs with manifests from a directory and from standard input are applied.
func TestUpTakesDirectories(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(shellJob{name: name, script: "true"}.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("not a manifest"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := startUp(t, newDataDir(t), "-f", dir)
	for _, name := range []string{"one", "two"} {
		if end := u.finished(name); end.Outcome != "complete" {
			t.Errorf("%s ended %+v", name, end)
		}
	}
}

// --exit-after stops by itself, as cleanly as a signal does.
func TestUpExitAfter(t *testing.T) {
	dataDir := newDataDir(t)
	marker := "31.4159001"
	u := startUp(t, dataDir, "--exit-after", "1s", "-f", write(t, shellJob{name: "long", script: "exec sleep " + marker}.String()))
	u.waitEnd()
	if code := u.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantNothingLeft(t, dataDir, marker)
}

// A clean stop ends within five seconds, also with containers that do not
// listen to SIGTERM, and leaves no process, mount or cgroup. What ran is a
// failure of its Pod afterwards, which the Job's rules deal with.
func TestCleanStop(t *testing.T) {
	for name, signal := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			dataDir := newDataDir(t)
			marker := "31.4159002"
			jobs := shellJob{name: "deaf", script: "trap '' TERM INT; while true; do sleep " + marker + "; done"}.String() +
				shellJob{name: "daemons", script: "setsid sleep " + marker + " & sleep " + marker}.String() +
				shellJob{name: "volumes", script: "exec sleep " + marker,
					pod:    "volumes:\n- name: memory\n  emptyDir:\n    medium: Memory",
					mounts: "- name: memory\n  mountPath: /memory"}.String()
			u := startReady(t, dataDir, "-f", write(t, jobs))
			for _, name := range []string{"deaf", "daemons", "volumes"} {
				u.pod(name, "running", running)
			}
			began := time.Now()
			u.signal(signal)
			u.waitEnd()
			u.wantCleanStop(u.cmd.ProcessState.ExitCode(), time.Since(began))
			wantNothingLeft(t, dataDir, marker)

			again := startReady(t, dataDir)
			for _, name := range []string{"deaf", "daemons", "volumes"} {
				again.job(name, "failed", failed)
			}
			again.wantCleanStop(again.stop())
			wantNothingLeft(t, dataDir, marker)
		})
	}
}

// With --drain running Pods get their grace period, and a Pod that ends well
// within it is complete afterwards.
func TestDrain(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "--drain", "-f", write(t, shellJob{name: "polite",
		script: "trap 'echo saving; exit 0' TERM; echo up; while true; do sleep 0.05; done",
		pod:    "terminationGracePeriodSeconds: 20"}.String()))
	u.wait("its first line", func(l line) bool { return l.Type == "output" && l.Message == "up" })
	if code, _ := u.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantNothingLeft(t, dataDir, "")
	again := startReady(t, dataDir)
	again.job("polite", "finished", func(job *batchv1.Job) bool { return complete(job) || failed(job) })
}
