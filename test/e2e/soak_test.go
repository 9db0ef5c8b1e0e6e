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

// soakJobs is how many Jobs the soak test runs.
const soakJobs = 5000

// usage is what a process holds.
type usage struct{ heapMiB, goroutines, descriptors int }

func (u *up) usage() usage {
	u.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", u.cmd.Process.Pid))
	if err != nil {
		u.t.Fatal(err)
	}
	found := usage{descriptors: len(entries)}
	// The API server's own metrics are those of the whole process.
	for line := range strings.Lines(u.kubectl("get", "--raw", "/metrics")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "go_goroutines":
			found.goroutines = int(number)
		case "go_memstats_heap_alloc_bytes":
			found.heapMiB = int(number / (1 << 20))
		}
	}
	return found
}

// settled is the least that is held within some time: garbage, and what Jobs leave to do, is gone then.
func (u *up) settled(within time.Duration) usage {
	u.t.Helper()
	least := u.usage()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Second) {
		now := u.usage()
		least.heapMiB = min(least.heapMiB, now.heapMiB)
		least.goroutines = min(least.goroutines, now.goroutines)
		least.descriptors = min(least.descriptors, now.descriptors)
	}
	return least
}

// 5,000 short Jobs that are deleted as they finish leave memory, goroutines and descriptors as they were after the
// first fifth of them. CARILLON_SOAK=1 runs it (make e2e-soak), another number says how many Jobs.
func TestSoak(t *testing.T) {
	jobs, err := strconv.Atoi(os.Getenv("CARILLON_SOAK"))
	if err != nil || jobs < 1 {
		t.Skip("set CARILLON_SOAK=1 to run 5,000 Jobs, which takes about half an hour; or to the number of Jobs")
	}
	if jobs == 1 {
		jobs = soakJobs
	}
	u := startReady(t, newDataDir(t))
	const together = 20
	var early usage
	for done := 0; done < jobs; done += together {
		var manifest strings.Builder
		for i := range together {
			manifest.WriteString(shellJob{name: fmt.Sprintf("soak-%d", done+i), script: "echo soaked", job: "ttlSecondsAfterFinished: 0"}.String())
		}
		if got := u.tryKubectl(manifest.String(), "create", "-f", "-"); got.code != 0 {
			t.Fatalf("create: %+v", got)
		}
		for i := range together {
			if end := u.finished(fmt.Sprintf("soak-%d", done+i)); end.Outcome != "complete" {
				t.Fatalf("ended %+v", end)
			}
		}
		u.tell(func() { u.lines = nil; u.stdout.Reset() })
		if early == (usage{}) && done >= jobs/5 {
			early = u.settled(15 * time.Second)
			t.Logf("after %d Jobs: %+v", done+together, early)
		}
	}
	until(t, "all Jobs and Pods to be gone", func() bool { return strings.TrimSpace(u.kubectl("get", "jobs,pods", "-o", "name")) == "" })
	late := u.settled(30 * time.Second)
	t.Logf("after %d Jobs: %+v", jobs, late)
	if late.heapMiB > early.heapMiB*5/4+16 || late.goroutines > early.goroutines+early.goroutines/20+20 || late.descriptors > early.descriptors+10 {
		t.Errorf("it grows: %+v after a fifth, %+v in the end", early, late)
	}
	u.wantCleanStop(u.stop())
}
