// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// description is what the test reads of carillon describe -o json.
type description struct {
	Gone  bool
	State struct{ Verdict, Summary string }
	// Schedule is empty for a Job.
	Schedule struct {
		NextTimes []struct{ Time, LocalTime time.Time }
	}
	Timeline struct{ Counts map[string]int }
	Latest   []struct {
		Run struct {
			Name, Outcome string
			ExitCode      int
		}
	}
	Output struct {
		Run      struct{ Name string }
		Attempts []struct{ ExitCode int }
		Lines    []string
	}
}

func describe(t *testing.T, dataDir string, args ...string) description {
	t.Helper()
	var d description
	document(t, &d, append([]string{"describe", "--data-dir", dataDir}, args...)...)
	return d
}

// Runs whose Jobs are gone at once, by the history limits, are described, and why tells of them from the journal: while
// Carillon runs, when their Timetable is deleted, after kill -9, and, described, while none runs.
func TestDescribeAndWhyWhenTheObjectsAreGone(t *testing.T) {
	t.Parallel() // most of it is waiting
	dataDir := newDataDir(t)
	manifest := write(t, `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: tick}
spec:
  timeZone: Asia/Kolkata
  schedules: [{cron: "*/2 * * * * *"}]
  history: {succeeded: {limit: 0}, failed: {limit: 0}}
  template:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: host, command: [/bin/sh, -c, "echo no luck today; exit 3"]}]
`)
	u := startReady(t, dataDir, "-f", manifest)
	var job string
	for range 3 {
		l := u.wait("a run that fails", func(l line) bool {
			return l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/tick-")
		})
		if job == "" {
			job = strings.TrimPrefix(l.Object, "job/default/")
		}
	}
	until(t, "job/"+job+" to go", func() bool { return u.tryKubectl("", "get", "job", job).code != 0 })
	u.kill()
	u = startReady(t, dataDir)

	due, err := time.Parse("20060102-150405", strings.TrimPrefix(job, "tick-"))
	if err != nil {
		t.Fatal(err)
	}
	r := command(t, "", "why", "tt/tick", "--at", due.Format(time.RFC3339), "--data-dir", dataDir)
	flat := strings.Join(strings.Fields(r.stdout), " ")
	if r.code != 0 || !strings.Contains(flat, "Job "+job+" started") || !strings.Contains(flat, "- journal: Job "+job) || !strings.Contains(flat, "exit code 3") {
		t.Errorf("why: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	r = command(t, "", "why", "job/"+job, "--data-dir", dataDir)
	if flat := strings.Join(strings.Fields(r.stdout), " "); r.code != 0 || !strings.Contains(flat, "job/"+job+" failed") || !strings.Contains(flat, "its object is gone") {
		t.Errorf("why job: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}

	told := func(when string, d description) {
		t.Helper()
		if len(d.Latest) == 0 || d.Latest[len(d.Latest)-1].Run.Name == "" || d.Timeline.Counts["Failed"] < 3 {
			t.Errorf("%s: %+v", when, d)
		}
		if o := d.Output; len(o.Lines) != 1 || o.Lines[0] != "no luck today" || len(o.Attempts) != 1 || o.Attempts[0].ExitCode != 3 {
			t.Errorf("%s: the last failure is %+v", when, o)
		}
	}
	d := describe(t, dataDir, "tt/tick", "--zone", "America/New_York")
	told("as it runs", d)
	if d.Gone || len(d.Schedule.NextTimes) != 5 || !d.Schedule.NextTimes[0].LocalTime.Equal(d.Schedule.NextTimes[0].Time) {
		t.Errorf("as it runs: %+v", d)
	}
	u.kubectl("delete", "timetable", "tick", "--wait=true")
	if d = describe(t, dataDir, "tt/tick"); !d.Gone || len(d.Schedule.NextTimes) > 0 {
		t.Errorf("deleted: %+v", d)
	}
	told("deleted", d)
	u.stop()
	told("stopped", describe(t, dataDir, "tt/tick"))
	d = describe(t, dataDir, "job/"+job)
	if !d.Gone || d.State.Verdict != "Failed" || d.Output.Run.Name != job || fmt.Sprint(d.Output.Lines) != "[no luck today]" {
		t.Errorf("a Job that is gone: %+v", d)
	}
	if r := command(t, "", "describe", "cronjob/nobody", "--data-dir", dataDir); r.code != 2 || !strings.Contains(r.stderr, "there is no cronjob/nobody") {
		t.Errorf("what never was: exit code %d: %s", r.code, r.stderr)
	}
}
