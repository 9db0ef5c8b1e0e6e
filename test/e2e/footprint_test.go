// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What Carillon costs, for docs/performance.md. It asserts nothing, since every number is the machine's, too; set
// CARILLON_MEASURE=1 (or run `make bench`) to have it measured.
func TestFootprint(t *testing.T) {
	if os.Getenv("CARILLON_MEASURE") == "" {
		t.Skip("set CARILLON_MEASURE=1 to measure; the figures need an idle machine")
	}
	for _, round := range []string{"fresh directory", "second start"} {
		t.Run(round, func(t *testing.T) {
			dataDir := newDataDir(t)
			if round == "second start" {
				startReady(t, dataDir).stop()
			}
			job := write(t, shellJob{name: "first", script: "echo here"}.String())
			began := time.Now()
			u := startUp(t, dataDir, "-f", job)
			u.wait("the node", func(l line) bool { return l.Type == "step" && strings.HasPrefix(l.Message, "node") })
			node := time.Since(began)
			u.wait("the first output", func(l line) bool { return l.Type == "output" && l.Message == "here" })
			output := time.Since(began)
			fmt.Printf("%s: Node Ready after %.2f s, first output of a Pod after %.2f s\n", round, node.Seconds(), output.Seconds())
			if round != "fresh directory" {
				return
			}
			<-time.After(time.Minute) // idle means that what a start leaves to do is done
			pid := u.cmd.Process.Pid
			cpu := cpuTicks(t, pid)
			<-time.After(30 * time.Second)
			used := float64(cpuTicks(t, pid)-cpu) / 100 / 30
			fmt.Printf("idle a minute after that: %d MiB resident (%d MiB of it anonymous), %.1f %% of one core\n",
				statusMiB(t, pid, "VmRSS"), statusMiB(t, pid, "RssAnon"), 100*used)
		})
	}
}

// cpuTicks is the CPU time of a process, in hundredths of a second.
func cpuTicks(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}

// statusMiB is a memory figure of a process's status.
func statusMiB(t *testing.T, pid int, name string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib >> 10
		}
	}
	t.Fatalf("/proc/%d/status has no %s", pid, name)
	return 0
}
