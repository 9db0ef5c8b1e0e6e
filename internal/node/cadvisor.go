// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	cadvisorv1 "github.com/google/cadvisor/info/v1"
	cadvisorv2 "github.com/google/cadvisor/info/v2"
	"golang.org/x/sys/unix"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
)

// rootContainer is cAdvisor's name for the machine as a whole.
const rootContainer = "/"

// machineStats answers the kubelet's questions about the machine in the place
// of cAdvisor: no cgroup is watched and no goroutine runs. Containers are
// measured by the runtime, through CRI. Safe for concurrent use.
type machineStats struct {
	machine machine
	dir     string // on the filesystem that Pods write to

	// foreignImages says that images and writable layers are another runtime's.
	// They then count as being on a disk of their own: when this one is full the
	// kubelet would delete every image that no container of its own uses, and
	// the runtime may serve others.
	foreignImages bool

	mu       sync.Mutex
	lastBusy uint64 // CPU nanoseconds at lastTime
	lastTime time.Time
}

var _ cadvisor.Interface = (*machineStats)(nil)

// newMachineStats measures this machine; dir is on the filesystem that Pods
// write to.
func newMachineStats(dir string) *machineStats {
	return &machineStats{machine: machine{root: "/"}, dir: dir}
}

func (*machineStats) Start() error { return nil }

func (s *machineStats) MachineInfo() (*cadvisorv1.MachineInfo, error) { return s.machine.info() }

func (s *machineStats) VersionInfo() (*cadvisorv1.VersionInfo, error) {
	return s.machine.versions(), nil
}

// ContainerInfoV2 knows the machine alone, under the name "/".
func (s *machineStats) ContainerInfoV2(name string, _ cadvisorv2.RequestOptions) (map[string]cadvisorv2.ContainerInfo, error) {
	if name != rootContainer {
		return nil, fmt.Errorf("no statistics of container %q: only the whole machine %q is measured", name, rootContainer)
	}
	now := time.Now()
	busy, used, workingSet, boot, err := s.machine.stats(now)
	if err != nil {
		return nil, err
	}
	info, err := s.machine.info()
	if err != nil {
		return nil, err
	}
	stats := &cadvisorv2.ContainerStats{
		Timestamp: now,
		Cpu:       &cadvisorv1.CpuStats{Usage: cadvisorv1.CpuUsage{Total: busy}},
		Memory:    &cadvisorv1.MemoryStats{Usage: used, WorkingSet: workingSet, RSS: workingSet},
	}
	if rate, ok := s.rate(busy, now); ok {
		stats.CpuInst = &cadvisorv2.CpuInstStats{Usage: cadvisorv2.CpuInstUsage{Total: rate}}
	}
	return map[string]cadvisorv2.ContainerInfo{rootContainer: {
		Spec: cadvisorv2.ContainerSpec{
			CreationTime: boot,
			HasCpu:       true,
			HasMemory:    true,
			Memory:       cadvisorv2.MemorySpec{Limit: info.MemoryCapacity},
		},
		Stats: []*cadvisorv2.ContainerStats{stats},
	}}, nil
}

// rate is the CPU use in nanocores since the sample before; false for the
// first one.
func (s *machineStats) rate(busy uint64, now time.Time) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed, used, known := now.Sub(s.lastTime), saturatingSub(busy, s.lastBusy), !s.lastTime.IsZero()
	s.lastBusy, s.lastTime = busy, now
	if !known || elapsed <= 0 {
		return 0, false
	}
	return uint64(float64(used) / elapsed.Seconds()), true
}

// GetRequestedContainersInfo serves the kubelet's legacy statistics pages,
// which have nothing to show without cgroups.
func (*machineStats) GetRequestedContainersInfo(string, cadvisorv2.RequestOptions) (map[string]*cadvisorv1.ContainerInfo, error) {
	return map[string]*cadvisorv1.ContainerInfo{}, nil
}

func (s *machineStats) RootFsInfo() (cadvisorv2.FsInfo, error) {
	info, err := s.GetDirFsInfo(s.dir)
	if s.foreignImages {
		info.Device += " without images"
	}
	return info, err
}

func (s *machineStats) ImagesFsInfo(context.Context) (cadvisorv2.FsInfo, error) {
	return s.GetDirFsInfo(s.dir)
}

func (s *machineStats) ContainerFsInfo(context.Context) (cadvisorv2.FsInfo, error) {
	return s.GetDirFsInfo(s.dir)
}

// GetDirFsInfo measures the filesystem that the path is on.
func (*machineStats) GetDirFsInfo(path string) (cadvisorv2.FsInfo, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return cadvisorv2.FsInfo{}, fmt.Errorf("size of the filesystem of %s: %w", path, err)
	}
	block := uint64(fs.Bsize)
	info := cadvisorv2.FsInfo{
		Timestamp:  time.Now(),
		Device:     fmt.Sprintf("%x:%x", fs.Fsid.Val[0], fs.Fsid.Val[1]),
		Mountpoint: path,
		Capacity:   fs.Blocks * block,
		Available:  fs.Bavail * block,
		Usage:      saturatingSub(fs.Blocks, fs.Bfree) * block,
	}
	// Filesystems that make inodes as they need them say 0, which is not to be
	// taken for "none left".
	if inodes, free := fs.Files, fs.Ffree; inodes > 0 {
		info.Inodes, info.InodesFree = &inodes, &free
	}
	return info, nil
}
