// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Measures are what the processes of a container used from its start to its
// end. 0 means that nobody measured.
type Measures struct {
	// CPU is the time that they used together, on all processors.
	CPU time.Duration `json:"cpu,omitempty"`
	// MemoryPeak is the most memory in bytes. With a cgroup that counts memory
	// it is what all had at once, with the files that the kernel kept in memory
	// for them. Without one it is what the largest process had, and never less
	// than the part of the shim's memory that a new process begins with, a few
	// MiB.
	MemoryPeak int64 `json:"memoryPeak,omitempty"`
	// OutputBytes is what they wrote to standard output and error.
	OutputBytes int64 `json:"outputBytes,omitempty"`
}

// sane takes away what no measurement gives: a record may be anybody's.
func (m Measures) sane() Measures {
	return Measures{CPU: max(m.CPU, 0), MemoryPeak: max(m.MemoryPeak, 0), OutputBytes: max(m.OutputBytes, 0)}
}

// measure tells what the container used. All its processes have ended, and its
// cgroup is still there.
func (s *shim) measure() Measures {
	var m Measures
	if s.cgroup != nil {
		for _, p := range s.cgroup.parts {
			m.addCgroup(p.dir.FS())
		}
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &used); err == nil {
		if m.CPU == 0 {
			m.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
		}
		if m.MemoryPeak == 0 {
			m.MemoryPeak = int64(used.Maxrss) << 10 //nolint:unconvert // 32 bits on some systems
		}
	}
	m.OutputBytes = s.streams.written.Load()
	return m
}

// MeasureCgroups tells what was used in cgroups that are still there: all that
// can be known of a container whose shim was killed.
func MeasureCgroups(dirs []string) Measures {
	var m Measures
	for _, dir := range dirs {
		m.addCgroup(os.DirFS(dir))
	}
	return m
}

// addCgroup takes in what the files of a cgroup tell: of the unified hierarchy,
// or of one controller of the old kind.
func (m *Measures) addCgroup(dir fs.FS) {
	for _, file := range []string{"memory.peak", "memory.max_usage_in_bytes"} {
		m.MemoryPeak = max(m.MemoryPeak, cgroupNumber(dir, file))
	}
	m.CPU = max(m.CPU, time.Duration(cgroupNumber(dir, "cpuacct.usage")))
	b, err := fs.ReadFile(dir, "cpu.stat")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "usage_usec "); ok {
			if usec, err := strconv.ParseInt(n, 10, 64); err == nil {
				m.CPU = max(m.CPU, time.Duration(usec)*time.Microsecond)
			}
		}
	}
}

// cgroupNumber reads a file with one number; 0 if there is none.
func cgroupNumber(dir fs.FS, file string) int64 {
	b, err := fs.ReadFile(dir, file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
