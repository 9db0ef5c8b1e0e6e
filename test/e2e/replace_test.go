// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The processes of a run that Replace deletes, and of one whose Job somebody deletes, are told to end and do; the next
// run starts at its time, and no time runs twice (CJ-065, CJ-082, R6; what guarantee 2 says about Pods).
func TestProcessesOfDeletedRunsEnd(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	manifest := strings.NewReplacer("DIR", dir, "VOLUMES", indent(volumes, 10), "MOUNTS", indent(mounts, 12)).Replace(`apiVersion: batch.tutorial.kubebuilder.io/v1
kind: CronJob
metadata:
  name: tick
spec:
  schedule: "@every 15s"
  concurrencyPolicy: Replace
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 60
VOLUMES
          containers:
          - name: main
            image: none
            command: ["/bin/sh", "-c", "trap 'echo end $RUN >> DIR/log; exit 0' TERM; echo begin $RUN >> DIR/log; while :; do sleep 1 & wait $!; done"]
            env:
            - name: RUN
              valueFrom:
                fieldRef:
                  fieldPath: metadata.labels['batch.kubernetes.io/job-name']
            volumeMounts:
MOUNTS
`)
	u := startReady(t, newDataDir(t), "-f", "../../deploy/crds", "-f", write(t, manifest))
	seen := func(what string) (runs []string) {
		data, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, l := range strings.Fields(strings.ReplaceAll(string(data), what+" ", what+":")) {
			if run, ok := strings.CutPrefix(l, what+":"); ok {
				runs = append(runs, run)
			}
		}
		return runs
	}
	until(t, "the second run's process", func() bool { return len(seen("begin")) >= 2 })
	until(t, "the end of the first one's", func() bool { return len(seen("end")) >= 1 })
	if begun, ended := seen("begin"), seen("end"); ended[0] != begun[0] {
		t.Errorf("ended %q, begun %q", ended, begun)
	}

	begun := seen("begin")
	deleted := begun[len(begun)-1]
	u.kubectl("delete", "job", deleted, "--ignore-not-found", "--wait=false")
	until(t, "the end of the deleted Job's process", func() bool { return strings.Contains(strings.Join(seen("end"), " ")+" ", deleted+" ") })
	until(t, "another run's process", func() bool { return len(seen("begin")) > len(begun) })
	starts := map[string]int{}
	for _, run := range seen("begin") {
		if starts[run]++; starts[run] > 1 {
			t.Errorf("%s began %d times", run, starts[run])
		}
	}
}
