// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

// ordinary is a user id that no account of a usual machine has.
const ordinary = 2001

// An ordinary user, without any right of root, runs Jobs with volumes, execs
// into them and stops without leaving anything. What only root could do fails
// at once, with a message that says so.
func TestOrdinaryUser(t *testing.T) {
	dir := ordinaryDir(t)
	dataDir := filepath.Join(dir, "data")

	const objects = `apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {password: "s3cret"}
---
`
	marker := "31.4159005"
	manifest := objects +
		shellJob{
			name:   "volumes",
			script: "set -e\nid -u\ncat /keys/password; echo\necho x > /scratch/y; cat /scratch/y\necho m > /memory/z; cat /memory/z\necho p > /part/q; cat /part/q",
			pod:    "volumes:\n- name: keys\n  secret: {secretName: keys}\n- name: scratch\n  emptyDir: {}\n- name: memory\n  emptyDir: {medium: Memory}",
			mounts: "- name: keys\n  mountPath: /keys\n- name: scratch\n  mountPath: /scratch\n- name: memory\n  mountPath: /memory\n- name: scratch\n  mountPath: /part\n  subPath: deep/er",
		}.String() +
		shellJob{name: "as-root", script: "id -u", pod: "securityContext:\n  runAsUser: 0"}.String() +
		shellJob{name: "stays", script: "exec sleep " + marker}.String()

	u := startUpAs(t, &syscall.Credential{Uid: ordinary, Gid: ordinary}, dataDir, "-f", writeFor(t, dir, manifest))
	u.wait("ready", func(l line) bool { return l.Type == "step" && l.Message == "ready" })
	if end := u.finished("volumes"); end.Outcome != "complete" {
		t.Errorf("ended %+v", end)
	}
	if got := u.kubectl("logs", "job/volumes"); got != "2001\ns3cret\nx\nm\np\n" {
		t.Errorf("wrote %q", got)
	}
	if end := u.finished("as-root"); end.Outcome != "failed" {
		t.Errorf("what asks for root ended %+v", end)
	}
	if pods := u.pods("as-root"); len(pods) != 1 || pods[0].Status.Reason != "NeedsRoot" || !strings.Contains(pods[0].Status.Message, "runAsUser") {
		t.Errorf("pods %+v", statuses(pods))
	}
	stays := u.pod("stays", "running", running)
	if got := u.kubectl("exec", stays.Name, "--", "id", "-u"); got != "2001\n" {
		t.Errorf("exec: %q", got)
	}
	// A kubeconfig can name programs to run, so root does not take a user's.
	if got := command(t, "", "kubectl", "--data-dir", dataDir, "get", "pods"); got.code == 0 || !strings.Contains(got.stderr, "user 2001") {
		t.Errorf("kubectl as root: %+v", got)
	}
	u.wantCleanStop(u.stop())
	wantNothingLeft(t, dataDir, marker)

	again := startUpAs(t, &syscall.Credential{Uid: ordinary, Gid: ordinary}, dataDir)
	again.job("stays", "finished", func(job *batchv1.Job) bool { return failed(job) || complete(job) })
	again.wantCleanStop(again.stop())
	wantNothingLeft(t, dataDir, marker)
}

// ordinaryDir is a directory of the ordinary user's, who can reach the program.
func ordinaryDir(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else; the other tests ran as an ordinary user")
	}
	// As directories of tests are root's alone, this one is elsewhere.
	dir, err := os.MkdirTemp("", "ce2e-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, path := range []string{dir, filepath.Dir(carillon)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFor(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "manifest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// setEnv returns the environment with one variable set.
func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(each string) bool { return strings.HasPrefix(each, name+"=") })
	return append(env, name+"="+value)
}
