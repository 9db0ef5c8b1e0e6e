// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The embedded kubectl works on a Carillon as on any cluster: get, describe,
// logs, exec, cp, delete.
func TestKubectl(t *testing.T) {
	marker := "31.4159004"
	dataDir := newDataDir(t)
	u := startReady(t, dataDir)
	applied := u.tryKubectl(shellJob{name: "talk", script: "echo first; echo second >&2; exec sleep " + marker}.String(), "apply", "-f", "-")
	if applied.code != 0 || !strings.Contains(applied.stdout, "job.batch/talk created") {
		t.Fatalf("apply: %+v", applied)
	}
	pod := u.pod("talk", "running", running).Name

	t.Run("get", func(t *testing.T) {
		if got := u.kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"); got != "True" {
			t.Errorf("node ready: %q", got)
		}
		until(t, "the Job's status to say that a Pod is active", func() bool { // its write may wait for more urgent work
			return u.kubectl("get", "job", "talk", "-o", "jsonpath={.status.active}") == "1"
		})
		if got := u.kubectl("get", "runtimeclass", "host", "-o", "jsonpath={.handler}"); got != "host" {
			t.Errorf("runtime class: %q", got)
		}
	})
	t.Run("describe shows the kubelet's events", func(t *testing.T) {
		until(t, "events", func() bool {
			got := u.kubectl("describe", "pod", pod)
			return strings.Contains(got, "Scheduled") && strings.Contains(got, "Started")
		})
	})
	t.Run("logs", func(t *testing.T) {
		until(t, "both lines", func() bool {
			got := strings.Fields(u.kubectl("logs", "job/talk"))
			slices.Sort(got)
			return slices.Equal(got, []string{"first", "second"})
		})
	})
	t.Run("exec", func(t *testing.T) {
		got := u.tryKubectl("from stdin", "exec", "-i", pod, "--", "/bin/sh", "-c", "cat; echo to stderr >&2; exit 5")
		if got.code != 5 || got.stdout != "from stdin" || !strings.Contains(got.stderr, "to stderr") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("cp", func(t *testing.T) {
		file := write(t, "copied\n")
		u.kubectl("cp", file, pod+":/tmp/here")
		if got := u.kubectl("exec", pod, "--", "cat", "/tmp/here"); got != "copied\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a CronJob of batch/v1beta1", func(t *testing.T) {
		manifest := cronJobOf("batch/v1beta1", "old", "@yearly", echoing)
		for _, verb := range []string{"apply", "delete"} {
			got := u.tryKubectl(manifest, verb, "-f", "-")
			if got.code != 0 || !strings.Contains(got.stderr, "CronJob old: batch/v1beta1 is read as batch/v1") {
				t.Errorf("%s: %+v", verb, got)
			}
		}
	})
	t.Run("delete", func(t *testing.T) {
		u.kubectl("delete", "job", "talk", "--wait")
		until(t, "the pod to be gone", func() bool {
			list, err := u.client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			return err == nil && len(list.Items) == 0
		})
		until(t, "its processes to be gone", func() bool {
			return !slices.ContainsFunc(leftProcesses(marker), func(p string) bool { return strings.Contains(p, marker) })
		})
		if left := leftMounts(t, dataDir); len(left) > 0 {
			t.Errorf("mounted: %v", left)
		}
	})
}

// A Pod with a finished container has logs, and a container that is restarted
// has those of the run before.
func TestLogsOfFinishedPods(t *testing.T) {
	u := startUp(t, newDataDir(t), "-f", write(t, shellJob{name: "done", script: "echo the end"}.String()))
	u.finished("done")
	if got := u.kubectl("logs", "job/done"); got != "the end\n" {
		t.Errorf("got %q", got)
	}
}

// "carillon version" names the program, and the Kubernetes that is inside.
func TestVersion(t *testing.T) {
	got := command(t, "", "version")
	if got.code != 0 || !strings.Contains(got.stdout, "1.36") {
		t.Errorf("got %+v", got)
	}
}

// A Pod that cannot start, for its ConfigMap is missing, says so, and goes away
// when its Job is deleted; one that only lacked the ConfigMap starts when it
// comes.
func TestMissingConfigMap(t *testing.T) {
	waiting := func(name string) string {
		return shellJob{name: name, script: "cat /words/greeting", pod: "volumes:\n- name: words\n  configMap:\n    name: words", mounts: "- name: words\n  mountPath: /words"}.String()
	}
	u := startReady(t, newDataDir(t), "-f", write(t, waiting("deleted")+waiting("served")))
	for _, name := range []string{"deleted", "served"} {
		u.pod(name, "waiting", func(pod *corev1.Pod) bool {
			return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Waiting != nil
		})
	}
	u.wait("a warning", func(l line) bool {
		return l.Type == "warning" && strings.Contains(l.Message, `configmap "words" not found`)
	})
	u.kubectl("delete", "job", "deleted", "--wait")
	until(t, "its pod to be gone", func() bool { return len(u.pods("deleted")) == 0 })
	u.kubectl("create", "configmap", "words", "--from-literal=greeting=at last")
	if end := u.finished("served"); end.Outcome != "complete" {
		t.Errorf("ended %+v", end)
	}
}
