// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	cadvisorv2 "github.com/google/cadvisor/info/v2"
)

// machineWith is a machine that has these files, by path, and no others.
func machineWith(t *testing.T, files map[string]string) machine {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root: root}
}

// The memory that Pods are promised is the least that the machine and each
// cgroup around this process allow.
func TestMachineMemoryIsBoundedByCgroups(t *testing.T) {
	const meminfo = "MemTotal:       16000 kB\nMemFree:         4000 kB\nMemAvailable:    9000 kB\nSwapTotal: 100 kB\n"
	tests := map[string]struct {
		files map[string]string
		want  uint64
	}{
		"no cgroup at all": {
			files: map[string]string{},
			want:  16000 * 1024,
		},
		"version 2 without a limit": {
			files: map[string]string{
				"proc/self/cgroup":                    "0::/user.slice\n",
				"sys/fs/cgroup/user.slice/memory.max": "max\n",
			},
			want: 16000 * 1024,
		},
		"version 2, limit of a parent": {
			files: map[string]string{
				"proc/self/cgroup":                   "0::/box/inner\n",
				"sys/fs/cgroup/box/memory.max":       "1048576\n",
				"sys/fs/cgroup/box/inner/memory.max": "max\n",
			},
			want: 1048576,
		},
		"version 2, in a cgroup namespace whose path is above the mount": {
			files: map[string]string{
				"proc/self/cgroup":         "0::/../..\n",
				"sys/fs/cgroup/memory.max": "2097152\n",
			},
			want: 2097152,
		},
		"version 1": {
			files: map[string]string{
				"proc/self/cgroup": "12:cpu,cpuacct:/\n3:memory:/docker/abc\n",
				"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "3145728\n",
			},
			want: 3145728,
		},
		"version 1, unlimited is a number larger than the machine": {
			files: map[string]string{
				"proc/self/cgroup":                           "3:memory:/\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			},
			want: 16000 * 1024,
		},
		"nonsense is passed over": {
			files: map[string]string{
				"proc/self/cgroup":         "hello\n::\n0::\n",
				"sys/fs/cgroup/memory.max": "-7\n",
			},
			want: 16000 * 1024,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.files["proc/meminfo"] = meminfo
			info, err := machineWith(t, tt.files).info()
			if err != nil {
				t.Fatal(err)
			}
			if info.MemoryCapacity != tt.want {
				t.Errorf("memory is %d, want %d", info.MemoryCapacity, tt.want)
			}
			if info.NumCores < 1 {
				t.Errorf("%d cores", info.NumCores)
			}
		})
	}
}

// A machine that does not say how much memory it has is an error, not a node
// with none.
func TestMachineWithoutMeminfo(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no file":     {},
		"no MemTotal": {"proc/meminfo": "MemFree: 1 kB\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if info, err := machineWith(t, files).info(); err == nil {
				t.Errorf("got %+v, want an error", info)
			}
		})
	}
}

// CPU use is what all CPUs were busy since boot, without waiting and without
// counting guests twice.
func TestCPUTime(t *testing.T) {
	busy, boot, err := cpuTime("cpu  100 20 30 9999 8888 4 5 6 77 88\ncpu0 1 1 1 1 1\nbtime 1700000000\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(165 * 10 * time.Millisecond); busy != want {
		t.Errorf("busy for %d ns, want %d", busy, want)
	}
	if want := time.Unix(1700000000, 0); !boot.Equal(want) {
		t.Errorf("booted at %v, want %v", boot, want)
	}
	for name, text := range map[string]string{"empty": "", "too short": "cpu 1 2\n", "no number": "cpu a b c d\n"} {
		if _, _, err := cpuTime(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestVersionsNameTheSystem(t *testing.T) {
	root := map[string]string{
		"etc/os-release":            "ID=x\nPRETTY_NAME=\"Some Linux 7\"\n",
		"proc/sys/kernel/osrelease": "6.1.0-x\n",
		"usr/lib/os-release":        "PRETTY_NAME=Other\n",
	}
	got := machineWith(t, root).versions()
	if got.ContainerOsVersion != "Some Linux 7" || got.KernelVersion != "6.1.0-x" {
		t.Errorf("got %+v", got)
	}
	delete(root, "etc/os-release")
	if got := machineWith(t, root).versions(); got.ContainerOsVersion != "Other" {
		t.Errorf("got %+v", got)
	}
}

func FuzzParseMeminfo(f *testing.F) {
	f.Add([]byte("MemTotal: 16000 kB\nX: y\n:\n"))
	f.Add([]byte("A: 18446744073709551615 kB"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, value := range parseMeminfo(data) {
			if strings.Contains(name, ":") || strings.Contains(name, "\n") {
				t.Errorf("name %q", name)
			}
			// What does not fit in 64 bits of bytes is left out, not wrapped.
			if value != 0 && value < 1024 && strings.Contains(string(data), "kB") && !strings.Contains(string(data), strconv.FormatUint(value, 10)) {
				t.Errorf("%q is %d, which stands nowhere", name, value)
			}
		}
	})
}

// The numbers of the machine at hand hold together.
func TestMachineStatsOfThisMachine(t *testing.T) {
	stats := newMachineStats(t.TempDir())
	info, err := stats.MachineInfo()
	if err != nil {
		t.Fatal(err)
	}
	first, err := stats.ContainerInfoV2("/", cadvisorv2.RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stats.ContainerInfoV2("/kubepods", cadvisorv2.RequestOptions{}); err == nil {
		t.Error("a container that is not measured has statistics")
	}
	second, err := stats.ContainerInfoV2("/", cadvisorv2.RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if first["/"].Stats[0].CpuInst != nil {
		t.Error("the first sample has a rate")
	}
	if second["/"].Stats[0].CpuInst == nil {
		t.Error("the second sample has no rate")
	}
	if used := second["/"].Stats[0].Memory.WorkingSet; used == 0 || used > info.MemoryCapacity*1024 {
		t.Errorf("working set %d of %d", used, info.MemoryCapacity)
	}
	fs, err := stats.RootFsInfo()
	if err != nil {
		t.Fatal(err)
	}
	if fs.Capacity == 0 || fs.Usage+fs.Available > fs.Capacity {
		t.Errorf("filesystem: %+v", fs)
	}
	if _, err := stats.GetDirFsInfo("/does/not/exist"); err == nil {
		t.Error("a missing directory has a size")
	}
}
