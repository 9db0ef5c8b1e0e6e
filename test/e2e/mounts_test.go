// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is mounted for Pods is seen by nobody else. A kill -9 leaves it to the
// containers that run on, and the next start finds it: a container that is
// restarted then shares its volume in memory with one that never stopped.
func TestOwnMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user mounts nothing on the machine")
	}
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	marker := "31.4159013"
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "-f", write(t, fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: shares}
spec:
  backoffLimit: 6
  template:
    spec:
      restartPolicy: OnFailure
      automountServiceAccountToken: false
%s
      containers:
      - name: stays
        image: none
        command: [/bin/sh, -c, "echo first > /memory/word; exec sleep %s"]
        volumeMounts:
        - {name: memory, mountPath: /memory}
%s
      - name: again
        image: none
        command: [/bin/sh, -c, "cat /memory/word >> %[4]s/again.read; while [ ! -e %[4]s/again.go ]; do sleep 0.05; done; exit 1"]
        volumeMounts:
        - {name: memory, mountPath: /memory}
%[3]s
`, indent(volumes+"\n- name: memory\n  emptyDir: {medium: Memory}", 6), marker, indent(mounts, 8), dir)))
	pod := u.pod("shares", "running", running)
	until(t, "the second container to begin", func() bool { return exists(dir, "again.read") })
	if mounted := leftMounts(t, dataDir); len(mounted) > 0 {
		t.Errorf("the machine sees %q", mounted)
	}
	if own := mountsOf(t, u.cmd.Process.Pid, dataDir); len(own) == 0 {
		t.Error("nothing is mounted for the program either")
	}
	if program, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", u.cmd.Process.Pid)); err != nil || string(program) != "carillon\n" {
		t.Errorf("it is called %q (%v)", program, err)
	}
	u.kill()
	if mounted := leftMounts(t, dataDir); len(mounted) > 0 {
		t.Errorf("after the kill the machine sees %q", mounted)
	}

	u = startReady(t, dataDir)
	until(t, "exec to reach the container that never stopped", func() bool {
		return u.tryKubectl("", "exec", pod.Name, "-c", "stays", "--", "sh", "-c", "echo second > /memory/word").code == 0
	})
	touch(t, dir, "again.go")
	until(t, "the second container to be restarted", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "again.read"))
		return err == nil && strings.HasSuffix(string(text), "second\n")
	})
	u.wantCleanStop(u.stop())
	wantNothingLeft(t, dataDir, marker)
}

// mountsOf are the mounts below dir that a process sees.
func mountsOf(t *testing.T, pid int, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for mount := range strings.Lines(string(data)) {
		if strings.Contains(mount, dir) {
			found = append(found, strings.TrimSpace(mount))
		}
	}
	return found
}

// The data directory, with its keys, is hidden from containers at every path
// that the machine's mounts give it.
func TestDataDirectoryIsHidden(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	base := filepath.Dir(newDataDir(t))
	parent, all, keys := filepath.Join(base, "parent"), filepath.Join(base, "all of it"), filepath.Join(base, "keys")
	dataDir := filepath.Join(parent, "data")
	pki := filepath.Join(dataDir, "control-plane", "pki")
	err := errors.Join(os.MkdirAll(pki, 0o700), os.Mkdir(all, 0o700), os.Mkdir(keys, 0o700), os.WriteFile(filepath.Join(parent, "neighbour"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{parent: all, pki: keys} {
		if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
			t.Skip("needs the right to mount", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(to, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	u := startUp(t, dataDir, "-f", write(t, shellJob{name: "looks",
		script: fmt.Sprintf("for d in '%[1]s/data' '%[2]s/data' '%[3]s'; do ls -A \"$d\" | wc -l; done; ls '%[2]s'", parent, all, keys)}.String()))
	if end := u.finished("looks"); end.Outcome != "complete" {
		t.Errorf("ended %+v", end)
	}
	if _, err := os.Stat(filepath.Join(keys, "ca.pem")); err != nil {
		t.Errorf("the test looks in the wrong place: %v", err)
	}
	if got := u.kubectl("logs", "job/looks"); got != "0\n0\n0\ndata\nneighbour\n" {
		t.Errorf("it saw %q", got)
	}
}
