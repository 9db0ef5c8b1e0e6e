// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// smallDisk is a filesystem of a gigabyte, a quarter of which is kept free.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ce2e-disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1g,mode=700"); err != nil {
		t.Skipf("a small filesystem cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A Pod that fills the disk as fast as it can is stopped in time and evicted,
// which its Job's podFailurePolicy sees. The store lives, others go on, and the
// space is there again for the next Job.
func TestPodCannotFillTheDisk(t *testing.T) {
	disk := smallDisk(t)
	fill := shellJob{name: "fill", script: "dd if=/dev/zero of=/scratch/all bs=1M; echo full; exec sleep 31.4159051",
		job:    "backoffLimit: 6\npodFailurePolicy:\n  rules:\n  - action: FailJob\n    onPodConditions: [{type: DisruptionTarget, status: \"True\"}]",
		pod:    "volumes:\n- name: scratch\n  emptyDir: {}",
		mounts: "- name: scratch\n  mountPath: /scratch"}
	shared := filepath.Join(t.TempDir(), "go")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	volumes, mounts := hostDir(shared)
	steady := shellJob{name: "steady", script: "echo up; while test ! -e " + shared + "/end; do sleep 0.05; done; echo through", pod: volumes, mounts: mounts}

	u := startReady(t, filepath.Join(disk, "data"), "-f", write(t, steady.String()))
	u.wait("the steady one", func(l line) bool { return l.Type == "output" && l.Message == "up" })
	u.tryKubectl(fill.String(), "apply", "-f", "-")
	u.wait("what is wrong", func(l line) bool {
		return l.Type == "warning" && l.Reason == "NodeHasDiskPressure" && strings.HasPrefix(l.Object, "node/") && strings.Contains(l.Message, "256 MiB")
	})
	if end := u.finished("fill"); end.Outcome != "failed" || end.Reason != "PodFailurePolicy" {
		t.Errorf("the one that fills ended %+v", end)
	}
	if pods := u.pods("fill"); len(pods) != 1 || pods[0].Status.Reason != "Evicted" {
		t.Errorf("its Pods: %+v", statuses(pods))
	}
	for _, message := range u.outputs("fill") {
		if message == "full" {
			t.Error("it could fill the disk")
		}
	}
	touch(t, shared, "end")
	if end := u.finished("steady"); end.Outcome != "complete" {
		t.Errorf("the steady one ended %+v", end)
	}
	u.tryKubectl(shellJob{name: "next", script: "echo next"}.String(), "apply", "-f", "-")
	if end := u.finished("next"); end.Outcome != "complete" {
		t.Errorf("the next one ended %+v", end)
	}
	u.wantCleanStop(u.stop())
}

// On a disk that is nearly full at start Pods wait instead of failing, the
// user is told why, and they run when there is space. With --eviction-hard=
// nothing is kept free and they run at once.
func TestNearlyFullDisk(t *testing.T) {
	disk := smallDisk(t)
	ballast := filepath.Join(disk, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := unix.Fallocate(int(file.Fd()), 0, 0, 800<<20); err != nil {
		t.Fatal(err)
	}
	job := func(name string) string { return write(t, shellJob{name: name, script: "echo ran"}.String()) }
	u := startReady(t, filepath.Join(disk, "data"), "-f", job("waits"))
	u.wait("what is wrong", func(l line) bool {
		return l.Type == "warning" && l.Reason == "NodeHasDiskPressure" && strings.Contains(l.Message, "new Pods wait")
	})
	u.pod("waits", "waiting for space", func(pod *corev1.Pod) bool {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && strings.Contains(condition.Message, "untolerated taint") {
				return true
			}
		}
		return false
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if end := u.finished("waits"); end.Outcome != "complete" {
		t.Errorf("ended %+v", end)
	}
	u.stop()

	again := startReady(t, filepath.Join(disk, "data"), "--eviction-hard", "nodefs.available<99%")
	again.tryKubectl(shellJob{name: "asked", script: "echo ran"}.String(), "apply", "-f", "-")
	again.wait("what is wrong", func(l line) bool { return l.Type == "warning" && l.Reason == "NodeHasDiskPressure" })
	again.stop()
	free := startReady(t, filepath.Join(disk, "data"), "--eviction-hard=")
	if end := free.finished("asked"); end.Outcome != "complete" {
		t.Errorf("ended %+v", end)
	}
	free.stop()
	if got := command(t, "", "up", "--data-dir", filepath.Join(disk, "data"), "--eviction-hard", "disk.free<1Gi"); got.code == 0 || !strings.Contains(got.stderr, "nodefs.available<1Gi") {
		t.Errorf("a signal that there is not: %+v", got)
	}
}

// limitJobs write more than they may, each in its own way.
func limitJobs() map[string]string {
	limit := func(j shellJob) string {
		return strings.Replace(j.String(), "        image: none\n", "        image: none\n        resources:\n          limits: {ephemeral-storage: 4Mi}\n", 1)
	}
	const most = "head -c 12000000 /dev/zero"
	const wait = "; exec sleep 31.4159052"
	return map[string]string{
		"volume": shellJob{name: "volume", script: most + " > /scratch/x" + wait,
			pod: "volumes:\n- name: scratch\n  emptyDir: {sizeLimit: 4Mi}", mounts: "- name: scratch\n  mountPath: /scratch"}.String(),
		"layer":  limit(shellJob{name: "layer", script: most + " > /tmp/of-the-layer-alone" + wait}),
		"output": limit(shellJob{name: "output", script: most + " | tr '\\0' '\\n' | sed s/^/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/ | head -c 3500000" + wait}),
		"sum": limit(shellJob{name: "sum", script: most + " > /scratch/x" + wait,
			pod: "volumes:\n- name: scratch\n  emptyDir: {}", mounts: "- name: scratch\n  mountPath: /scratch"}),
	}
}

// evicted waits for the end of the Jobs and looks at what their Pods say.
func (u *up) evicted(messages map[string]string) {
	u.t.Helper()
	for name, message := range messages {
		if end := u.finished(name); end.Outcome != "failed" {
			u.t.Errorf("%s ended %+v", name, end)
		}
		pods := u.pods(name)
		if len(pods) != 1 || pods[0].Status.Reason != "Evicted" || !strings.Contains(pods[0].Status.Message, message) {
			u.t.Errorf("%s: %+v", name, statuses(pods))
		}
		u.wait("an event of "+name, func(l line) bool {
			return l.Type == "warning" && l.Reason == "Evicted" && strings.Contains(l.Object, name+"-")
		})
	}
}

// sizeLimit of an emptyDir and limits of ephemeral storage are enforced: the
// Pod is evicted, its event says why, and its Job's rules follow. A volume in
// memory is full at its limit.
func TestStorageLimits(t *testing.T) {
	jobs := limitJobs()
	all := jobs["volume"] + jobs["layer"] + jobs["output"] + jobs["sum"]
	u := startUp(t, newDataDir(t), "--quiet", "-f", write(t, all))
	u.evicted(map[string]string{"volume": "EmptyDir", "layer": "ephemeral", "output": "ephemeral", "sum": "ephemeral"})
	if os.Geteuid() != 0 {
		return
	}
	memory := shellJob{name: "memory", script: "head -c 12000000 /dev/zero > /scratch/x 2> /dev/null || echo full; wc -c < /scratch/x",
		pod: "volumes:\n- name: scratch\n  emptyDir: {medium: Memory, sizeLimit: 4Mi}", mounts: "- name: scratch\n  mountPath: /scratch"}
	u.tryKubectl(memory.String(), "apply", "-f", "-")
	u.job("memory", "complete", complete)
	if got := u.kubectl("logs", "job/memory"); !strings.Contains(got, "full\n4194304\n") {
		t.Errorf("wrote %q", got)
	}
}

// An ordinary user's Pods have the same limits, those of volumes in memory too,
// which are on disk there.
func TestStorageLimitsOfAnOrdinaryUser(t *testing.T) {
	dir := ordinaryDir(t)
	jobs := limitJobs()
	memory := strings.Replace(strings.ReplaceAll(jobs["volume"], "name: volume", "name: memory"), "{sizeLimit: 4Mi}", "{medium: Memory, sizeLimit: 4Mi}", 1)
	u := startUpAs(t, &syscall.Credential{Uid: ordinary, Gid: ordinary}, filepath.Join(dir, "data"), "--quiet", "-f", writeFor(t, dir, jobs["volume"]+jobs["layer"]+memory))
	u.evicted(map[string]string{"volume": "EmptyDir", "layer": "ephemeral", "memory": "EmptyDir"})
	u.stop()
}
