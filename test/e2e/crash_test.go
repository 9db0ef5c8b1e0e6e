// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// After kill -9 in the middle of running Jobs, and a start on the same
// directory, nothing is lost: what runs goes on unharmed and is seen to its
// end, what ended meanwhile is told with its true exit code, and no container
// was started a second time.
func TestKillAndRestart(t *testing.T) {
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	// Each start is a line in a file; each Job waits for a file to go on. Two
	// dollars are one: the kubelet expands variables in arguments.
	script := func(name, end string) string {
		return fmt.Sprintf("echo start >> %[1]s/%[2]s.starts\necho one | tee /memory/kept\nwhile [ ! -e %[1]s/%[2]s.go ]; do sleep 0.05; done\n"+
			"test \"$(cat /memory/kept)\" = one && echo two\ntouch %[1]s/%[2]s.end\n%[3]s", dir, name, end)
	}
	job := func(name, end string) string {
		return shellJob{name: name, script: script(name, end),
			pod:    volumes + "\n- name: memory\n  emptyDir: {medium: Memory}",
			mounts: mounts + "\n- name: memory\n  mountPath: /memory"}.String()
	}
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "-f", write(t,
		job("ends-meanwhile", "exit 3")+job("goes-on", "exit 0")+job("is-killed", "kill -9 $$$$")))
	for _, name := range []string{"ends-meanwhile", "goes-on", "is-killed"} {
		u.pod(name, "running", running)
		until(t, name+" to write", func() bool { return exists(dir, name+".starts") })
	}
	u.kill()

	for _, name := range []string{"ends-meanwhile", "is-killed"} {
		touch(t, dir, name+".go")
		until(t, name+" to end without anybody watching", func() bool { return exists(dir, name+".end") })
	}

	u = startReady(t, dataDir)
	u.job("ends-meanwhile", "failed", failed)
	u.job("is-killed", "failed", failed)
	if pod := u.pod("goes-on", "running", running); pod.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("restarted: %+v", pod.Status.ContainerStatuses)
	}
	if got := u.kubectl("exec", u.pods("goes-on")[0].Name, "--", "echo", "still here"); got != "still here\n" {
		t.Errorf("exec in what went on: %q", got)
	}
	touch(t, dir, "goes-on.go")
	u.job("goes-on", "complete", complete)

	for name, want := range map[string]int32{"ends-meanwhile": 3, "goes-on": 0, "is-killed": 137} {
		pods := u.pods(name)
		if len(pods) != 1 || exitCode(&pods[0]) != want || pods[0].Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("%s: want one pod with exit code %d: %+v", name, want, statuses(pods))
		}
		if got := starts(t, dir, name); got != 1 {
			t.Errorf("%s was started %d times", name, got)
		}
		if got := u.kubectl("logs", pods[0].Name); got != "one\ntwo\n" {
			t.Errorf("%s: log %q", name, got)
		}
	}
	if code, _ := u.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	wantNothingLeft(t, dataDir, dir)
}

// Killed again and again while a burst of Jobs is starting, Carillon runs each
// of them to completion, and no Pod's container twice.
func TestKillDuringABurst(t *testing.T) {
	const jobs, kills = 20, 3
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	var manifest strings.Builder
	for i := range jobs {
		name := fmt.Sprintf("burst-%d", i)
		manifest.WriteString(shellJob{
			name:   name,
			script: fmt.Sprintf("echo $HOSTNAME >> %s/%s.starts; sleep 0.3", dir, name),
			job:    "backoffLimit: 6",
			pod:    volumes, mounts: mounts,
		}.String())
	}
	path := write(t, manifest.String())
	dataDir := newDataDir(t)
	u := startUp(t, dataDir, "-f", path)
	for kill := range kills {
		// A different moment each time: when so many have started.
		started := (kill + 1) * jobs / (kills + 1)
		until(t, "some to start", func() bool {
			found, _ := filepath.Glob(filepath.Join(dir, "*.starts"))
			return len(found) >= started
		})
		u.kill()
		// Applied again as a service would: not all may have been at the kill.
		u = startUp(t, dataDir, "-f", path)
	}
	for i := range jobs {
		name := fmt.Sprintf("burst-%d", i)
		u.job(name, "complete", complete)
		data, err := os.ReadFile(filepath.Join(dir, name+".starts"))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for pod := range strings.Lines(string(data)) {
			if seen[pod] {
				t.Errorf("the container of pod %s was started twice", strings.TrimSpace(pod))
			}
			seen[pod] = true
		}
		succeeded := 0
		for _, pod := range u.pods(name) {
			if pod.Status.Phase == corev1.PodSucceeded {
				succeeded++
			}
		}
		if succeeded != 1 {
			t.Errorf("%s succeeded %d times: %+v", name, succeeded, statuses(u.pods(name)))
		}
	}
	u.stop()
	wantNothingLeft(t, dataDir, dir)
}

// A burst of Pods with restartPolicy Never starts each container exactly once:
// container events that come late must not make the kubelet start one again.
func TestBurstStartsOnce(t *testing.T) {
	const pods = 60
	dir := t.TempDir()
	volumes, mounts := hostDir(dir)
	u := startReady(t, newDataDir(t), "-f", write(t, shellJob{
		name:   "burst",
		script: fmt.Sprintf("echo start >> %s/$HOSTNAME.starts", dir),
		job:    fmt.Sprintf("backoffLimit: 0\ncompletions: %d\nparallelism: %d", pods, pods),
		pod:    volumes, mounts: mounts,
	}.String()))
	job := u.job("burst", "complete", complete)
	if job.Status.Succeeded != pods || job.Status.Failed != 0 {
		t.Errorf("status %+v", job.Status)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.starts"))
	if err != nil || len(found) != pods {
		t.Errorf("%d pods ran, %v", len(found), err)
	}
	for _, path := range found {
		name := strings.TrimSuffix(filepath.Base(path), ".starts")
		if got := starts(t, dir, name); got != 1 {
			t.Errorf("pod %s was started %d times", name, got)
		}
	}
}

// A start that finds the containers of very many finished Pods runs new ones. The kubelet queues an event for each that
// it finds, and with a full queue it does nothing any more if container events are in use.
func TestStartWithManyContainers(t *testing.T) {
	if os.Getenv("CARILLON_SOAK") == "" {
		t.Skip("takes a minute on an idle machine; make e2e-soak runs it")
	}
	const pods = 600 // with their sandboxes more than the thousand that the queue holds
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "-f", write(t, shellJob{
		name: "old", script: "true", job: fmt.Sprintf("completions: %d\nparallelism: 60", pods)}.String()))
	u.job("old", "complete", complete)
	u.kill()

	u = startReady(t, dataDir, "-f", write(t, shellJob{name: "new", script: "echo here"}.String()))
	u.job("new", "complete", complete)
	if got := len(u.pods("old")); got != pods {
		t.Errorf("%d Pods of the old Job are left of %d", got, pods)
	}
	log, err := os.ReadFile(filepath.Join(dataDir, "log", "carillon.log"))
	if want := "very many containers were found"; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("the log does not say %q (%v)", want, err)
	}
	u.stop()
	wantNothingLeft(t, dataDir, dataDir)
}

func starts(t *testing.T, dir, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".starts"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func statuses(pods []corev1.Pod) []corev1.PodStatus {
	var found []corev1.PodStatus
	for _, pod := range pods {
		found = append(found, pod.Status)
	}
	return found
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
