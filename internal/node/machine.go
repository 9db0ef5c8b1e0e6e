// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	cadvisorv1 "github.com/google/cadvisor/info/v1"
	"github.com/opencontainers/cgroups"
)

// machine reads what this machine has and uses. root is the root directory, so
// that tests can give another one.
//
// Not through github.com/prometheus/procfs, which panics on a line of meminfo
// that has one word, fails for every line that it does not know, and gives CPU
// times as fractions of seconds.
type machine struct{ root string }

// info describes the machine to the kubelet. Cores and memory are bounded by
// the cgroup that this process is in, so that a Carillon in a container does
// not promise Pods the whole host.
func (m machine) info() (*cadvisorv1.MachineInfo, error) {
	memory, err := m.memory()
	if err != nil {
		return nil, err
	}
	total := memory["MemTotal"]
	if limit, ok := m.memoryLimit(); ok && limit < total {
		total = limit
	}
	cores := runtime.NumCPU()
	// GOMAXPROCS knows the cgroup's CPU quota.
	if quota := runtime.GOMAXPROCS(0); quota < cores {
		cores = quota
	}
	return &cadvisorv1.MachineInfo{
		NumCores:       cores,
		MemoryCapacity: total,
		SwapCapacity:   memory["SwapTotal"],
		MachineID:      m.text("etc/machine-id"),
		SystemUUID:     m.text("etc/machine-id"),
		BootID:         m.text("proc/sys/kernel/random/boot_id"),
	}, nil
}

// versions names the kernel and the operating system.
func (m machine) versions() *cadvisorv1.VersionInfo {
	name := runtime.GOOS
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		if pretty, ok := osReleaseName(m.text(file)); ok {
			name = pretty
			break
		}
	}
	return &cadvisorv1.VersionInfo{
		KernelVersion:      m.text("proc/sys/kernel/osrelease"),
		ContainerOsVersion: name,
	}
}

// stats is what the whole machine uses now.
func (m machine) stats(now time.Time) (cpuNanoseconds, memoryUsed, memoryWorkingSet uint64, boot time.Time, err error) {
	cpuNanoseconds, boot, err = cpuTime(m.text("proc/stat"))
	if err != nil {
		return 0, 0, 0, time.Time{}, err
	}
	if boot.IsZero() {
		boot = now
	}
	memory, err := m.memory()
	if err != nil {
		return 0, 0, 0, time.Time{}, err
	}
	memoryUsed = saturatingSub(memory["MemTotal"], memory["MemFree"])
	memoryWorkingSet = saturatingSub(memory["MemTotal"], memory["MemAvailable"])
	return cpuNanoseconds, memoryUsed, memoryWorkingSet, boot, nil
}

// memory is /proc/meminfo in bytes.
func (m machine) memory() (map[string]uint64, error) {
	data, err := os.ReadFile(filepath.Join(m.root, "proc/meminfo"))
	if err != nil {
		return nil, fmt.Errorf("how much memory the machine has: %w", err)
	}
	memory := parseMeminfo(data)
	if memory["MemTotal"] == 0 {
		return nil, fmt.Errorf("how much memory the machine has: no MemTotal in /proc/meminfo")
	}
	return memory, nil
}

// memoryLimit is the smallest memory limit of the cgroups that this process is
// in, of either cgroup version; false when there is none.
func (m machine) memoryLimit() (uint64, bool) {
	var least uint64
	found := false
	own, _ := cgroups.ParseCgroupFile(filepath.Join(m.root, "proc/self/cgroup")) // without it there is no limit
	for controller, file := range map[string]string{"": "memory.max", "memory": "memory/memory.limit_in_bytes"} {
		path, ok := own[controller]
		if !ok {
			continue
		}
		// A limit of any ancestor holds too. In a cgroup namespace the path may
		// not exist below the mount; its ancestors, up to the mount, do.
		for dir := filepath.Clean("/" + path); ; dir = filepath.Dir(dir) {
			text := m.text(filepath.Join("sys/fs/cgroup", filepath.Dir(file), dir, filepath.Base(file)))
			if limit, err := strconv.ParseUint(text, 10, 64); err == nil && (!found || limit < least) {
				least, found = limit, true
			}
			if dir == "/" {
				break
			}
		}
	}
	return least, found
}

// text is a small file without surrounding white space, and empty when it
// cannot be read: nothing that uses it is worth failing for.
func (m machine) text(name string) string {
	data, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// parseMeminfo reads lines like "MemTotal:  16314116 kB" into bytes; other
// lines are passed over.
func parseMeminfo(data []byte) map[string]uint64 {
	memory := make(map[string]uint64)
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		value, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			continue
		}
		if len(fields) == 2 && fields[1] == "kB" {
			if value > 1<<53 {
				continue
			}
			value *= 1024
		}
		memory[name] = value
	}
	return memory
}

// userTick is the unit of /proc/stat: USER_HZ is 100 on every architecture
// that Go and Kubernetes run on.
const userTick = 10 * time.Millisecond

// cpuTime reads /proc/stat: the busy time of all CPUs since boot, and when the
// machine booted (zero when the file does not say).
func cpuTime(stat string) (busy uint64, boot time.Time, err error) {
	found := false
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 5 && fields[0] == "cpu":
			found = true
			for i, text := range fields[1:] {
				// idle and iowait are not use; guest time is part of user time.
				if i == 3 || i == 4 || i >= 8 {
					continue
				}
				ticks, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					return 0, time.Time{}, fmt.Errorf("CPU time in /proc/stat: %w", err)
				}
				busy += ticks * uint64(userTick)
			}
		case len(fields) == 2 && fields[0] == "btime":
			if seconds, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				boot = time.Unix(seconds, 0)
			}
		}
	}
	if !found {
		return 0, time.Time{}, fmt.Errorf("no CPU time in /proc/stat")
	}
	return busy, boot, nil
}

// osReleaseName is PRETTY_NAME of an os-release file.
func osReleaseName(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			value = strings.Trim(value, "\"'")
			return value, value != ""
		}
	}
	return "", false
}

// saturatingSub is a-b, and 0 when b is greater.
func saturatingSub(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}
