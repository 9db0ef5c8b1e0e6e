// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	outcomes "github.com/carillon-dev/carillon/internal/plan/run"
)

// Jobs that are deleted as soon as they have ended, and a CronJob that keeps none, while Carillon is killed again and
// again: every run that was started is in the journal, with how it ended and all that it wrote.
func TestJournalAcrossKills(t *testing.T) {
	const jobs, kills = 12, 3
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	var manifest strings.Builder
	for i := range jobs {
		manifest.WriteString(shellJob{
			name:   fmt.Sprintf("gone-%d", i),
			script: fmt.Sprintf("echo start >> %[1]s/$HOSTNAME.starts; echo hello from $HOSTNAME; sleep 0.%[2]d; echo bye >&2; exit %[3]d", dir, i%10, i%3),
			job:    "backoffLimit: 0\nttlSecondsAfterFinished: 0",
			pod:    volumes, mounts: mounts,
		}.String())
	}
	fmt.Fprintf(&manifest, `---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  successfulJobsHistoryLimit: 0
  failedJobsHistoryLimit: 0
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
%s
          containers:
          - name: main
            image: host
            command: [/bin/sh, -c, "echo start >> %s/$HOSTNAME.starts; echo hello from $HOSTNAME; echo bye >&2"]
            volumeMounts:
%s
`, indent(volumes, 10), dir, indent(mounts, 12))
	dataDir := newDataDir(t)
	u := startReady(t, dataDir)
	u.kubectl("create", "-f", write(t, manifest.String()))
	started := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "*.starts"))
		for i := range found {
			found[i] = strings.TrimSuffix(filepath.Base(found[i]), ".starts")
		}
		return found
	}
	for kill := range kills {
		until(t, "some to start", func() bool { return len(started()) > kill*jobs/kills })
		u.kill()
		u = startUp(t, dataDir)
	}
	until(t, "all of them to end and be deleted", func() bool {
		return len(started()) > jobs && u.tryKubectl("", "get", "jobs", "-o", "name").stdout == ""
	})
	u.kubectl("delete", "cronjob", "tick")
	until(t, "a run that had begun to end", func() bool { return u.tryKubectl("", "get", "jobs,pods", "-o", "name").stdout == "" })
	if code, _ := u.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	reader, err := journal.OpenReader(datadir.Journal(dataDir))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	runs, err := reader.Runs(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range runs {
		attempts, err := reader.Attempts(t.Context(), r.UID)
		if err != nil || len(attempts) != 1 {
			t.Errorf("%s has %d attempts: %v", r.Name, len(attempts), err)
			continue
		}
		a, want, code := attempts[0], outcomes.Succeeded, int32(0)
		var n int32
		if _, err := fmt.Sscanf(r.Name, "gone-%d", &n); err == nil && n%3 != 0 {
			want, code = outcomes.Failed, n%3
		}
		if cancelled := r.Owner.Name == "tick" && r.Outcome == outcomes.Cancelled; r.Outcome != want && !cancelled || a.ExitCode != code {
			t.Errorf("%s is %s (%s: %s) with exit code %d, want %s with %d", r.Name, r.Outcome, r.Reason, r.Message, a.ExitCode, want, code)
		}
		if r.Ended.IsZero() || r.Ended.Before(r.Created.Add(-time.Second)) {
			t.Errorf("%s was created at %s and ended at %s", r.Name, r.Created, r.Ended)
		}
		if r.Owner.Name == "tick" && r.ScheduledTime.IsZero() {
			t.Errorf("%s has no scheduled time", r.Name)
		}
		log, err := logOfAttempt(t, reader, a.ContainerID)
		if err != nil || !strings.Contains(log, " stdout F hello from "+a.Pod+"\n") || !strings.Contains(log, " stderr F bye\n") {
			t.Errorf("%s wrote %q: %v", r.Name, log, err)
		}
		seen[a.Pod] = true
	}
	for _, pod := range started() {
		if !seen[pod] {
			t.Errorf("pod %s was started, and the journal does not know it", pod)
		}
	}
	if len(runs) < jobs+1 {
		t.Errorf("%d runs are in the journal", len(runs))
	}
}

func logOfAttempt(t *testing.T, reader *journal.Reader, id string) (string, error) {
	log, err := reader.Log(t.Context(), id)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(log)
	return string(text), errors.Join(err, log.Close())
}
