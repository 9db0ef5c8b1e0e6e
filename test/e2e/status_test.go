// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// statusDocument is what the test reads of carillon status -o json.
type statusDocument struct {
	Well, Served, Stopped bool
	Schedules             int `json:"scheduleCount"`
	Health                []struct{ Name, State, Text string }
	Running               []struct {
		Reference, WaitsFor string
		Stuck               bool
	}
	Failed []struct {
		Reference string
		Persists  bool
		Output    []string
	}
	Paused []struct{ Reference, Cause, By string }
}

func statusOf(t *testing.T, dataDir string) statusDocument {
	t.Helper()
	var d statusDocument
	document(t, &d, "status", "--data-dir", dataDir)
	return d
}

// A Job that failed and is gone, one that cannot start, and a schedule that somebody has suspended are on the screen;
// the watch draws it and leaves the terminal as it was; and when Carillon does not run, the journal still tells of the
// failure.
func TestStatus(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir)
	if first := statusOf(t, dataDir); !first.Well || !first.Served || first.Schedules != 0 {
		t.Errorf("of an empty Carillon: %+v", first)
	}
	u.kubectl("create", "-f", write(t,
		shellJob{name: "broken", script: "echo starting; echo no such table: users; exit 3", job: "backoffLimit: 0\nttlSecondsAfterFinished: 0"}.String()+`---
apiVersion: batch/v1
kind: CronJob
metadata: {name: held}
spec:
  schedule: "* * * * *"
  suspend: true
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ["true"]}]}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: held-up}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.invalid/nothing:1", command: ["true"]}]}}
`))
	until(t, "the status to tell of all three", func() bool {
		d := statusOf(t, dataDir)
		return len(d.Failed) == 1 && len(d.Failed[0].Output) == 2 && len(d.Running) == 1 && d.Running[0].Stuck && len(d.Paused) == 1
	})
	d := statusOf(t, dataDir)
	if f := d.Failed[0]; f.Reference != "job/broken" || !f.Persists || strings.Join(f.Output, "|") != "starting|no such table: users" {
		t.Errorf("the failure is %+v", f)
	}
	if r := d.Running[0]; r.Reference != "job/held-up" || !strings.Contains(r.WaitsFor, "registry.invalid") {
		t.Errorf("what cannot start is %+v", r)
	}
	if p := d.Paused[0]; p.Reference != "cronjob/held" || p.Cause != "Suspended" || p.By == "" {
		t.Errorf("what is suspended is %+v", p)
	}
	for _, part := range d.Health {
		if part.State != "Well" {
			t.Errorf("the %s is %s: %s", part.Name, part.State, part.Text)
		}
	}
	if r := command(t, "", "status", "--data-dir", dataDir, "--exit-code"); r.code != 1 || !strings.HasPrefix(r.stdout, "1 failing, 1 stuck: 1 running, 1 schedule, none due\n") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}

	watch := onTerminal(t, t.TempDir(), "status", "--watch", "--data-dir", dataDir)
	watch.waitFor("no such table: users")
	if _, err := watch.master.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	if code := watch.waitEnd(); code != 0 {
		t.Errorf("the watch ended with %d", code)
	}
	watch.waitFor("\x1b[?1049l") // the reader may lag behind the end
	if text := watch.text(); !strings.Contains(text, "\x1b[?1049h") || strings.Count(text, "\x1b[?25l") != strings.Count(text, "\x1b[?25h") {
		t.Errorf("the terminal is not as it was: %q", text)
	}

	u.stop()
	d = statusOf(t, dataDir)
	if !d.Stopped || d.Served || d.Well || len(d.Failed) != 1 || strings.Join(d.Failed[0].Output, "|") != "starting|no such table: users" {
		t.Errorf("when it does not run: %+v", d)
	}
	if r := command(t, "", "status", "--data-dir", dataDir); r.code != 0 || !strings.HasPrefix(r.stdout, "Carillon does not run, 1 failing: 1 not ended when Carillon stopped\n") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
}
