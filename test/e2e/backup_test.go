// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	outcomes "github.com/carillon-dev/carillon/internal/plan/run"
)

// A backup that is made while many runs end, restored into another directory and started there: no run that had ended
// in the backup runs again, and none is lost. Before it others are killed, which leave nothing that is frozen or taken
// for a backup.
func TestBackupWhileRunsEnd(t *testing.T) {
	const jobs = 60
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	var manifest strings.Builder
	for i := range jobs {
		manifest.WriteString(shellJob{name: fmt.Sprintf("run-%d", i), script: fmt.Sprintf("echo $HOSTNAME >> %s/$POD.ran; sleep 0.2", dir), job: "backoffLimit: 6",
			pod: volumes, mounts: mounts + "\nenv:\n- name: POD\n  valueFrom: {fieldRef: {fieldPath: metadata.uid}}"}.String())
	}
	manifest.WriteString(shellJob{name: "long", script: fmt.Sprintf("echo $HOSTNAME >> %s/long.ran; exec sleep 600", dir), job: "backoffLimit: 6", pod: volumes, mounts: mounts}.String())
	dataDir := newDataDir(t)
	file := filepath.Join(filepath.Dir(dataDir), "b")
	u := startReady(t, dataDir, "-f", write(t, manifest.String()))
	until(t, "a part to run", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "*.ran"))
		return len(found) > jobs/3
	})
	for range 3 {
		killed := exec.Command(carillon, "backup", "--data-dir", dataDir, file)
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the backup to begin", func() bool {
			found, _ := filepath.Glob(filepath.Join(dataDir, ".backup-*"))
			return len(found) > 0 || exists(filepath.Dir(file), filepath.Base(file))
		})
		_ = killed.Process.Kill()
		_ = killed.Wait() // it was killed
	}
	if out, err := exec.Command(carillon, "backup", "--force", "--data-dir", dataDir, file).CombinedOutput(); err != nil {
		t.Fatalf("backup: %v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dataDir, ".backup-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	u.kill()
	t.Cleanup(func() {
		// Containers outlive a kill until the next start; here nobody else would end them, and later tests would find them.
		startReady(t, dataDir).stop()
		wantNothingLeft(t, dataDir, "")
	})

	other := filepath.Join(filepath.Dir(dataDir), "other")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{file, "--data-dir", dataDir}, "--replace"},
		{[]string{write(t, "no backup"), "--data-dir", other}, "no backup of Carillon"},
	} {
		out, err := exec.Command(carillon, append([]string{"restore"}, c.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("restore %v: %v\n%s", c.args, err, out)
		}
	}
	if out, err := exec.Command(carillon, "restore", "--data-dir", other, file).CombinedOutput(); err != nil {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	ended := endedPods(t, other)
	if len(ended) == 0 {
		t.Fatal("no Pod had ended in the backup: it shows nothing")
	}
	before := map[types.UID]string{}
	for uid := range ended {
		before[uid] = lines(t, dir, string(uid))
	}

	u = startReady(t, other)
	for i := range jobs {
		u.job(fmt.Sprintf("run-%d", i), "complete", complete)
	}
	for uid := range ended {
		if after := lines(t, dir, string(uid)); after != before[uid] {
			t.Errorf("Pod %s had ended in the backup, and ran again: %q, then %q", uid, before[uid], after)
		}
	}
	long := u.pods("long")
	failed := 0
	for i := range long {
		if long[i].Status.Phase == corev1.PodFailed && long[i].Status.Reason == "RestoredFromBackup" {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("the Pod that ran when the backup was made has not failed: %+v", statuses(long))
	}
	// Each run has one outcome; those of Jobs that ended meanwhile are recorded from their objects.
	until(t, "the journal to have each run", func() bool { return len(runsWith(t, other, outcomes.Succeeded)) == jobs })
}

// endedPods are the Pods of which the journal of a data directory that nobody uses, or what is on its way there, has
// the end of a container.
func endedPods(t *testing.T, dataDir string) map[types.UID]bool {
	t.Helper()
	r, err := journal.OpenReader(datadir.Journal(dataDir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.Runs(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[types.UID]bool{}
	for i := range all {
		attempts, err := r.Attempts(t.Context(), all[i].UID)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attempts {
			found[a.PodUID] = true
		}
	}
	return found
}

// runsWith gives the names of the runs with an outcome in the journal of a data directory.
func runsWith(t *testing.T, dataDir string, outcome outcomes.Outcome) map[string]bool {
	t.Helper()
	r, err := journal.OpenReader(datadir.Journal(dataDir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.Runs(t.Context(), journal.Query{Outcomes: []outcomes.Outcome{outcome}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for i := range all {
		found[all[i].Name] = true
	}
	return found
}

// lines is what the Pod with that UID wrote each time that it ran.
func lines(t *testing.T, dir, uid string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, uid+".ran"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
