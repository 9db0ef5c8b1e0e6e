// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/carillon-dev/carillon/internal/datadir"
)

// recording runs carillon record against a Carillon as against any cluster. said is what it has said, end ends it with
// a signal and gives its exit code.
func recording(t *testing.T, u *up, dir string) (said func() string, end func(os.Signal) int) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), carillon, "record", "--journal", dir, "--kubeconfig", datadir.Kubeconfig(u.dataDir))
	cmd.Env, cmd.Stderr = environment(), file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said = func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	until(t, "it records", func() bool {
		return strings.Contains(said(), "carillon: recording the runs of all namespaces of https://")
	})
	return said, func(s os.Signal) int {
		t.Helper()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its exit code tells
		file.Close()
		return cmd.ProcessState.ExitCode()
	}
}

// Runs of a cluster and their logs are remembered when their objects are deleted: also after kill -9 of who records
// them, and after the API server was away.
func TestRecordOfACluster(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "--local-files")
	dir := filepath.Join(filepath.Dir(dataDir), "record")
	runs := func(name, script string) {
		t.Helper()
		u.kubectl("create", "-f", write(t, shellJob{name: name, script: script, job: "backoffLimit: 0"}.String()))
		until(t, name+" is recorded", func() bool {
			got := command(t, "", "logs", "-q", "job/"+name, "--journal", dir)
			return got.code == 0 && strings.Contains(got.stdout, name)
		})
		u.kubectl("wait", "--for=jsonpath={.status.conditions}", "job/"+name, "--timeout=60s")
		u.kubectl("delete", "job", name, "--wait=false")
	}
	recorded := func(name string, failed int) {
		t.Helper()
		until(t, "the end of "+name, func() bool {
			d := historyOf(t, "job/"+name, "--journal", dir)
			return d.Summary.Runs == 1 && d.Summary.Failed == failed && d.Summary.Succeeded == 1-failed
		})
	}
	_, kill := recording(t, u, dir)
	if got := command(t, "", "record", "--journal", dir, "--kubeconfig", datadir.Kubeconfig(dataDir)); got.code != 1 || !strings.Contains(got.stderr, "is written by process ") {
		t.Errorf("a second one: exit code %d: %s", got.code, got.stderr)
	}
	runs("before", "echo before; exit 3")
	recorded("before", 1)
	kill(syscall.SIGKILL)

	u.kubectl("create", "-f", write(t, shellJob{name: "meanwhile", script: "echo meanwhile"}.String()))
	u.kubectl("wait", "--for=condition=Complete", "job/meanwhile", "--timeout=60s")
	said, end := recording(t, u, dir)
	until(t, "what ran while nobody recorded is known", func() bool {
		got := command(t, "", "logs", "-q", "job/meanwhile", "--journal", dir)
		return got.code == 0 && got.stdout == "meanwhile\n"
	})
	recorded("meanwhile", 0)

	u.kill()
	until(t, "it says that the API server is away", func() bool { return strings.Contains(said(), "cannot be reached") })
	u = startReady(t, dataDir, "--local-files")
	runs("after", "echo after")
	recorded("after", 0)
	if code := end(syscall.SIGTERM); code != 0 || !strings.Contains(said(), "is reached again") {
		t.Errorf("exit code %d: %s", code, said())
	}
	wantResult(t, "a Job that is gone", command(t, "", "logs", "-q", "job/before", "--journal", dir), 0, "before\n")
	recorded("before", 1)
}
