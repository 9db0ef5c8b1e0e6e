// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

// With --drain each Pod has its own grace period: the one that asked for a
// second is ended after it, and the one that asked for much goes on until it
// has seen that. The user is told what is waited for.
func TestDrainOwnGracePeriods(t *testing.T) {
	dataDir, shared := newDataDir(t), t.TempDir()
	volumes, mounts := hostDir(shared)
	slow := "trap 'while test -n \"$(find " + shared + "/beat -newermt \"3 seconds ago\")\"; do sleep 0.1; done; exit 0' TERM\n" +
		"echo up; while true; do sleep 0.05; done"
	hasty := "trap '' TERM; touch " + shared + "/beat; echo up; while true; do touch " + shared + "/beat; sleep 0.05; done"
	u := startReady(t, dataDir, "--drain", "-f", write(t,
		shellJob{name: "slow", script: slow, pod: "terminationGracePeriodSeconds: 3000\n" + volumes, mounts: mounts}.String()+
			shellJob{name: "hasty", script: hasty, pod: "terminationGracePeriodSeconds: 1\n" + volumes, mounts: mounts}.String()))
	for _, name := range []string{"hasty", "slow"} {
		u.wait("the first line of "+name, func(l line) bool {
			return l.Type == "output" && l.Message == "up" && strings.Contains(l.Object, name)
		})
	}
	if code, took := u.stop(); code != 0 {
		t.Errorf("exit code %d after %v", code, took)
	}
	u.wait("what is waited for", func(l line) bool {
		return strings.Contains(l.Message, "2 Pods have up to 10m0s to end") && strings.Contains(l.Message, "Ctrl-C")
	})
	wantNothingLeft(t, dataDir, "")

	again := startReady(t, dataDir)
	again.job("hasty", "failed", failed)
	again.job("slow", "finished", func(job *batchv1.Job) bool { return complete(job) || failed(job) })
	if pods := again.pods("slow"); len(pods) != 1 || exitCode(&pods[0]) != 0 {
		t.Errorf("the one that had time ended %+v", statuses(pods))
	}
}

// The bound on --drain is checked before anything is started.
func TestDrainTimeoutIsChecked(t *testing.T) {
	got := command(t, "", "up", "--data-dir", newDataDir(t), "--drain", "--drain-timeout", "-5s")
	if got.code != 2 || !strings.Contains(got.stderr, "--drain-timeout") {
		t.Errorf("got %+v", got)
	}
}
