// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// told is what the test reads of carillon history -o json.
type told struct {
	Object  struct{ Deleted bool }
	Origin  string
	Runs    []map[string]any
	Summary struct{ Runs, Succeeded, Failed, Restarted int }
}

func historyOf(t *testing.T, args ...string) told {
	t.Helper()
	var d told
	document(t, &d, append([]string{"history"}, args...)...)
	for _, run := range d.Runs { // only the journal has what the node measured
		delete(run, "cpuSeconds")
		delete(run, "memoryPeakBytes")
		delete(run, "outputBytes")
	}
	return d
}

// aSecondOrTwo is how far what objects tell of when something ran, in whole seconds and late, may be from what the node
// has measured.
const aSecondOrTwo = 3 * time.Second

// sameRuns tells whether two lists have the same runs, and the times and durations of each as near as objects know
// them.
func sameRuns(a, b []map[string]any) bool {
	near := func(x, y any) bool {
		switch x := x.(type) {
		case float64:
			y, ok := y.(float64)
			return ok && math.Abs(x-y) <= aSecondOrTwo.Seconds()
		case string:
			y, _ := y.(string)
			s, err1 := time.Parse(time.RFC3339, x)
			e, err2 := time.Parse(time.RFC3339, y)
			return err1 == nil && err2 == nil && s.Sub(e).Abs() <= aSecondOrTwo
		}
		return x == nil && y == nil
	}
	return slices.EqualFunc(a, b, func(x, y map[string]any) bool {
		x, y = maps.Clone(x), maps.Clone(y)
		for _, key := range []string{"startTime", "endTime", "durationSeconds"} {
			if !near(x[key], y[key]) {
				return false
			}
			delete(x, key)
			delete(y, key)
		}
		return reflect.DeepEqual(x, y)
	})
}

// The journal and the objects of the same Carillon tell the same runs; and the journal does so still when the objects
// are deleted, and when nothing runs.
func TestHistoryOfTheJournalAndOfObjects(t *testing.T) {
	t.Parallel() // most of it is waiting
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "-f", write(t, `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: tick}
spec:
  timeZone: Asia/Kolkata
  schedules: [{cron: "*/2 * * * * *"}]
  history: {succeeded: {limit: 100}, failed: {limit: 100}}
  template:
    spec:
      backoffLimit: 1
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: host, command: [/bin/sh, -c, "exit 3"]}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  backoffLimit: 1
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: host, command: [/bin/sh, -c, "exit 0"]}]
`))
	u.finished("once")
	for range 2 {
		u.wait("a run that ends", func(l line) bool {
			return l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/tick-")
		})
	}
	u.kubectl("patch", "timetable", "tick", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	journal := []string{"--data-dir", dataDir}
	objects := []string{"--kubeconfig", filepath.Join(dataDir, "kubeconfig")}
	for name, failed := range map[string]bool{"tt/tick": true, "job/once": false} {
		var remembered, there told
		until(t, "the journal and the objects of "+name+" to tell the same runs, all ended", func() bool {
			remembered, there = historyOf(t, append(journal, name)...), historyOf(t, append(objects, name)...)
			return sameRuns(remembered.Runs, there.Runs) && remembered.Summary.Succeeded+remembered.Summary.Failed == remembered.Summary.Runs
		})
		if remembered.Summary != there.Summary || remembered.Summary.Runs == 0 || (remembered.Summary.Failed > 0) != failed ||
			(remembered.Summary.Restarted > 0) != failed {
			t.Errorf("%s: the journal sums up %+v, the objects %+v", name, remembered.Summary, there.Summary)
		}
		if !strings.Contains(remembered.Origin, "the journal of the Carillon on "+dataDir) || !strings.Contains(there.Origin, "the objects of the cluster") {
			t.Errorf("%s: from %q and %q", name, remembered.Origin, there.Origin)
		}
	}
	before := historyOf(t, append(journal, "tt/tick")...)
	u.kubectl("delete", "timetable", "tick")
	u.kubectl("delete", "job", "once")
	until(t, "the runs to be deleted", func() bool { return u.tryKubectl("", "get", "jobs,pods", "-o", "name").stdout == "" })
	if after := historyOf(t, append(journal, "tt/tick")...); !after.Object.Deleted || !reflect.DeepEqual(after.Runs, before.Runs) {
		t.Errorf("when it is deleted (%t): %v, not %v", after.Object.Deleted, after.Runs, before.Runs)
	}
	u.wantCleanStop(u.stop())
	after := historyOf(t, append(journal, "tt/tick", "--since", "1d")...)
	if !reflect.DeepEqual(after.Runs, before.Runs) || !strings.Contains(after.Origin, "that Carillon does not run now") {
		t.Errorf("when nothing runs, from %q: %v, not %v", after.Origin, after.Runs, before.Runs)
	}
	if r := command(t, "", "history", "cronjob/none", "--data-dir", dataDir); r.code != 2 || !strings.Contains(r.stderr, "there is no cronjob/none") {
		t.Errorf("one that never was: exit code %d: %s", r.code, r.stderr)
	}
	if r := command(t, "", "history", "--journal", filepath.Join(dataDir, "journal")); r.code != 0 || !strings.Contains(r.stdout, "timetable/tick") || !strings.Contains(r.stdout, "job/once") {
		t.Errorf("an overview of the journal alone: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}
